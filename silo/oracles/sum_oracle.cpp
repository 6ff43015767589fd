#include "silo/oracles/sum_oracle.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "shared/base/overloaded.hpp"
#include "silo/oracles/local_run.hpp"
#include "silo/oracles/perturbed_minimiser.hpp"
#include "silo/oracles/record_reports.hpp"
#include "silo/oracles/statistic.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kNoiseBlock =
    4096;  // numbers: noise is drawn in blocks, so that a model's worth of it is never held

data::BlockReader block_of(const planning::Release& planned, const OracleData& data) {
  const data::BlockReader block = data.dataset.read(planned.ask.records.block);
  UNDERTONE_CHECK(planned.records_drawn >= 1 && planned.records_drawn <= planned.population);
  UNDERTONE_CHECK(planned.block_records == block.count() && planned.positions.to <= block.count());
  // A block of persons is never read record by record, nor the other way round.
  UNDERTONE_CHECK(planned.ask.records.persons.has_value() == block.of_persons());
  UNDERTONE_CHECK(!planned.ask.records.persons ||
                  (data.persons != nullptr && releases::takes_persons(planned.ask) &&
                   data.persons->records_max() == static_cast<std::size_t>(planned.ask.records.persons->records_max)));
  return block;
}

void add_gaussian(const mechanisms::GaussianLattice& gaussian, ReleaseStream& stream, std::vector<std::int64_t>& sum) {
  // |sum| + 2^m * 40 < 2^62 by the plan, of moments sqrt(2) times that; beyond 40 standard deviations lies probability
  // below 2^-1000.
  std::vector<std::int64_t> noise(std::min(sum.size(), kNoiseBlock));
  for (std::size_t from = 0; from < sum.size(); from += noise.size()) {
    const std::span<std::int64_t> part(noise.data(), std::min(noise.size(), sum.size() - from));
    stream.fill_gaussian(gaussian.log2_stddev, part);
    for (std::size_t j = 0; j < part.size(); ++j) sum[from + j] += part[j];
  }
}

void add_generalised(const mechanisms::GeneralisedGaussianLattice& generalised, ReleaseStream& stream,
                     std::vector<std::int64_t>& sum) {
  // |sum| < 2^60 by the plan, and no noise is longer: @see noise::GeneralisedGaussian. Its coordinates are drawn
  // together.
  std::vector<std::int64_t> noise(sum.size());
  stream.fill_generalised(generalised.noise, noise);
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += noise[j];
}

/// Of totals: the higher, the smaller.
std::vector<std::int64_t> least_scores(const std::vector<std::int64_t>& totals) {
  std::vector<std::int64_t> out(totals.size());
  std::transform(totals.begin(), totals.end(), out.begin(), [](std::int64_t total) { return -total; });
  return out;
}

/// Of m cells: -max(0, D F_below - N n, N n - D F_through), F what is below a cell and what is below or in it, N / D
/// the share. A record that moves from one cell to another moves each F by at most one record, and so a score by D.
/// @param all n, in units of the counts
std::vector<std::int64_t> cell_scores(const std::vector<std::int64_t>& counts, const releases::QuantileCell& cell,
                                      std::int64_t all) {
  std::vector<std::int64_t> out;
  out.reserve(counts.size());
  const std::int64_t rank = cell.numerator * all;
  std::int64_t below = 0;
  for (const std::int64_t count : counts) {
    const std::int64_t through = below + count;
    out.push_back(-std::max({std::int64_t{0}, cell.denominator * below - rank, rank - cell.denominator * through}));
    below = through;
  }
  return out;
}

/// The vertices that a question names, from their anchor; of a number that is none the first, whatever was meant.
Eigen::MatrixXd directions_of(const releases::ScoresMap& scores, const Eigen::Ref<const Eigen::VectorXd>& named) {
  const Eigen::VectorXd anchor = scores.vertices.anchor();
  Eigen::MatrixXd out(scores.vertices.dimension(), named.size());
  for (Eigen::Index k = 0; k < named.size(); ++k) {
    const bool known = named[k] >= 0.0 && named[k] < static_cast<double>(scores.vertices.count());
    out.col(k) = scores.vertices.vertex(known ? static_cast<Eigen::Index>(named[k]) : 0) - anchor;
  }
  return out;
}

