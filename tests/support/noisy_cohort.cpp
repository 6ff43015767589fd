#include "tests/support/noisy_cohort.hpp"

#include <algorithm>
#include <cmath>

#include "shared/algorithms/algorithm_driver.hpp"
#include "shared/noise/rounded_gaussian.hpp"

namespace undertone::tests {
namespace {

constexpr int kFinest = 40;  // one standard deviation is 2^40 steps

}  // namespace

double NormalSource::next() {
  std::int64_t drawn = 0;
  noise::fill_rounded_gaussian(words_, kFinest, {&drawn, 1});
  return std::ldexp(static_cast<double>(drawn), -kFinest);
}

void NormalSource::add(double stddev, Eigen::Ref<Eigen::VectorXd> vector) {
  if (stddev == 0.0) return;
  for (Eigen::Index j = 0; j < vector.size(); ++j) vector[j] += stddev * next();
}

Eigen::VectorXd NoisyCohort::answer(const queries::Query& query, const SiloObjective& silo) {
  const Eigen::VectorXd& points = queries::point_of(query.question);
  if (std::holds_alternative<queries::GradientQuestion>(query.question)) {
    Eigen::VectorXd out = silo.gradient(points);
    const std::vector<double>& of_round = setup_.gradient_of_round;
    normals_.add(of_round.empty() ? setup_.noise.gradient : of_round.at(query.round.value), out);
    return out;
  }
  UNDERTONE_CHECK(std::holds_alternative<queries::GradientDifferenceQuestion>(query.question));
  const Eigen::Index d = problem_->problem.dimension;
  const Eigen::VectorXd at = points.head(d);
  const Eigen::VectorXd from = points.tail(d);
  Eigen::VectorXd out = silo.gradient(at) - silo.gradient(from);
  double stddev = setup_.noise.difference;
  if (setup_.noise.per_distance) stddev = std::min(stddev, *setup_.noise.per_distance * (at - from).norm());
  normals_.add(stddev, out);
  return out;
}

folds::Gathered NoisyCohort::ask(const queries::Query& query) {
  const std::size_t all = problem_->silos.size();
  std::vector<std::size_t> asked = choice_.permutation(all);
  if (setup_.answering != 0) asked.resize(setup_.answering);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(problem_->problem.dimension);
  for (const std::size_t i : asked) mean += answer(query, problem_->silos[i]);
  mean /= static_cast<double>(asked.size());
  return {query.round, static_cast<Eigen::Index>(asked.size()), folds::Mean{std::move(mean)}};
}

Eigen::VectorXd NoisyCohort::train(algorithms::FederatedAlgorithm& algorithm, const Watch& watch) {
  const auto answers = [this](const queries::Query& query) -> Result<folds::Gathered> { return ask(query); };
  return algorithms::AlgorithmDriver(algorithm)
      .finish(answers,
              [&](RoundIndex, const algorithms::FederatedAlgorithm& running) {
                if (watch) watch(running);
              })
      .value()
      .vectors.at("weights");
}

}  // namespace undertone::tests
