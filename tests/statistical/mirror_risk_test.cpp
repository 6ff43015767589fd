#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "shared/algorithms/mirror/mirror_descent.hpp"
#include "shared/algorithms/mirror/mirror_geometry.hpp"

namespace undertone {
namespace {

using algorithms::MirrorDescentSettings;
using geometry::MirrorMap;

constexpr std::uint64_t kRounds = 40;
constexpr Eigen::Index kRecords = 4000;
constexpr double kShift = 2.0;      // of all rounds together
constexpr double kLargest = 2.0;    // L: |<a, x> - y| <= 2 in the unit l1 ball
constexpr double kCurvature = 1.0;  // of the population's risk

/// G1 of spec non-euclidean: a in {-1, 1}^d, y = <a, x*> + U[-0.1, 0.1], x* = (0.5, -0.25, 0.15, 0, ...), least squares
/// over the unit l1 ball. Each coordinate of a record's gradient is at most 2, the gradient itself up to 2 sqrt d long.
struct SparseRegression {
  Eigen::MatrixXd records;  // [d, n]
  Eigen::VectorXd targets;
  Eigen::VectorXd truth;

  SparseRegression(Eigen::Index dimension, std::mt19937_64& random)
      : records(dimension, kRecords), targets(kRecords), truth(Eigen::VectorXd::Zero(dimension)) {
    truth.head(3) << 0.5, -0.25, 0.15;
    for (double& value : records.reshaped()) value = (random() & 1U) != 0 ? 1.0 : -1.0;
    std::uniform_real_distribution<double> error(-0.1, 0.1);
    targets = records.transpose() * truth;
    for (double& target : targets) target += error(random);
  }
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::VectorXd& x) const {
    const Eigen::VectorXd residuals = records.transpose() * x - targets;
    return records * residuals / static_cast<double>(kRecords);
  }
  /// Of the population: E <a, x - x*>^2/2.
  [[nodiscard]] double excess(const Eigen::VectorXd& x) const { return 0.5 * kCurvature * (x - truth).squaredNorm(); }
};

/// The noise on a coordinate of one round's mean: 2 L sqrt d in l2 over n records, shift/sqrt T each.
double noise_stddev(Eigen::Index dimension) {
  return 2.0 * kLargest * std::sqrt(static_cast<double>(dimension)) * std::sqrt(static_cast<double>(kRounds)) /
         (static_cast<double>(kRecords) * kShift);
}

/// Runs with the step that makes the bound least, for gradients of this norm in the map's dual norm.
double excess_of(const MirrorMap& map, double norm, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Eigen::Index d = map.dimension();
  const SparseRegression data(d, random);
  const double stddev = noise_stddev(d);
  const double squared = algorithms::noisy_gradient_squared(algorithms::dual_exponent(map), d, norm, stddev * stddev);
  algorithms::Problem problem;
  problem.dimension = d;
  problem.domain = geometry::Domain::l1_ball(1.0).value();
  const double step =
      std::sqrt(2.0 * map.strong_convexity() * *map.divergence_max() / (static_cast<double>(kRounds) * squared));
  const auto algorithm = algorithms::Method(MirrorDescentSettings{problem, map, kRounds, step})->make().value();
  std::normal_distribution<double> normal(0.0, stddev);
  algorithms::Step next = algorithm->start();
  while (const auto* query = std::get_if<queries::Query>(&next)) {
    Eigen::VectorXd mean = data.gradient(queries::point_of(query->question));
    for (double& value : mean) value += normal(random);
    next = algorithm->advance({query->round, 1, folds::Mean{mean}, kRecords}).value();
  }
  return data.excess(std::get<algorithms::Finished>(next).outcome.vectors.at("weights"));
}

double mean_excess(const std::function<MirrorMap(Eigen::Index)>& map, double exponent, Eigen::Index dimension) {
  const double d = static_cast<double>(dimension);
  double sum = 0.0;
  for (const std::uint64_t seed : {1U, 2U, 3U})
    sum += excess_of(map(dimension), kLargest * std::pow(d, exponent), seed);
  return sum / 3.0;
}

TEST(MirrorRiskTest, TheWiderTheModelTheMoreItsGeometryGains) {
  // At equal noise a Euclidean step is as short as the noise's length sqrt d asks for, a mirror step as its largest
  // coordinate sqrt(2 ln d) does: the source's rates differ by sqrt(d / ln d).
  const auto entropy = [](Eigen::Index d) { return MirrorMap(geometry::LiftedEntropyMap::create(1.0, d).value()); };
  const auto p_norm = [](Eigen::Index d) {
    return MirrorMap(geometry::PNormMap::create(1.0, geometry::L1Ball{1.0}, d).value());
  };
  const auto euclidean = [](Eigen::Index d) {
    return MirrorMap(geometry::EuclideanMap(geometry::Domain::l1_ball(1.0).value(), d));
  };
  // Of three seeds each, fixed: Euclidean 0.043 and 0.140, p-norm 0.094 and 0.123, entropy 0.086 and 0.159; the start's
  // is 0.1675. A step that ignores the geometry, or a bound in the wrong norm, puts the curves on top of one another.
  const double narrow = mean_excess(euclidean, 0.5, 16);
  const double wide = mean_excess(euclidean, 0.5, 1024);
  EXPECT_GT(wide, 2.5 * narrow);
  EXPECT_LT(mean_excess(p_norm, 0.0, 1024), 1.6 * mean_excess(p_norm, 0.0, 16));
  EXPECT_LT(mean_excess(entropy, 0.0, 1024), 2.2 * mean_excess(entropy, 0.0, 16));
  // In few dimensions the l2 norm is the better one.
  EXPECT_LT(narrow, 0.7 * mean_excess(p_norm, 0.0, 16));
  EXPECT_LT(mean_excess(p_norm, 0.0, 1024), 0.95 * wide);
}

}  // namespace
}  // namespace undertone