releases::PersonContribution::Form form_of(const releases::Ask& ask) {
  return ask.records.persons ? ask.records.persons->form : releases::PersonContribution::Form::Mean;
}

std::int64_t chosen(const planning::Release& release, const mechanisms::Selection& selection,
                    const std::vector<std::int64_t>& sum, ReleaseStream& stream) {
  return static_cast<std::int64_t>(stream.select(selection.draw, candidate_scores(release, selection, sum)));
}

}  // namespace

std::vector<std::int64_t> candidate_scores(const planning::Release& release, const mechanisms::Selection& selection,
                                           const std::vector<std::int64_t>& sum) {
  const std::int64_t levels = selection.lattice.levels();
  // The very range that the draw is calibrated to, each time.
  const auto check_range = [&](std::int64_t range) { UNDERTONE_CHECK(selection.draw.range().value() >= range); };
  if (const geometry::Vertices* candidates = release.ask.candidates()) {
    check_range(candidates->score_range(levels));
    std::vector<std::int64_t> scores(static_cast<std::size_t>(candidates->count()));
    candidates->scores(sum, scores);
    return scores;
  }
  // One record moves a total by `levels` at most, and so each score by no more than half the range.
  if (const releases::QuantileCell* cell = release.ask.quantile_cell()) {
    check_range(2 * levels * cell->denominator);
    return cell_scores(sum, *cell, release.records_drawn * levels);
  }
  check_range(2 * levels);
  return least_scores(sum);
}

std::vector<std::int64_t> exact_sum(const queries::Question& question, const planning::Release& release,
                                    const models::Records& block, const std::vector<std::int64_t>& drawn,
                                    RecordSums* sums) {
  return exact_sum(question, release, RecordSums::Drawn{block, drawn}, sums);
}

std::vector<std::int64_t> exact_sum(const queries::Question& question, const planning::Release& release,
                                    const RecordSums::Drawn& records, RecordSums* sums) {
  UNDERTONE_CHECK(!records.counted || (std::holds_alternative<releases::GradientMap>(release.ask.map) &&
                                       !std::holds_alternative<mechanisms::Selection>(release.mechanism) &&
                                       sums != nullptr && sums->hides_counts()));
  UNDERTONE_CHECK(records.block.of_persons() == (records.persons != nullptr));
  UNDERTONE_CHECK(sums == nullptr || records.block.of_persons() == sums->takes_persons());
  std::vector<std::int64_t> sum(static_cast<std::size_t>(release.ask.dimension));
  const auto of_model = [&]() -> RecordSums& {
    UNDERTONE_CHECK(sums != nullptr);
    return *sums;
  };
  // What a model's vectors are clipped to at last is an l2 norm, whatever noise is added and whatever other norm bounds
  // them.
  const auto clipped_to = [&]() -> const mechanisms::Lattice& {
    UNDERTONE_CHECK(releases::l2_clip_of(release.ask.bound) != nullptr);
    return release.lattice();
  };
  std::optional<RecordSums::DualClip> dual;
  if (const auto* bound = std::get_if<releases::DualBound>(&release.ask.bound))
    dual = RecordSums::DualClip{bound->exponent(), bound->clip().value()};
  std::visit(
      Overloaded{[&](const releases::GradientMap& /*map*/) {
                   const Eigen::VectorXd& point = queries::point_of(question);
                   if (const auto* selection = std::get_if<mechanisms::Selection>(&release.mechanism)) {
                     of_model().clamped_gradients(point, selection->lattice, records, sum);
                   } else if (dual) {
                     of_model().dual_gradients(point, *dual, clipped_to(), records, sum);
                   } else if (const auto* influence = std::get_if<releases::InfluenceBound>(&release.ask.bound)) {
                     of_model().influenced_gradients(point, *influence, clipped_to(), records, sum);
                   } else {
                     of_model().gradients(point, clipped_to(), records, sum);
                   }
                 },
                 [&](const releases::GradientDifferenceMap& /*map*/) {
                   const std::vector<queries::NamedPoint> points = queries::named_points(question);
                   UNDERTONE_CHECK(points.size() == 2);
                   const RecordSums::PointPair pair{points[0].value, points[1].value};
                   if (dual) {
                     of_model().dual_differences(pair, *dual, clipped_to(), records, sum);
                   } else {
                     of_model().differences(pair, clipped_to(), records, sum);
                   }
                 },
                 [&](const releases::MetricsMap& /*map*/) {
                   of_model().metrics(queries::point_of(question), clipped_to(), records, sum);
                 },
                 [&](const releases::StatisticMap& statistic) {
                   const auto* range = std::get_if<releases::RangeBound>(&release.ask.bound);
                   UNDERTONE_CHECK(range != nullptr && statistic.coordinates.size() == sum.size());
                   sum = statistic_totals(statistic, *range, release.lattice(), records);
                 },
                 [&](const releases::FeaturesMap& map) {
                   const auto* selection = std::get_if<mechanisms::Selection>(&release.mechanism);
                   sum = selection != nullptr
                             ? scored_totals(map.features, selection->lattice.levels(),
                                             release.ask.quantile_cell() != nullptr, records)
                             : feature_totals(map.features, release.lattice(), records, form_of(release.ask));
                   UNDERTONE_CHECK(static_cast<Eigen::Index>(sum.size()) == release.ask.dimension);
                 },
                 [&](const releases::ScoresMap& scores) {
                   const Eigen::Index asked = release.ask.dimension;
                   const Eigen::VectorXd& all = queries::point_of(question);
                   of_model().scores(all.head(all.size() - asked), directions_of(scores, all.tail(asked)), clipped_to(),
                                     records, sum);
                 },
                 [&](const releases::FairGradientMap& fair) {
                   of_model().fair_gradients(queries::point_of(question), fair.terms, clipped_to(), records, sum);
                 },
                 [&](const releases::GroupSharesMap& shares) {
                   of_model().group_shares(shares.grouping, clipped_to(), records, sum);
                 },
                 [&](const releases::ScoreMomentsMap& scores) {
                   of_model().score_moments(queries::point_of(question), scores.terms, release.lattice(), records, sum);
                 },
                 // Sums of several parts of the records, and what is no sum without noise.
                 [](const releases::PathMap& /*map*/) { UNDERTONE_CHECK(false); },
                 [](const releases::LocalRunMap& /*map*/) { UNDERTONE_CHECK(false); },
                 [](const releases::LocalChoicesMap& /*map*/) { UNDERTONE_CHECK(false); },
                 [](const releases::MinimiserMap& /*map*/) { UNDERTONE_CHECK(false); }},
      release.ask.map);
  return sum;
}

