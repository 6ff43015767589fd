#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/geometry/vertices.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/releases/records.hpp"

namespace undertone::releases {

/// A silo's own noisy descent between two messages: each step reads one record, drawn afresh, and adds noise to its
/// clipped gradient; the iterate after the last one leaves. Source: federated-core 3.6.
struct LocalSteps {
  std::uint64_t steps = 1;  // K
  double step_size = 0.0;   // eta
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
using RecordMap = std::variant<GradientMap, MetricsMap, GradientDifferenceMap, LocalRunMap, StatisticMap>;

/// Their kinds, as messages and digests number them.
enum class QuestionKind : std::uint8_t {
  Gradient = 1,
  Metrics = 2,
  GradientDifference = 3,
  LocalRun = 4,
  Statistic = 5
};
/// "gradient", "metrics", "difference", "local_run", "statistic"
[[nodiscard]] std::string_view to_string(QuestionKind kind) noexcept;
[[nodiscard]] QuestionKind kind_of(const RecordMap& map) noexcept;

/// Which records are read.
struct RecordSet {
  Block block = Block::Training;
  double draw_fraction = 1.0;       // of the records that it may read: 1 is all of them, less is drawn afresh
  std::optional<Slice> slice = {};  // without it the whole block may be read
  /// The draw is a multiset, of so many independent uniform records, as the source's theorems have it; without it a
  /// subset. A record may then be in a sum more than once, and moves it as much more.
  bool with_replacement = false;
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
using Bound = std::variant<L2Bound, MaxBound, RangeBound>;

/// In what form an answer leaves. Whether it leaves exactly is not a choice of the ask: records that a silo's owner
/// declared public do, nothing else does.
/// The sum over the records, with noise.
struct SumForm {};
/// The index of one vertex, the likelier the less <v, sum of the contributions>.
struct SelectionForm {
  geometry::Vertices vertices;
};
using Form = std::variant<SumForm, SelectionForm>;

/// What one release is before anybody has chosen its noise: map x records x bound x form.
struct Ask {
  RecordMap map;
  RecordSet records;
  Bound bound;
  Eigen::Index dimension = 0;  // of a contribution
  Form form = SumForm{};
  std::optional<GaussianShift> shift = {};  // of the noise, where a theorem or a person chose it: then it is checked

  [[nodiscard]] QuestionKind kind() const noexcept { return kind_of(map); }
  /// The steps of a local run; null of everything else.
  [[nodiscard]] const LocalSteps* local() const noexcept;
  /// @pre the bound is one in l2
  [[nodiscard]] const ClipNorm& clip() const;
  /// Nothing where the bound is not one in l2.
  [[nodiscard]] std::optional<double> smoothness() const noexcept;
  /// The candidates of a selection; null of a sum.
  [[nodiscard]] const geometry::Vertices* candidates() const noexcept;
  /// How many numbers an answer has: one index of a selection.
  [[nodiscard]] Eigen::Index answer_size() const noexcept { return candidates() == nullptr ? dimension : 1; }
};

}  // namespace undertone::releases
