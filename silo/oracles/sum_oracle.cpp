#include "silo/oracles/sum_oracle.hpp"

#include <algorithm>
#include <numeric>

#include "silo/oracles/local_run.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kNoiseBlock =
    4096;  // numbers: noise is drawn in blocks, so that a model's worth of it is never held

const models::Records& block_of(const planning::Release& planned, const OracleData& data) {
  const models::Records& block =
      planned.shape.block == releases::Block::Training ? data.dataset.training : data.dataset.holdout;
  UNDERTONE_CHECK(planned.records_drawn >= 1 && planned.records_drawn <= planned.population);
  UNDERTONE_CHECK(planned.block_records == block.count() && planned.positions.to <= block.count());
  return block;
}

std::vector<std::int64_t> reordered(const std::vector<std::int64_t>& drawn, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> out(drawn.size());
  std::transform(order.begin(), order.end(), out.begin(),
                 [&](std::int64_t place) { return drawn[static_cast<std::size_t>(place)]; });
  return out;
}

}  // namespace

std::vector<std::int64_t> exact_sum(const queries::Question& question, const planning::Release& release,
                                    const models::Records& block, const std::vector<std::int64_t>& drawn,
                                    RecordSums& sums) {
  const Eigen::VectorXd& point = queries::point_of(question);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(release.shape.dimension));
  switch (release.shape.kind) {
    case releases::QuestionKind::Gradient:
      sums.gradients(point, release.lattice(), {block, drawn}, sum);
      return sum;
    case releases::QuestionKind::GradientDifference:
      sums.differences(point, release.lattice(), {block, drawn}, sum);
      return sum;
    case releases::QuestionKind::Metrics:
      sums.metrics(point, release.lattice(), {block, drawn}, sum);
      return sum;
    case releases::QuestionKind::LocalRun:
      break;  // has no sum without noise
  }
  UNDERTONE_CHECK(false);
}

queries::Answer answer_question(const queries::Query& query, const planning::Release& release, const SpendToken& token,
                                const OracleData& data, RecordSums& sums, const queries::WireLattice& wire,
                                ReleaseRandomness& randomness) {
  UNDERTONE_CHECK(token.valid() && token.round() == query.round);
  const std::unique_ptr<ReleaseStream> stream = randomness.open(token);
  return draw_and_sum(query, release, data, sums, wire, *stream);
}

DrawnSum draw_exact_sum(const queries::Query& query, const planning::Release& planned, const OracleData& data,
                        RecordSums& sums, ReleaseStream& stream) {
  const models::Records& block = block_of(planned, data);
  UNDERTONE_CHECK(queries::kind_of(query.question) == planned.shape.kind);
  // Of the pair of points that is evaluated, never of a norm that was told.
  const planning::Release release = planned.scaled_to(queries::distance_of(query.question));

  std::vector<std::int64_t> drawn;
  if (release.shape.with_replacement) {
    drawn = stream.multiset(release.population, release.records_drawn);
  } else if (release.sampled()) {
    drawn = stream.subset(release.population, release.records_drawn);
    // Draws with and without a record then couple slot for slot: whatever a sum makes of places, one slot differs.
    if (!sums.adds_integers()) drawn = reordered(drawn, stream.order(release.records_drawn));
  } else {
    drawn.resize(static_cast<std::size_t>(release.population));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  }
  if (release.shape.slice) {
    UNDERTONE_CHECK(data.permutation.size() == static_cast<std::size_t>(block.count()));
    for (std::int64_t& j : drawn) j = data.permutation[static_cast<std::size_t>(release.positions.from + j)];
  }
  return {release, exact_sum(query.question, release, block, drawn, sums)};
}

queries::Answer draw_and_sum(const queries::Query& query, const planning::Release& planned, const OracleData& data,
                             RecordSums& sums, const queries::WireLattice& wire, ReleaseStream& stream) {
  if (planned.shape.kind == releases::QuestionKind::LocalRun) {
    UNDERTONE_CHECK(queries::kind_of(query.question) == planned.shape.kind);
    return queries::NoisedSums{
        local_run(queries::point_of(query.question), planned, block_of(planned, data), wire, sums, stream)};
  }
  auto [release, sum] = draw_exact_sum(query, planned, data, sums, stream);
  if (const auto* gaussian = std::get_if<mechanisms::GaussianLattice>(&release.mechanism)) {
    // |sum| + 2^m * 40 < 2^62 by the plan; beyond 40 standard deviations lies probability below 2^-1000.
    std::vector<std::int64_t> noise(std::min(sum.size(), kNoiseBlock));
    for (std::size_t from = 0; from < sum.size(); from += noise.size()) {
      const std::span<std::int64_t> part(noise.data(), std::min(noise.size(), sum.size() - from));
      stream.fill_gaussian(gaussian->log2_stddev, part);
      for (std::size_t j = 0; j < part.size(); ++j) sum[from + j] += part[j];
    }
    return queries::NoisedSums{queries::to_wire(sum, release, wire)};
  }
  const auto* exact = std::get_if<mechanisms::ExactPublicSum>(&release.mechanism);
  UNDERTONE_CHECK(exact != nullptr && exact->records.block() == release.shape.block);
  return queries::PublicSums{queries::to_wire(sum, release, wire)};
}

}  // namespace undertone::silo
