#include "shared/releases/influence_bound.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>

namespace undertone::releases {
namespace {

using statistics::smooth_truncation;

constexpr double kLargest = 2.0 * std::numbers::sqrt2 / 3.0;

double truncated(double u) {
  return std::abs(u) > std::numbers::sqrt2 ? std::copysign(kLargest, u) : u - u * u * u / 6.0;
}

/// The expectation by the midpoint rule.
double by_quadrature(double a, double b) {
  constexpr int kParts = 400'000;
  constexpr double kWidth = 20.0 / kParts;
  double sum = 0.0;
  for (int i = 0; i < kParts; ++i) {
    const double z = -10.0 + kWidth * (i + 0.5);
    sum += truncated(a + b * z) * std::exp(-0.5 * z * z);
  }
  return sum * kWidth / std::sqrt(2.0 * std::numbers::pi);
}

/// Source: spec heavy-tailed 2.2.
TEST(InfluenceTest, ReproducesTheSpecsVectors) {
  EXPECT_NEAR(smooth_truncation(0.3, 0.2), 0.2895000000, 1e-9);
  EXPECT_NEAR(smooth_truncation(1.2, 0.9), 0.6796354939, 1e-9);
  EXPECT_NEAR(smooth_truncation(-2.0, 1.5), -0.7355775897, 1e-9);
  EXPECT_NEAR(smooth_truncation(5.0, 0.7), 0.9428090385, 1e-9);
  EXPECT_NEAR(smooth_truncation(0.1, 3.0), 0.0245265221, 1e-9);
}

TEST(InfluenceTest, IsTheExpectationThatItIsSaidToBe) {
  for (const double a : {-3.0, -1.0, -0.01, 0.0, 0.5, 1.4, 1.5, 4.0})
    for (const double b : {0.05, 0.4, 1.0, 2.5})
      EXPECT_NEAR(smooth_truncation(a, b), by_quadrature(a, b), 1e-8) << a << " " << b;
  for (const double a : {0.0, 0.7, -1.3, 9.0}) EXPECT_DOUBLE_EQ(smooth_truncation(a, 0.0), truncated(a));
}

TEST(InfluenceTest, IsBoundedAndOddAtEveryExtreme) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const Influence influence : {Influence::Clip, Influence::Smooth}) {
    for (const double threshold : {1e-9, 0.3, 1.0, 1e9}) {
      const double most = threshold * largest_influence(influence) * (1.0 + 1e-15);
      for (const double x : {0.0, tiny, 1e-300, 1e-12, 0.1, 1.0, 1.5, 3.0, 1e3, 1e6, 1e154, 1e300}) {
        const double one = influence_of(influence, x, threshold);
        EXPECT_TRUE(std::isfinite(one));
        EXPECT_LE(std::abs(one), most);
        EXPECT_EQ(one, -influence_of(influence, -x, threshold)) << x;
        EXPECT_GE(one, 0.0);
        EXPECT_LE(one, x * (1.0 + 1e-9));
      }
    }
  }
}

/// The bound is attained in the limit, and no number is above it.
TEST(InfluenceTest, TheSmoothInfluenceIsAsLargeAsIsSaid) {
  const double most = largest_influence(Influence::Smooth);
  EXPECT_GE(most, kLargest * std::erf(std::sqrt(0.5)));
  double largest = 0.0;
  for (double u = 1e-3; u < 1e4; u *= 1.01) {
    const double before_the_clamp = smooth_truncation(u, u);
    if (u <= 300.0) {
      EXPECT_LE(before_the_clamp, most) << u;  // beyond the terms cancel
    }
    largest = std::max(largest, influence_of(Influence::Smooth, u, 1.0));
  }
  EXPECT_NEAR(largest, most, 1e-4);
}

TEST(InfluenceTest, IsContinuousWhereTheFormulaEnds) {
  for (const double at : {1e-9, 1000.0})
    EXPECT_NEAR(influence_of(Influence::Smooth, at * (1.0 - 1e-9), 1.0),
                influence_of(Influence::Smooth, at * (1.0 + 1e-9), 1.0), 1e-6);
}

TEST(InfluenceBoundTest, SaysWhatFollowsInL2) {
  const InfluenceBound clip = InfluenceBound::create(0.5, Influence::Clip, 1, 16).value();
  EXPECT_GE(clip.l2().value(), 2.0);
  EXPECT_NEAR(clip.l2().value(), 2.0, 1e-9);
  const InfluenceBound smooth = InfluenceBound::create(0.5, Influence::Smooth, 5, 16).value();
  EXPECT_NEAR(smooth.l2().value(), 2.0 * kLargest * std::erf(std::sqrt(0.5)), 1e-6);
  EXPECT_EQ(smooth.groups(), 5U);
}

TEST(InfluenceBoundTest, RefusesWhatIsNoBound) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double threshold : {0.0, -1.0, nan, HUGE_VAL})
    EXPECT_FALSE(InfluenceBound::create(threshold, Influence::Clip, 1, 3)) << threshold;
  for (const std::uint32_t groups : {0U, 2U, 4U, 256U, 257U})
    EXPECT_FALSE(InfluenceBound::create(1.0, Influence::Clip, groups, 3)) << groups;
  EXPECT_FALSE(InfluenceBound::create(1.0, Influence::Clip, 1, 0));
  EXPECT_FALSE(InfluenceBound::create(1e308, Influence::Clip, 1, 1'000'000));
}

}  // namespace
}  // namespace undertone::releases
