#include "shared/theorems/mean_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "shared/base/random_source.hpp"

namespace undertone::theorems {
namespace {

constexpr double kCoordinates = 12.0;

MeanOracle of_coordinates(const MomentBound& moment, releases::Influence influence, std::uint32_t groups = 1) {
  return {moment, kCoordinates, CoordinateMeans{influence, groups}};
}

/// Of a number with P(X > t) = t^-a for t >= 1: E psi(X) by the midpoint rule in -ln P.
double mean_of_pareto(double index, const std::function<double(double)>& of) {
  constexpr int kParts = 200'000;
  constexpr double kDeepest = 36.0;  // of a probability e^-36 nothing is left
  double sum = 0.0;
  for (int i = 0; i < kParts; ++i) {
    const double depth = kDeepest * (i + 0.5) / kParts;
    sum += of(std::exp(depth / index)) * std::exp(-depth);
  }
  return sum * kDeepest / kParts;
}

/// Source: spec heavy-tailed 6: the law is one-sided, since a symmetric one has no bias and tests nothing.
TEST(MeanOracleTest, NoInfluencesBiasExceedsWhatIsSaidOfIt) {
  for (const auto influence : {releases::Influence::Clip, releases::Influence::Smooth}) {
    for (const double index : {2.5, 3.5, 4.5}) {
      for (const double order : {2.0, 2.4, 3.0, 4.0}) {
        if (order >= index) continue;
        const MomentBound moment{order, std::pow(index / (index - order), 1.0 / order)};
        const double mean = index / (index - 1.0);
        for (const double threshold : {1.0, 3.0, 10.0, 40.0}) {
          const double cut =
              mean_of_pareto(index, [&](double x) { return releases::influence_of(influence, x, threshold); });
          const double bias = std::sqrt(kCoordinates) * (mean - cut);
          EXPECT_LE(bias, of_coordinates(moment, influence).bias(threshold) * (1.0 + 1e-6))
              << index << " " << order << " " << threshold;
        }
      }
    }
  }
}

/// What is bounded is E |X - psi(X)| of any law, so that one point of it is as bad as the bound allows.
TEST(MeanOracleTest, TheSmoothBiasIsOfEveryPoint) {
  for (const double order : {2.0, 2.5, 3.0})
    for (double u = 1e-3; u < 1e4; u *= 1.02) {
      const double off = u - releases::influence_of(releases::Influence::Smooth, u, 1.0);
      const double bound = of_coordinates({order, u}, releases::Influence::Smooth).bias(1.0) / std::sqrt(kCoordinates);
      ASSERT_LE(off, bound * (1.0 + 1e-9)) << u;
    }
}

TEST(MeanOracleTest, TheBalancedThresholdIsTheLeastOfItsBound) {
  constexpr double kSignal = 400.0;
  const MomentBound moment{4.0, 3.0};
  std::vector<MeanOracle> oracles = {{moment, kCoordinates}};
  for (const auto influence : {releases::Influence::Clip, releases::Influence::Smooth})
    for (const std::uint32_t groups : {1U, 9U}) oracles.push_back(of_coordinates(moment, influence, groups));
  for (const MeanOracle& oracle : oracles) {
    const auto error = [&](double threshold) {
      const double noise = 2.0 * oracle.reach(threshold) / kSignal;
      return std::pow(oracle.bias(threshold), 2) + kCoordinates * oracle.noise_growth() * noise * noise;
    };
    const double best = oracle.balanced_threshold(kSignal);
    for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) EXPECT_LT(error(best), error(factor * best));
  }
  EXPECT_NEAR(oracles.front().balanced_threshold(kSignal), balanced_clip(moment, kSignal, kCoordinates), 1e-12);
}

/// The median of groups varies more than the mean of all by no more than is said, with noise and records that are
/// Gaussian.
TEST(MeanOracleTest, AMedianOfGroupsVariesByNoMoreThanItsGrowth) {
  RandomSource random(11);
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
  };
  for (const std::uint32_t groups : {3U, 9U, 31U}) {
    const MeanOracle oracle = of_coordinates({2.0, 1.0}, releases::Influence::Clip, groups);
    constexpr int kRuns = 40'000;
    double squares = 0.0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> means(groups);
      for (double& mean : means) mean = std::sqrt(static_cast<double>(groups)) * normal();  // of fewer records
      std::nth_element(means.begin(), means.begin() + groups / 2, means.end());
      squares += means[groups / 2] * means[groups / 2];
    }
    // A mean of all records would have a variance of 1. Five standard errors.
    const double growth = squares / kRuns;
    EXPECT_LE(growth, oracle.draw_growth() * (1.0 + 5.0 * std::sqrt(2.0 / kRuns)));
    EXPECT_DOUBLE_EQ(oracle.noise_growth(), groups * oracle.draw_growth());
  }
}

TEST(MeanOracleTest, AMomentOfCoordinatesBoundsOneOfNorms) {
  const MeanOracle oracle = of_coordinates({4.0, 0.5}, releases::Influence::Clip);
  EXPECT_DOUBLE_EQ(oracle.of_norms().bound, 0.5 * std::sqrt(kCoordinates));
  EXPECT_DOUBLE_EQ(oracle.reach(2.0), 2.0 * std::sqrt(kCoordinates));
  EXPECT_DOUBLE_EQ(MeanOracle({4.0, 0.5}, kCoordinates).of_norms().bound, 0.5);
}

}  // namespace
}  // namespace undertone::theorems
