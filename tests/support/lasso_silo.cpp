#include "tests/support/lasso_silo.hpp"

#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <numbers>
#include <variant>
#include <vector>

#include "shared/base/random_source.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "silo/oracles/test_randomness.hpp"

namespace undertone::tests {
namespace {

constexpr double kCauchyScale = 0.2;

/// Vectors of {-1, 1}^d: [d, count].
Eigen::MatrixXd sign_vectors(Eigen::Index d, Eigen::Index count, RandomSource& random) {
  Eigen::MatrixXd out(d, count);
  std::uint64_t bits = 0;
  int left = 0;
  for (double& number : out.reshaped()) {
    if (left-- == 0) {
      bits = random.word();
      left = 63;
    }
    number = (bits & 1U) != 0 ? 1.0 : -1.0;
    bits >>= 1U;
  }
  return out;
}

template <class Error>
data::Dataset regression(Eigen::Index d, std::uint64_t seed, std::int64_t records, const Error& error) {
  RandomSource random(seed);
  data::Dataset out;
  out.training.features = sign_vectors(d, records, random);
  out.training.targets = out.training.features.transpose() * lasso_optimum(d);
  for (double& target : out.training.targets) target += error(random);
  return out;
}

/// One silo of a run, with what it keeps between answers.
struct Answering {
  const LassoSilo* silo;
  SiloId id;
  std::unique_ptr<silo::TestRandomness> randomness;
  silo::RecordPlaces places;
  std::unique_ptr<silo::RecordSums> sums;
};

}  // namespace

Eigen::VectorXd lasso_optimum(Eigen::Index d) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(d);
  out.head(3) << 0.5, -0.25, 0.15;
  return out;
}

data::Dataset lasso_dataset(Eigen::Index d, std::uint64_t seed, std::int64_t records) {
  return regression(d, seed, records, [](RandomSource& random) { return 0.2 * random.unit() - 0.1; });
}

data::Dataset heavy_lasso_dataset(Eigen::Index d, std::uint64_t seed, std::int64_t records) {
  return regression(d, seed, records, [](RandomSource& random) {
    return kCauchyScale * std::tan(std::numbers::pi * (random.unit() - 0.5));
  });
}

double heavy_lasso_excess(const Eigen::VectorXd& point) {
  constexpr Eigen::Index kDrawn = 16384;
  RandomSource random(77);
  const Eigen::MatrixXd vectors = sign_vectors(point.size(), kDrawn, random);
  const Eigen::VectorXd errors = vectors.transpose() * (point - lasso_optimum(point.size()));
  // The derivative of E |u + c| in u is P(c > -u) - P(c < -u) = (2/pi) atan(u/scale).
  double sum = 0.0;
  for (const double u : errors) {
    const double ratio = u / kCauchyScale;
    sum += 2.0 / std::numbers::pi * (u * std::atan(ratio) - 0.5 * kCauchyScale * std::log1p(ratio * ratio));
  }
  return sum / static_cast<double>(kDrawn);
}

Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm, std::span<const LassoSilo> silos,
                                 std::uint64_t seed, bool noise, models::Loss loss) {
  const RunId run{sha256(fmt::format("tree {}", seed)), {}};
  const models::LinearModel model(loss, silos.front().dataset->training.features.rows(), false);
  std::vector<Answering> answering;
  for (const LassoSilo& silo : silos) {
    const SiloId id = SiloId::create(fmt::format("one{}", answering.size())).value();
    auto randomness = std::make_unique<silo::TestRandomness>(seed, id);
    silo::RecordPlaces places = silo::RecordPlaces::permuted(
        randomness->permutation({run, releases::Block::Training, {}}, silo.dataset->training.count()));
    answering.push_back({&silo, id, std::move(randomness), std::move(places), silo::make_record_sums(model)});
  }
  const queries::WireLattice wire{queries::ReplyType::I64, -40};
  algorithms::Step step = algorithm.start();
  while (const auto* query = std::get_if<queries::Query>(&step)) {
    folds::Gathered gathered{query->round, static_cast<Eigen::Index>(silos.size()), folds::Tally{}, 0};
    const double share = 1.0 / static_cast<double>(silos.size());
    for (Answering& one : answering) {
      const planning::Release& release = *one.silo->plan->release(query->round);
      const auto stream = noise ? one.randomness->stream(run, query->round)
                                : silo::NoiselessRandomness(seed, one.id).stream(run, query->round);
      const queries::Answer answer =
          silo::draw_and_sum(*query, release, {*one.silo->dataset, one.places}, one.sums.get(), wire, *stream);
      const std::vector<std::int64_t>& values = queries::values_of(answer);
      gathered.records += one.silo->dataset->training.count();
      if (std::holds_alternative<queries::Selected>(answer)) {
        std::get<folds::Tally>(gathered.value).votes[static_cast<Eigen::Index>(values.front())] += share;
        continue;
      }
      const Eigen::VectorXd mean = share * 0x1p-40 *
                                   Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(
                                       values.data(), static_cast<Eigen::Index>(values.size()))
                                       .cast<double>();
      if (auto* sum = std::get_if<folds::Mean>(&gathered.value))
        sum->values += mean;
      else
        gathered.value = folds::Mean{mean};
    }
    step = algorithm.advance(gathered).value();
  }
  return std::get<algorithms::Finished>(step).outcome.vectors.at("weights");
}

Eigen::VectorXd end_of_lasso_run(algorithms::FederatedAlgorithm& algorithm, const planning::Plan& plan,
                                 const data::Dataset& dataset, std::uint64_t seed, bool noise) {
  const LassoSilo one{&plan, &dataset};
  return end_of_lasso_run(algorithm, std::span(&one, 1), seed, noise);
}

}  // namespace undertone::tests
