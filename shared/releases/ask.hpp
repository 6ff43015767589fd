#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/fairness/fair_blocks.hpp"
#include "shared/features/feature_map.hpp"
#include "shared/features/score_moments.hpp"
#include "shared/geometry/domain.hpp"
#include "shared/geometry/vertices.hpp"
#include "shared/releases/dual_bound.hpp"
#include "shared/releases/influence_bound.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/releases/records.hpp"
#include "shared/releases/unit.hpp"

namespace undertone::releases {

/// A silo's own noisy descent between two messages: each step reads some records, drawn afresh, and adds noise to the
/// mean of their clipped gradients; the iterate after the last one leaves. What a step adds besides, that of the
/// proximal weight and of control variates, is made of public numbers and of what the silo said before: it costs
/// nothing. Source: federated-core 3.6.
struct LocalSteps {
  std::uint64_t steps = 1;    // K
  double step_size = 0.0;     // eta
  double proximal = 0.0;      // lambda >= 0: of each step's gradient of lambda/2 |w - w_r|^2, w_r where the run began
  std::uint32_t records = 1;  // b: of a step
  bool controlled = false;    // each step is corrected by variates: @see QuestionKind::ControlledRun
};

/// What one record contributes. Source: spec README 2.1.
/// Its loss's gradient at the question's point: [d].
struct GradientMap {};
/// The difference of its gradients at the question's two points: [d].
struct GradientDifferenceMap {};
/// A model's evaluation metrics, centred: [metrics].
struct MetricsMap {};
/// What the silo's own noisy steps lead to from the question's point: [d].
struct LocalRunMap {
  LocalSteps steps;
};
/// Numbers of the record itself, at no point: coordinates of its encoded features, in [-1, 1], or indicators in {0, 1}.
/// The coordinate after the last feature is the label; as an indicator a binary one, -1 or 1, is 1 where it is 1.
struct StatisticMap {
  std::vector<std::size_t> coordinates;  // one or more
  bool indicators = false;               // each is 0 or 1, and is counted
};
/// A feature map of the record, at no point: one-hot cells, moments. [dimension of the map]
struct FeaturesMap {
  statistics::FeatureMap features;  // checked
};
/// One node of a path: what its records, which no other node of the path reads, add to an estimate of the mean
/// gradient:
///   factor x the mean over its records of clamp(grad f(p_i) - carried grad f(p_(i-1)))
/// with p_i the question's points in order.
struct PathNode {
  Slice slice;
  CoordinateBound bound;  // of every coordinate of a record's term
  double factor = 1.0;    // in (0, 1]
  double carried = 0.0;   // in [0, 1]; 0 of the first node, before which there is no point
};
/// An estimate that the nodes of a path make together, from the public points alone, which no sum of it leaves: one of
/// its vertices is selected. Source: spec README 2.4 (selections over an estimator).
struct PathMap {
  std::vector<PathNode> nodes;  // one or more, of disjoint slices of one permutation
};
/// The scores <v - anchor, gradient> of vertices, each record's together in an l2 ball: [asked].
/// @see geometry::Vertices::anchor
struct ScoresMap {
  geometry::Vertices vertices;
  Eigen::Index asked = 0;  // so many, which the question names by their numbers, some perhaps twice
};
/// What a silo's own Frank-Wolfe steps lead to, each to a vertex that is selected by its records' gradients within the
/// ask's bound: [d]. Source: spec non-euclidean 3.2 F.
struct LocalChoicesMap {
  geometry::Vertices vertices;
  std::uint64_t steps = 1;
};
/// The minimiser over a set of the records' mean logistic loss, a quadratic around a public point and a random linear
/// term: [d]. The point is the job's, whatever a question brings. Records' vectors, a linear model's constant among
/// them, are scaled to the ask's l2 bound at most. Source: spec constraint-geometry 2.3.
struct MinimiserMap {
  geometry::Domain domain = geometry::Domain::whole_space();
  Eigen::VectorXd start = {};  // theta_0, in the domain: [d]
};
/// The gradient of loss + lambda x ERMI by the model, then that of ERMI's min-max form by the adversary W, each divided
/// by a scale that follows from the question, so that both together are within the ask's bound, which is 1 in l2:
/// [d + numbers of W]. @see fairness::FairBlocks
struct FairGradientMap {
  fairness::FairTerms terms;
};
/// In which bucket and group a record is, at no point: 1 in its cell, and 1 / cells less in all of them: [cells].
struct GroupSharesMap {
  fairness::Grouping grouping;
};
/// Its score at the question's point, the score's outer product and its information, of a logistic model:
/// [statistics::score_numbers]. @see statistics::score_moments
struct ScoreMomentsMap {
  statistics::ScoreTerms terms;
};
using RecordMap =
    std::variant<GradientMap, MetricsMap, GradientDifferenceMap, LocalRunMap, StatisticMap, FeaturesMap, PathMap,
                 ScoresMap, LocalChoicesMap, MinimiserMap, FairGradientMap, GroupSharesMap, ScoreMomentsMap>;

/// Their kinds, as messages and digests number them.
enum class QuestionKind : std::uint8_t {
  Gradient = 1,
  Metrics = 2,
  GradientDifference = 3,
  LocalRun = 4,
  Statistic = 5,
  /// A local run with control variates, of which the silo keeps its own from run to run: no message carries it, as no
  /// agent keeps anything between rounds but what it said. For simulations.
  ControlledRun = 6,
  /// Of an estimate along a path of public points.
  Path = 7,
  /// Of vertices that the question names.
  Scores = 8,
  /// At a point, a W and the groups' shares.
  FairGradient = 9,
  /// How large groups are.
  GroupShares = 10,
  /// Scores of a regression, their outer products and information, at a point.
  ScoreMoments = 11
};
/// "gradient", "metrics", "difference", "local_run", "statistic", "controlled_run", "path", "scores", "fair_gradient",
/// "group_shares", "score_moments"
[[nodiscard]] std::string_view to_string(QuestionKind kind) noexcept;
/// Whether a question of this kind brings a point: else it is of the records themselves.
[[nodiscard]] constexpr bool asked_at_point(QuestionKind kind) noexcept {
  return kind != QuestionKind::Statistic && kind != QuestionKind::GroupShares;
}
[[nodiscard]] QuestionKind kind_of(const RecordMap& map) noexcept;

/// Which records are read.
struct RecordSet {
  Block block = Block::Training;
  double draw_fraction = 1.0;       // of the records that it may read: 1 is all of them, less is drawn afresh
  std::optional<Slice> slice = {};  // without it the whole block may be read
  /// The draw is a multiset, of so many independent uniform records, as the source's theorems have it; without it a
  /// subset. A record may then be in a sum more than once, and moves it as much more.
  bool with_replacement = false;
  /// The units of the block are persons, and this is what one contributes: whatever counts records counts persons.
  std::optional<PersonContribution> persons = {};
  /// Which group a record is in is protected, and nothing else of it.
  bool attribute_alone = false;
};

/// What a contribution is cut to, in the norm that its name says. Replacing one record moves a sum by at most twice
/// that: the factor is the neighbouring relation's, and stands where a mechanism makes integers of the bound.
/// ||x||_2 <= clip
struct L2Bound {
  ClipNorm clip;
  /// Of differences of gradients at two points: a record's is clipped to min(clip, smoothness x the points' distance),
  /// and the noise is as much less. Public, never read off records. Source: federated-core 2, way 1.
  std::optional<double> smoothness = {};
};
/// |x_j| <= bound for every j
struct MaxBound {
  CoordinateBound bound;
};
/// low <= x_j <= high for every j, so that replacing a record moves a coordinate by at most high - low: less than twice
/// the largest magnitude where 0 is not in the middle.
struct RangeBound {
  double low = 0.0;
  double high = 0.0;  // > low
};
/// Any two records' contributions x and y are at most so far apart, ||x - y||, in the norm that the noise is for: a
/// fact about the map, which contributions are computed to keep, and often less than twice the longest. @see
/// pair_distance
struct PairBound {
  enum class Norm : std::uint8_t { L1, L2 };
  Norm norm = Norm::L1;
};
using Bound = std::variant<L2Bound, MaxBound, RangeBound, PairBound, DualBound, InfluenceBound>;

/// How far the contributions of two records can be apart, as the square of what it is in l2.
struct PairDistance {
  double l1 = 0.0;
  double l2_squared = 0.0;
  bool counts = false;  // contributions are whole numbers of records: the distances are exact on any lattice
};
/// Of persons the same numbers bound the means over their records, as a hull is no wider than what it is of, but shares
/// of records are not whole. With one record of each person they are whole. Where a person counts once in every cell
/// that she is in, her s records reach s cells at most, and so do another person's. Where all of her records count, s
/// of them move totals s times as far as one does. The cell that her number of records is in is one cell. A missing
/// record adds zero, and a record's vector is no longer than two such vectors can be apart. Source: spec
/// person-unit 6.1, 6.2. @see statistics::pairwise_bound
/// @param persons nothing: the units are records @pre persons can contribute so to the map. @see contributes_to
[[nodiscard]] PairDistance pair_distance(const FeaturesMap& map, const std::optional<PersonContribution>& persons);
struct Ask;
/// The same of whatever is asked. @pre the ask's bound is one of pairs of records
[[nodiscard]] PairDistance pair_distance(const Ask& ask);

/// Returns whether a person can contribute to a map in this way: `Mean` goes with every map, `Any` with cells, `Total`
/// with cells and with counted sums, `Number` with the cells of one number alone, which is the map's first coordinate.
[[nodiscard]] bool contributes_to(const FeaturesMap& map, PersonContribution::Form form) noexcept;

/// The l2 norm that a contribution is within; null where the bound says none.
[[nodiscard]] const ClipNorm* l2_clip_of(const Bound& bound) noexcept;

/// In what form an answer leaves. Whether it leaves exactly is not a choice of the ask: records that a silo's owner
/// declared public do, nothing else does.
/// Of a feature map's totals: their numbers, the likelier the smaller the total.
struct LeastTotal {};
/// Of the cells of one axis, in order, each by how many records the rank of a share of them all is outside it: some
/// cell is 0 away whatever the records are. Source: Smith 2011; spec statistics 6, of cells in place of edges: an edge
/// may be far from every rank where a cell holds many records, and the best score is then not 0.
struct QuantileCell {
  std::int64_t numerator = 1;  // of the share, above 0 and below the denominator
  std::int64_t denominator = 2;
};
/// The index of one candidate: of a vertex, the likelier the less <v, sum of the contributions>, or as above.
struct SelectionForm {
  std::variant<geometry::Vertices, LeastTotal, QuantileCell> candidates;
};
/// How a record's report is drawn from its own number. Source: spec noninteractive-ldp 2.1, 2.4 (b).
enum class Randomiser : std::uint8_t {
  Bit = 1,                // a bit, the likelier 1 the larger the number
  Laplace = 2,            // the number with discrete Laplace noise
  StringBit = 3,          // a bit about the number and a public string of its slot
  Index = 4,              // the number of one of several public strings of its slot
  Direction = 5,          // of a vector: a direction near its own, by PrivUnit
  Gaussian = 6,           // of a vector: copies of it, each with Gaussian noise
  GaussianDirection = 7,  // of a vector: a Gaussian vector that leans towards it, by PrivUnitG
};
/// "bit", "laplace", "string_bit", "index", "direction", "gaussian", "gaussian_direction"
[[nodiscard]] std::string_view to_string(Randomiser randomiser) noexcept;
/// Whether reports are read against public strings.
[[nodiscard]] bool reads_strings(Randomiser randomiser) noexcept;
/// Whether a report is of the whole vector that a record has, and not of one coordinate.
[[nodiscard]] constexpr bool of_vectors(Randomiser randomiser) noexcept {
  return randomiser == Randomiser::Direction || randomiser == Randomiser::Gaussian ||
         randomiser == Randomiser::GaussianDirection;
}
/// Whether a report of a vector is of its direction, which is drawn from a cap around it or from outside.
[[nodiscard]] constexpr bool of_directions(Randomiser randomiser) noexcept {
  return randomiser == Randomiser::Direction || randomiser == Randomiser::GaussianDirection;
}
/// How a vector of length at most 1 becomes a direction to report. Source: spec public-data 3.3.
enum class UnitAdapter : std::uint8_t {
  Round = 1,     // its own direction or the opposite one, so that it is expected: unbiased
  Lift = 2,      // a direction in one dimension more, whose last coordinate makes up for its length: unbiased
  Normalise = 3  // its own direction, whatever its length: of the direction alone, biased for the vector
};
/// "round", "lift", "normalise"
[[nodiscard]] std::string_view to_string(UnitAdapter adapter) noexcept;
/// Reports in a secret order, one of every record, each drawn from that record alone and private by itself: whoever
/// sees one of them, the silo's own disk included, learns no more of a record than its epsilon allows. The record whose
/// report stands in slot r, from 0, reports on coordinate r mod dimension and on no other; of vectors on all of them.
struct ReportsForm {
  Randomiser randomiser = Randomiser::Bit;
  std::uint64_t seed = 0;  // of public strings
  UnitAdapter adapter = UnitAdapter::Round;
  std::uint32_t copies = 1;  // of a vector with Gaussian noise
};
/// The sum over the records, with noise.
struct SumForm {
  /// r > 2 of the l_r norm by which noise is of generalised Gaussian law. Without it target and bound say the law.
  std::optional<double> noise_norm = {};
  /// Each record's vector is reported by itself, as a direction, and the silo adds the reports up: no other noise is
  /// added. The sum is a function of reports that are private one by one. Source: spec public-data 6.1, 8.
  std::optional<ReportsForm> of_reports = {};
};
using Form = std::variant<SumForm, SelectionForm, ReportsForm>;

/// What one release is before anybody has chosen its noise: map x records x bound x form.
struct Ask {
  RecordMap map;
  RecordSet records;
  Bound bound;
  Eigen::Index dimension = 0;  // of a contribution
  Form form = SumForm{};
  /// Of the noise, where a theorem or a person chose it: then it is checked. Of generalised Gaussian noise it is
  /// sqrt(2 rho), that of a Gaussian release of the same rho.
  std::optional<GaussianShift> shift = {};
  std::optional<Epsilon> epsilon = {};  // the same of discrete Laplace noise
  /// In (0, 1], of what the silo promises for all that reads the same records, mu^2 or epsilon; without it equal parts.
  std::optional<double> share = {};
  /// This is for gradients and their differences: the exact mean of the same map over the records that the silo's owner
  /// declared public leaves beside the noised one, as a block of its own. It costs nothing, and no protected record is
  /// in it.
  bool beside_public = false;

