#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/models/public_loss.hpp"
#include "tests/support/fitted_slope.hpp"

/// Theorem 23/87 of the source: one pass over public records, convex and strongly convex. Spec public-data 5.1, 11.
namespace undertone::models {
namespace {

constexpr Eigen::Index kFeatures = 5;
constexpr double kRadius = 1.0;
// |<w, x> - y| <= 1 + 1 + 1/2 for |w|, |w*| <= 1, |x| = 1 and |u| <= 1/2.
constexpr double kLipschitz = 2.5;

/// Features of length 1, uncorrelated: E x x^T = I / d.
PublicLoss drawn(std::uint64_t seed, Eigen::Index count) {
  RandomSource random(seed);
  Records records{Eigen::MatrixXd(kFeatures, count), Eigen::VectorXd(count)};
  const double each = 1.0 / std::sqrt(static_cast<double>(kFeatures));
  for (Eigen::Index j = 0; j < count; ++j) {
    for (Eigen::Index f = 0; f < kFeatures; ++f) records.features(f, j) = random.chance(0.5) ? each : -each;
    records.targets[j] = records.features.col(j).sum() * each + random.unit() - 0.5;  // w* of length 1
  }
  return PublicLoss::create(LinearModel(Loss::LeastSquares, kFeatures, false), records).value();
}

/// E F(w) - F at its minimum over the ball, F with the ridge, mean over seeds.
double excess(Eigen::Index count, double ridge) {
  constexpr int kSeeds = 60;
  const double curvature = 1.0 / static_cast<double>(kFeatures);
  const Eigen::VectorXd truth = Eigen::VectorXd::Constant(kFeatures, 1.0 / std::sqrt(static_cast<double>(kFeatures)));
  const Eigen::VectorXd best = truth * curvature / (curvature + ridge);
  double sum = 0.0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Eigen::VectorXd found =
        drawn(static_cast<std::uint64_t>(seed) + 1, count)
            .one_pass(*geometry::L2Ball::create(kRadius), kLipschitz + ridge * kRadius, ridge);
    sum += (curvature + ridge) / 2.0 * (found - best).squaredNorm() / kSeeds;
  }
  return sum;
}

TEST(ThrowAwayTest, OnePassKeepsItsTheoremsBoundAndSlope) {
  for (const double ridge : {0.0, 0.2}) {
    SCOPED_TRACE(ridge);
    std::vector<double> counts;
    std::vector<double> excesses;
    const double length = kLipschitz + ridge * kRadius;
    for (const Eigen::Index count : {100, 400, 1600, 6400}) {
      const auto n = static_cast<double>(count);
      const double found = excess(count, ridge);
      EXPECT_LE(found,
                ridge > 0.0 ? 2.0 * length * length / (ridge * (n + 1.0)) : 2.0 * kRadius * length / std::sqrt(n));
      counts.push_back(std::log(n));
      excesses.push_back(std::log(found));
    }
    // -1/2 and -1 or steeper: the mean over 60 seeds varies by less than a tenth of itself.
    EXPECT_LT(tests::slope(counts, excesses), ridge > 0.0 ? -0.85 : -0.4);
  }
}

}  // namespace
}  // namespace undertone::models