std::vector<std::int64_t> path_sum(const queries::Question& question, const planning::Release& release,
                                   const data::BlockReader& block, const RecordPlaces& places,
                                   const PersonDraw* persons, RecordSums* sums) {
  const auto& selection = std::get<mechanisms::PathSelection>(release.mechanism);
  const std::vector<releases::PathNode>& nodes = release.ask.path()->nodes;
  const std::vector<mechanisms::ClampUnits>& units = selection.lattice.nodes();
  const Eigen::VectorXd& points = queries::point_of(question);
  const Eigen::Index d = release.ask.dimension;
  UNDERTONE_CHECK(sums != nullptr && nodes.size() == units.size() && places.records() == block.count() &&
                  points.size() == static_cast<Eigen::Index>(nodes.size()) * d);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(d), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const releases::Slice::Positions positions = nodes[i].slice.positions(release.block_records);
    UNDERTONE_CHECK(positions.to - positions.from == units[i].records);
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(units[i].records));
    for (std::size_t j = 0; j < drawn.size(); ++j) drawn[j] = places.at(positions.from + static_cast<std::int64_t>(j));
    const auto at = static_cast<Eigen::Index>(i) * d;
    const RecordSums::PathTerm term{points.segment(at, d), points.segment(i == 0 ? 0 : at - d, d), nodes[i].carried};
    block.read(drawn, [&](const data::BlockReader::Part& part) {
      sums->add_clamped_terms(term, units[i], {part.records, part.positions, std::nullopt, persons}, sum);
    });
  }
  return sum;
}

std::vector<std::int64_t> path_scores(const planning::Release& release, const std::vector<std::int64_t>& sum) {
  const auto& selection = std::get<mechanisms::PathSelection>(release.mechanism);
  const geometry::Vertices& candidates = *release.ask.candidates();
  // The very range that the draw is calibrated to, each time.
  UNDERTONE_CHECK(selection.draw.range().value() >= candidates.score_range(selection.lattice.levels_max()));
  std::vector<std::int64_t> scores(static_cast<std::size_t>(candidates.count()));
  candidates.scores(sum, scores);
  return scores;
}