  [[nodiscard]] QuestionKind kind() const noexcept { return kind_of(map); }
  /// Whether an answer is what a silo's records add up to, on a lattice that all silos share: else it is their mean, on
  /// the job's lattice, and counts by the silo's weight.
  [[nodiscard]] bool answers_in_totals() const noexcept;
  /// The steps of a local run; null of everything else.
  [[nodiscard]] const LocalSteps* local() const noexcept;
  /// What is replaced as a whole: of records that are persons', a person.
  [[nodiscard]] Unit unit() const noexcept {
    if (records.persons) return Unit::Person;
    return records.attribute_alone ? Unit::SensitiveAttribute : Unit::Record;
  }
  /// How many draws of noise one message is made of: the steps of a local run or of its choices, else one.
  [[nodiscard]] std::uint64_t draws() const noexcept;
  /// The nodes whose records an estimate is made of; null of everything else.
  [[nodiscard]] const PathMap* path() const noexcept { return std::get_if<PathMap>(&map); }
  /// How many numbers a question brings. @param model_dimension of the job's model
  [[nodiscard]] Eigen::Index point_size(Eigen::Index model_dimension) const noexcept;
  /// The l2 norm that follows from the bound, which is what a sum's noise is calibrated to.
  /// @pre the bound is one in l2 or in a dual norm
  [[nodiscard]] const ClipNorm& clip() const;
  /// How long a contribution is at most, in l2: the clip norm, and more where a part of it does not depend on the unit
  /// that is protected. @pre the bound is one in l2 or in a dual norm
  [[nodiscard]] double reach() const;
  /// Nothing where the bound is neither.
  [[nodiscard]] std::optional<double> smoothness() const noexcept;
  /// p of the norm l_p that a difference's two points are apart in, where smoothness bounds it: 2 but of a dual bound.
  [[nodiscard]] double distance_exponent() const noexcept;
  /// The bound is multiplied by this where the two points are so far apart. It is smoothness times distance over the
  /// bound, in [2^-30, 1], and 1 without smoothness. @param distance finite, >= 0, in l_p of `distance_exponent()`
  [[nodiscard]] double scale_at(double distance) const;
  /// The ask with its bound multiplied so.
  [[nodiscard]] Ask scaled_to(double distance) const;
  /// Whether the index of one candidate leaves.
  [[nodiscard]] bool selects() const noexcept { return std::holds_alternative<SelectionForm>(form); }
  /// How many candidates a selection has. @pre it selects
  [[nodiscard]] Eigen::Index candidate_count() const;
  /// The vertices that are the candidates; null of other selections and of every other form.
  [[nodiscard]] const geometry::Vertices* candidates() const noexcept;
  /// The share whose cell is selected; null of everything else.
  [[nodiscard]] const QuantileCell* quantile_cell() const noexcept;
  /// r of generalised Gaussian noise on a sum; nothing of every other law and form.
  [[nodiscard]] std::optional<double> noise_norm() const noexcept;
  /// How its records report each by itself; null of every other form.
  [[nodiscard]] const ReportsForm* reports() const noexcept;
  /// How records report what their silo adds up before anything leaves; null of every other sum and form.
  [[nodiscard]] const ReportsForm* summed_reports() const noexcept;
  /// Into how many groups the records are divided, each of which has a noised sum of its own: 1 of most.
  /// @see InfluenceBound
  [[nodiscard]] std::uint32_t groups() const noexcept;
  /// How many numbers a record's report has. @pre of form reports
  [[nodiscard]] Eigen::Index report_size() const {
    return of_vectors(reports()->randomiser) ? dimension * static_cast<Eigen::Index>(reports()->copies) : 1;
  }
  /// How many numbers an answer has, or its reports add up to: one index of a selection, two blocks beside public
  /// records, and a block a group.
  [[nodiscard]] Eigen::Index answer_size() const noexcept {
    if (selects()) return 1;
    return beside_public ? 2 * dimension : static_cast<Eigen::Index>(groups()) * dimension;
  }
};

/// Into how many vectors that are bounded by themselves a unit's contribution is divided: 1, but of a person's capped
/// sum as many as may count.
[[nodiscard]] std::int64_t parts_of_unit(const Ask& ask);

/// Returns how much one unit can add to a number of cells: 1, or `records_max` where all of a person's records count.
[[nodiscard]] std::int64_t units_of_one(const Ask& ask) noexcept;

/// Whether a person can contribute to such a release once, however many records she has: to whatever is made of
/// gradients, of their differences and of metrics, and to a feature map's totals, or a choice among them, with the mean
/// over her records. Her report is of her own number or vector, which is that mean, too.
/// Source: spec person-unit 3.1, 6.
[[nodiscard]] bool takes_persons(const Ask& ask);

/// Whether what each record reports on is 0 or 1, so that a unit of the lattice is a record. What a person reports on
/// is a share of her records, between 0 and 1. @pre of form reports
[[nodiscard]] bool reports_indicators(const Ask& ask);

/// This says for people what a report is: "one bit a record", "discrete Laplace a person", ... @pre of form reports
[[nodiscard]] std::string what_leaves(const Ask& ask);

}  // namespace undertone::releases
