#include "silo/oracles/sum_oracle.hpp"

#include <algorithm>
#include <numeric>

#include "shared/privacy/clipped_sum.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kNoiseBlock =
    4096;  // numbers: noise is drawn in blocks, so that a model's worth of it is never held

}  // namespace

std::vector<std::int64_t> exact_sum(const queries::Question& question, const privacy::Release& release,
                                    const models::Records& block, const std::vector<std::int64_t>& drawn,
                                    const models::LinearModel& model) {
  const Eigen::VectorXd& point = queries::point_of(question);
  switch (release.shape.kind) {
    case privacy::QuestionKind::Gradient: {
      privacy::ClippedSum sum(release.lattice(), release.shape.dimension);
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        const double* next = i + 1 < drawn.size() ? block.features.col(drawn[i + 1]).data() : nullptr;
        sum.add(model.derivative(point, block, drawn[i]), block.features.col(drawn[i]), next);
      }
      return sum.take();
    }
    case privacy::QuestionKind::GradientDifference: {
      // A linear model's gradient is a (x, 1) at either point, so the difference is too.
      const Eigen::Index d = release.shape.dimension;
      privacy::ClippedSum sum(release.lattice(), d);
      for (std::size_t i = 0; i < drawn.size(); ++i) {
        const double* next = i + 1 < drawn.size() ? block.features.col(drawn[i + 1]).data() : nullptr;
        const double difference =
            model.derivative(point.head(d), block, drawn[i]) - model.derivative(point.tail(d), block, drawn[i]);
        sum.add(difference, block.features.col(drawn[i]), next);
      }
      return sum.take();
    }
    case privacy::QuestionKind::Metrics: {
      Eigen::VectorXd contribution(release.shape.dimension);
      std::vector<std::int64_t> sum(static_cast<std::size_t>(release.shape.dimension), 0);
      for (const std::int64_t j : drawn) {
        model.centred_metrics(point, block, j, contribution);
        privacy::add_clipped(contribution, release.lattice(), sum);
      }
      return sum;
    }
  }
  UNDERTONE_CHECK(false);
}

queries::Answer answer_sum(const queries::Query& query, const privacy::Release& planned, const SpendToken& token,
                           const data::Dataset& dataset, const models::LinearModel& model,
                           const queries::WireLattice& wire, const std::vector<std::int64_t>& permutation,
                           ReleaseRandomness& randomness) {
  UNDERTONE_CHECK(token.valid() && token.round() == query.round);
  const std::unique_ptr<ReleaseStream> stream = randomness.open(token);
  return draw_and_sum(query, planned, dataset, model, wire, permutation, *stream);
}

queries::Answer draw_and_sum(const queries::Query& query, const privacy::Release& planned, const data::Dataset& dataset,
                             const models::LinearModel& model, const queries::WireLattice& wire,
                             const std::vector<std::int64_t>& permutation, ReleaseStream& stream) {
  UNDERTONE_CHECK(queries::kind_of(query.question) == planned.shape.kind);
  const models::Records& block = planned.shape.block == privacy::Block::Training ? dataset.training : dataset.holdout;
  UNDERTONE_CHECK(planned.records_drawn >= 1 && planned.records_drawn <= planned.population);
  UNDERTONE_CHECK(planned.block_records == block.count() && planned.positions.to <= block.count());
  // Of the pair of points that is evaluated, never of a norm that was told.
  const privacy::Release release = planned.scaled_to(queries::distance_of(query.question));

  std::vector<std::int64_t> drawn;
  if (release.sampled()) {
    drawn = stream.subset(release.population, release.records_drawn);
  } else {
    drawn.resize(static_cast<std::size_t>(release.population));
    std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  }
  if (release.shape.slice) {
    UNDERTONE_CHECK(permutation.size() == static_cast<std::size_t>(block.count()));
    for (std::int64_t& j : drawn) j = permutation[static_cast<std::size_t>(release.positions.from + j)];
  }
  if (const auto* gaussian = std::get_if<privacy::GaussianLattice>(&release.mechanism)) {
    std::vector<std::int64_t> noised = exact_sum(query.question, release, block, drawn, model);
    // |sum| + 2^m * 40 < 2^62 by the plan; beyond 40 standard deviations lies probability below 2^-1000.
    std::vector<std::int64_t> noise(std::min(noised.size(), kNoiseBlock));
    for (std::size_t from = 0; from < noised.size(); from += noise.size()) {
      const std::span<std::int64_t> part(noise.data(), std::min(noise.size(), noised.size() - from));
      stream.fill_gaussian(gaussian->log2_stddev, part);
      for (std::size_t j = 0; j < part.size(); ++j) noised[from + j] += part[j];
    }
    return queries::NoisedSums{queries::to_wire(noised, release, wire)};
  }
  UNDERTONE_CHECK(release.shape.block == privacy::Block::Holdout);
  return queries::PublicSums{queries::to_wire(exact_sum(query.question, release, block, drawn, model), release, wire)};
}

}  // namespace undertone::silo