queries::Answer answer_question(const queries::Query& query, const planning::Release& release, const SpendToken& token,
                                const OracleData& data, RecordSums* sums, const queries::WireLattice& wire,
                                ReleaseRandomness& randomness) {
  UNDERTONE_CHECK(token.valid() && token.round() == query.round);
  const std::unique_ptr<ReleaseStream> stream = randomness.open(token);
  return draw_and_sum(query, release, data, sums, wire, *stream);
}

namespace {

/// Whether every unit of the block is read once.
bool reads_everybody(const planning::Release& release) {
  const releases::RecordSet& records = release.ask.records;
  return !records.with_replacement && !release.sampled() && !records.slice &&
         release.population == release.block_records;
}

/// Positions of the records that a release reads, which is not by bins.
std::vector<std::int64_t> draw_positions(const planning::Release& release, const OracleData& data, bool in_any_order,
                                         ReleaseStream& stream) {
  std::vector<std::int64_t> drawn;
  if (release.ask.records.with_replacement) {
    drawn = stream.multiset(release.population, release.records_drawn);
  } else if (release.sampled()) {
    drawn = stream.subset(release.population, release.records_drawn);
    // Draws with and without a record then couple slot for slot: whatever a sum makes of places, one slot differs.
    if (!in_any_order) drawn = reordered(drawn, stream.order(release.records_drawn));
  } else {
    drawn.resize(static_cast<std::size_t>(release.population));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  }
  if (release.ask.records.slice) {
    UNDERTONE_CHECK(data.places.records() == data.dataset.count(release.ask.records.block));
    for (std::int64_t& j : drawn) j = data.places.at(release.positions.from + j);
  }
  return drawn;
}

/// The sum of a report of each record that is read. A record's report depends on its own gradient and on randomness of
/// its own. The report cuts a gradient to the clip norm; one whose squared length is no finite number counts as zero.
std::vector<std::int64_t> draw_reported_sum(const queries::Query& query, const planning::Release& planned,
                                            const mechanisms::DirectionSum& mechanism, const OracleData& data,
                                            RecordSums* sums, ReleaseStream& stream) {
  const data::BlockReader block = block_of(planned, data);
  UNDERTONE_CHECK(queries::kind_of(query.question) == planned.ask.kind() && sums != nullptr);
  UNDERTONE_CHECK(std::holds_alternative<releases::GradientMap>(planned.ask.map) && !planned.reads_bins());
  UNDERTONE_CHECK(!planned.sampled() && planned.records_drawn == planned.population);  // each record reports once
  const std::vector<std::int64_t> drawn = draw_positions(planned, data, true, stream);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(planned.ask.dimension), 0);
  std::vector<std::int64_t> report(sum.size());
  Eigen::VectorXd scaled(planned.ask.dimension);
  const auto add_report = [&](const Eigen::VectorXd& gradient) {
    scaled = gradient / mechanism.clip;
    stream.randomise_vector(mechanism.reports, scaled, report);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += report[j];
  };
  block.read(drawn, [&](const data::BlockReader::Part& part) {
    sums->each_gradient(queries::point_of(query.question), {part.records, part.positions}, add_report);
  });
  return sum;
}

/// The exact sum over units of a block, part by part. Each time that a record is drawn it is in one part and is made
/// integers there, so that replacing it moves this sum by no more than it moves the sums of those parts.
class SumInParts {
 public:
  /// @param counted as of RecordSums::Drawn, of all parts together
  SumInParts(const queries::Question& question, const planning::Release& release, std::optional<std::size_t> counted,
             const PersonDraw* persons, RecordSums* sums)
      : question_(question), release_(release), counted_(counted), persons_(persons), sums_(sums) {}

  void operator()(const data::BlockReader::Part& part) {
    std::optional<std::size_t> counted;
    if (counted_) counted = std::min(*counted_ - std::min(*counted_, part.from), part.positions.size());
    std::vector<std::int64_t> sum =
        exact_sum(question_, release_, {part.records, part.positions, counted, persons_}, sums_);
    if (sum_.empty()) {
      sum_ = std::move(sum);
    } else {
      for (std::size_t j = 0; j < sum.size(); ++j) sum_[j] += sum[j];
    }
  }
  [[nodiscard]] std::vector<std::int64_t> take() { return std::move(sum_); }

