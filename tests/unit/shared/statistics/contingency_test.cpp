// Reference rows 43 to 46 and 50 of spec survival 10, and how often tests of tables hold.
#include "shared/statistics/contingency.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::statistics {
namespace {

const Confidence kTables95 = Confidence::create(0.95).value();

NoisedTable four(double a, double b, double c, double d, double records) {
  return noised_table(Eigen::Vector4d(a, b, c, d), records, *NoiseLaw::create({{LaplaceNoise{2.0, 1.0}, 1.0}}));
}

TEST(ContingencyTest, TheIntervalsOfRatiosAreTheSpecs) {
  const Stated odds = state_ratio(four(21.4, 33.1, 9.7, 44.2, 108), Ratio::Odds, kTables95, true);
  EXPECT_NEAR(odds.population->low, 1.067541, 2e-6);
  EXPECT_NEAR(odds.population->high, 25.82511, 5e-5);
  EXPECT_FALSE(odds.value);  // 9.7 is within four deviations of its noise
  const Stated wide = state_ratio(four(4, 33, 2, 44, 83), Ratio::Odds, kTables95, true);
  EXPECT_EQ(wide.population->low, 0.0);
  EXPECT_TRUE(std::isinf(wide.population->high));
  const Stated many = state_ratio(four(400, 600, 200, 800, 2000), Ratio::Risk, kTables95, true);
  EXPECT_DOUBLE_EQ(*many.value, 2.0);
  EXPECT_TRUE(many.noise.holds(2.0));
  EXPECT_LT(many.noise.half_width(), many.population->half_width());
}

TEST(ContingencyTest, WhateverTheCellsNothingIsNoNumber) {
  for (const double cell : {-50.0, -1.0, 0.0, 1e9}) {
    for (const Ratio ratio : {Ratio::Odds, Ratio::Risk}) {
      const Stated found = state_ratio(four(cell, 3, 0, 2, 10), ratio, kTables95, true);
      EXPECT_FALSE(std::isnan(found.population->low));
      EXPECT_FALSE(std::isnan(found.population->high));
      EXPECT_LE(found.population->low, found.population->high);
    }
  }
}

TEST(ContingencyTest, TheStatisticOfIndependenceIsTheSpecs) {
  Eigen::VectorXd cells(6);
  cells << 31, 20, 9, 14, 22, 27;
  const NoiseLaw law = *NoiseLaw::create({{LaplaceNoise{2.0, 1.0}, 1.0}});
  const Result<TestOutcome> test = independence_test(noised_table(cells, 120, law), law, 2, 3, 1, 999);
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_NEAR(test->statistic, 11.29833, 6e-5);
  EXPECT_EQ(test->degrees, 2U);
  const Result<TestOutcome> again = independence_test(noised_table(cells, 120, law), law, 2, 3, 1, 999);
  EXPECT_EQ(test->p_value, again->p_value);  // public draws are seeded
}

TEST(ContingencyTest, ATestThatNoiseDrownsIsRefused) {
  const NoiseLaw law = *NoiseLaw::create({{LaplaceNoise{20.0, 1.0}, 1.0}});
  Eigen::VectorXd cells(4);
  cells << 12, 5, 7, 9;
  EXPECT_FALSE(independence_test(noised_table(cells, 33, law), law, 2, 2, 1, 999));
}

/// Of many records the accepted ratios lie closer together than any scan's steps.
TEST(ContingencyTest, ManyRecordsMakeNarrowIntervals) {
  for (const double n : {1e4, 1e6, 1e8, 1e10}) {
    const NoisedTable table = four(0.2 * n, 0.3 * n, 0.15 * n, 0.35 * n, n);
    for (const Ratio ratio : {Ratio::Odds, Ratio::Risk}) {
      const double truth = ratio == Ratio::Odds ? 0.2 * 0.35 / (0.3 * 0.15) : 0.4 / 0.3;
      const Stated found = state_ratio(table, ratio, kTables95, true);
      EXPECT_NEAR(*found.value, truth, 1e-9);
      EXPECT_TRUE(found.noise.holds(truth)) << n;
      EXPECT_TRUE(found.population->holds(truth)) << n;
      EXPECT_LT(found.noise.half_width(), 100.0 * truth / n);
      EXPECT_LT(found.population->half_width(), 12.0 * truth / std::sqrt(n));
    }
  }
}

}  // namespace
}  // namespace undertone::statistics
