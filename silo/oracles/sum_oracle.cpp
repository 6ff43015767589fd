#include "silo/oracles/sum_oracle.hpp"

#include <numeric>

namespace undertone::silo {

std::vector<std::int64_t> exact_sum(const queries::Question& question, const privacy::Release& release,
                                    const models::Records& block, const std::vector<std::int64_t>& drawn,
                                    const models::LinearModel& model) {
  const Eigen::VectorXd& point = queries::point_of(question);
  Eigen::VectorXd contribution(release.shape.dimension);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(release.shape.dimension), 0);
  for (const std::int64_t j : drawn) {
    switch (release.shape.kind) {
      case privacy::QuestionKind::Gradient:
        model.gradient(point, block, j, contribution);
        break;
      case privacy::QuestionKind::Metrics:
        model.centred_metrics(point, block, j, contribution);
        break;
    }
    privacy::add_clipped(contribution, release.lattice(), sum);
  }
  return sum;
}

queries::Answer answer_sum(const queries::Query& query, const privacy::Release& release, const SpendToken& token,
                           const data::Dataset& dataset, const models::LinearModel& model,
                           const queries::WireLattice& wire, ReleaseRandomness& randomness) {
  UNDERTONE_CHECK(token.valid() && token.round() == query.round);
  UNDERTONE_CHECK(queries::kind_of(query.question) == release.shape.kind);
  const models::Records& block = release.shape.block == privacy::Block::Training ? dataset.training : dataset.holdout;
  UNDERTONE_CHECK(release.records_drawn >= 1 && release.records_drawn <= block.count());

  const std::unique_ptr<ReleaseStream> stream = randomness.open(token);
  std::vector<std::int64_t> drawn;
  if (release.records_drawn == block.count()) {
    drawn.resize(static_cast<std::size_t>(block.count()));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  } else {
    drawn = stream->subset(block.count(), release.records_drawn);
  }
  if (const auto* gaussian = std::get_if<privacy::GaussianLattice>(&release.mechanism)) {
    std::vector<std::int64_t> noised(static_cast<std::size_t>(release.shape.dimension));
    stream->fill_gaussian(gaussian->log2_stddev, noised);
    const std::vector<std::int64_t> sum = exact_sum(query.question, release, block, drawn, model);
    // |sum| + 2^m * 40 < 2^62 by the plan; beyond 40 standard deviations lies probability below 2^-1000.
    for (std::size_t j = 0; j < sum.size(); ++j) noised[j] += sum[j];
    return queries::NoisedSums{queries::to_wire(noised, release, wire)};
  }
  UNDERTONE_CHECK(release.shape.block == privacy::Block::Holdout);
  return queries::PublicSums{queries::to_wire(exact_sum(query.question, release, block, drawn, model), release, wire)};
}

}  // namespace undertone::silo