 private:
  const queries::Question& question_;
  const planning::Release& release_;
  std::optional<std::size_t> counted_;
  const PersonDraw* persons_;
  RecordSums* sums_;
  std::vector<std::int64_t> sum_;
};

}  // namespace

DrawnSum draw_exact_sum(const queries::Query& query, const planning::Release& planned, const OracleData& data,
                        RecordSums* sums, ReleaseStream& stream) {
  const data::BlockReader block = block_of(planned, data);
  UNDERTONE_CHECK(queries::kind_of(query.question) == planned.ask.kind());
  if (planned.ask.path() != nullptr)
    return {planned, path_sum(query.question, planned, block, data.places, data.persons, sums)};
  // Of the pair of points that is evaluated, never of a norm that was told.
  const planning::Release release =
      planned.scaled_to(queries::distance_of(query.question, planned.ask.distance_exponent()));

  if (release.reads_bins()) {
    UNDERTONE_CHECK(data.places.records() == block.count());
    const RecordPlaces::Rows rows = data.places.bin(release.positions, release.rows);
    SumInParts sum(query.question, release, static_cast<std::size_t>(rows.counted), data.persons, sums);
    block.read(rows.records, std::ref(sum));
    return {release, sum.take()};
  }
  const bool in_any_order = sums == nullptr || sums->adds_integers();
  SumInParts sum(query.question, release, std::nullopt, data.persons, sums);
  if (in_any_order && reads_everybody(release)) {
    block.read_all(std::ref(sum));
  } else {
    block.read(draw_positions(release, data, in_any_order, stream), std::ref(sum));
  }
  return {release, sum.take()};
}

namespace {

/// Answers with the noised block as for any other question, then with the exact one of the records that the owner
/// declared public.
queries::Answer draw_beside_public(const queries::Query& query, const planning::Release& planned,
                                   const OracleData& data, RecordSums* sums, const queries::WireLattice& wire,
                                   ReleaseStream& stream) {
  planning::Release alone = planned;
  alone.ask.beside_public = false;
  alone.beside.reset();
  alone.public_records = 0;
  queries::Answer noised = draw_and_sum(query, alone, data, sums, wire, stream);
  UNDERTONE_CHECK(std::holds_alternative<queries::NoisedSums>(noised));
  std::vector<std::int64_t> values = std::get<queries::NoisedSums>(std::move(noised)).values;
  UNDERTONE_CHECK(values.size() == static_cast<std::size_t>(planned.ask.dimension));
  if (!planned.beside) {
    values.resize(2 * values.size(), 0);
    return queries::SumsBesidePublic{std::move(values)};
  }
  const planning::Release open = planned.beside_release();
  UNDERTONE_CHECK(open.is_public() && open.ask.records.block == releases::Block::Public);
  const DrawnSum exact = draw_exact_sum(query, open, data, sums, stream);
  const std::vector<std::int64_t> of_public = queries::to_wire(exact.sum, exact.release, wire);
  values.insert(values.end(), of_public.begin(), of_public.end());
  return queries::SumsBesidePublic{std::move(values)};
}

/// Answers with the mean of every group, one after the other. A record is in one group, so that replacing it moves one
/// group's sum, and each sum has noise of its own.
queries::Answer draw_groups(const queries::Query& query, const planning::Release& planned, const OracleData& data,
                            RecordSums* sums, const queries::WireLattice& wire, ReleaseStream& stream) {
  const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&planned.mechanism);
  UNDERTONE_CHECK(gaussian != nullptr && planned.ask.records.slice && !planned.sampled() && !planned.reads_bins());
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(planned.ask.answer_size()));
  for (std::uint32_t group = 0; group < planned.ask.groups(); ++group) {
    DrawnSum drawn = draw_exact_sum(query, planned.of_group(group), data, sums, stream);
    add_gaussian(*gaussian, stream, drawn.sum);
    const std::vector<std::int64_t> mean = queries::to_wire(drawn.sum, drawn.release, wire);
    values.insert(values.end(), mean.begin(), mean.end());
  }
  return queries::NoisedSums{std::move(values)};
}

}  // namespace

