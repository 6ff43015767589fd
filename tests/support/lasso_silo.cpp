#include "tests/support/lasso_silo.hpp"

#include <fmt/format.h>
#include <variant>

#include "shared/base/random_source.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

namespace undertone::tests {

Eigen::VectorXd lasso_optimum(Eigen::Index d) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(d);
  out.head(3) << 0.5, -0.25, 0.15;
  return out;
}

data::Dataset lasso_dataset(Eigen::Index d, std::uint64_t seed) {
  RandomSource random(seed);
  models::Records records{Eigen::MatrixXd(d, kLassoRecords), Eigen::VectorXd(kLassoRecords)};
  std::uint64_t bits = 0;
  int left = 0;
  for (double& number : records.features.reshaped()) {
    if (left-- == 0) {
      bits = random.word();
      left = 63;
    }
    number = (bits & 1U) != 0 ? 1.0 : -1.0;
    bits >>= 1U;
  }
  const Eigen::VectorXd best = lasso_optimum(d);
  for (std::int64_t i = 0; i < kLassoRecords; ++i)
    records.targets[i] = records.features.col(i).dot(best) + 0.2 * random.unit() - 0.1;
  data::Dataset out;
  out.training = std::move(records);
  return out;
}

Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm, const planning::Plan& plan,
                                 const data::Dataset& dataset, std::uint64_t seed, bool noise) {
  const SiloId id = SiloId::create("one").value();
  const RunId run{sha256(fmt::format("tree {}", seed)), {}};
  silo::TestRandomness randomness(seed, id);
  const silo::RecordPlaces places =
      silo::RecordPlaces::permuted(randomness.permutation({run, releases::Block::Training, {}}, kLassoRecords));
  const models::LinearModel model(models::Loss::LeastSquares, dataset.training.features.rows(), false);
  const std::unique_ptr<silo::RecordSums> sums = silo::make_record_sums(model);
  const queries::WireLattice wire{queries::ReplyType::I64, -40};
  algorithms::Step step = algorithm.start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    const planning::Release& release = *plan.release(query->round);
    const auto stream =
        noise ? randomness.stream(run, query->round) : silo::NoiselessRandomness(seed, id).stream(run, query->round);
    const queries::Answer answer = silo::draw_and_sum(*query, release, {dataset, places}, sums.get(), wire, *stream);
    const std::vector<std::int64_t>& values = queries::values_of(answer);
    folds::Gathered gathered{query->round, 1, folds::Tally{}, kLassoRecords};
    if (std::holds_alternative<queries::Selected>(answer)) {
      gathered.value = folds::Tally{{{static_cast<Eigen::Index>(values.front()), 1.0}}};
    } else {
      gathered.value = folds::Mean{Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(
                                       values.data(), static_cast<Eigen::Index>(values.size()))
                                       .cast<double>() *
                                   0x1p-40};
    }
    step = algorithm.advance(gathered).value();
  }
  return std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
}

}  // namespace undertone::tests