queries::Answer draw_and_sum(const queries::Query& query, const planning::Release& planned, const OracleData& data,
                             RecordSums* sums, const queries::WireLattice& wire, ReleaseStream& stream) {
  if (planned.ask.beside_public) return draw_beside_public(query, planned, data, sums, wire, stream);
  if (planned.ask.groups() > 1) return draw_groups(query, planned, data, sums, wire, stream);
  if (planned.ask.kind() == releases::QuestionKind::LocalRun) {
    UNDERTONE_CHECK(queries::kind_of(query.question) == planned.ask.kind() && sums != nullptr);
    if (std::holds_alternative<releases::LocalChoicesMap>(planned.ask.map))
      return queries::NoisedSums{local_choices(queries::point_of(query.question), planned, block_of(planned, data),
                                               data.persons, wire, *sums, stream)};
    if (const auto* objective = std::get_if<mechanisms::PerturbedObjective>(&planned.mechanism))
      return queries::NoisedSums{noised_minimiser(std::get<releases::MinimiserMap>(planned.ask.map).start, *objective,
                                                  block_of(planned, data), wire, stream)};
    return queries::NoisedSums{local_run({queries::point_of(query.question)}, planned, block_of(planned, data),
                                         data.persons, wire, *sums, stream)};
  }
  if (std::holds_alternative<mechanisms::LocalReports>(planned.mechanism)) {
    UNDERTONE_CHECK(queries::kind_of(query.question) == planned.ask.kind());
    return record_reports(planned, block_of(planned, data), data.persons, stream);
  }
  if (const auto* reported = std::get_if<mechanisms::DirectionSum>(&planned.mechanism))
    return queries::NoisedSums{
        queries::to_wire(draw_reported_sum(query, planned, *reported, data, sums, stream), planned, wire)};
  auto drawn = draw_exact_sum(query, planned, data, sums, stream);
  const planning::Release& release = drawn.release;
  std::vector<std::int64_t>& sum = drawn.sum;
  const bool totals = release.ask.answers_in_totals();
  return std::visit(
      Overloaded{[&](const mechanisms::GaussianLattice& gaussian) -> queries::Answer {
                   add_gaussian(gaussian, stream, sum);
                   if (totals) return queries::NoisedSums{queries::totals_to_wire(sum, release)};
                   return queries::NoisedSums{queries::to_wire(sum, release, wire)};
                 },
                 [&](const mechanisms::LaplaceLattice& laplace) -> queries::Answer {
                   stream.add_laplace(laplace.noise, sum);
                   if (totals) return queries::NoisedSums{queries::totals_to_wire(sum, release)};
                   return queries::NoisedSums{queries::to_wire(sum, release, wire)};
                 },
                 [&](const mechanisms::GeneralisedGaussianLattice& generalised) -> queries::Answer {
                   add_generalised(generalised, stream, sum);
                   return queries::NoisedSums{queries::to_wire(sum, release, wire)};
                 },
                 [&](const mechanisms::Selection& selection) -> queries::Answer {
                   return queries::Selected{{chosen(release, selection, sum, stream)}};
                 },
                 [&](const mechanisms::PathSelection& selection) -> queries::Answer {
                   return queries::Selected{
                       {static_cast<std::int64_t>(stream.select(selection.draw, path_scores(release, sum)))}};
                 },
                 [](const mechanisms::PerturbedObjective& /*above*/) -> queries::Answer { UNDERTONE_CHECK(false); },
                 [&](const mechanisms::ExactPublicSum& exact) -> queries::Answer {
                   UNDERTONE_CHECK(exact.records.block() == release.ask.records.block);
                   if (totals) return queries::PublicSums{queries::totals_to_wire(sum, release)};
                   return queries::PublicSums{queries::to_wire(sum, release, wire)};
                 },
                 // Its counts are for shufflers alone: @see draw_and_count
                 [](const mechanisms::BinomialSum& /*counts*/) -> queries::Answer { UNDERTONE_CHECK(false); },
                 [](const mechanisms::LocalReports& /*above*/) -> queries::Answer { UNDERTONE_CHECK(false); },
                 [](const mechanisms::DirectionSum& /*above*/) -> queries::Answer { UNDERTONE_CHECK(false); },
                 [](const mechanisms::Unplanned& /*nothing*/) -> queries::Answer { UNDERTONE_CHECK(false); }},
      release.mechanism);
}

}  // namespace undertone::silo
