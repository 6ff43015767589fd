// Reference rows 43 to 46 and 50 of spec survival 10, and how often tests of tables hold.
#include "shared/statistics/contingency.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace undertone::statistics {
namespace {

const Confidence kTables95 = Confidence::create(0.95).value();

NoisedTable four(double a, double b, double c, double d, double records) {
  return noised_table(Eigen::Vector4d(a, b, c, d), records, *NoiseLaw::create({{LaplaceNoise{2.0, 1.0}, 1.0}}));
}

TEST(ContingencyTest, TheIntervalsOfRatiosAreTheSpecs) {
  const Stated odds = state_ratio(std::vector{four(21.4, 33.1, 9.7, 44.2, 108)}, Ratio::Odds, kTables95, true);
  EXPECT_NEAR(odds.population->low, 1.067541, 2e-6);
  EXPECT_NEAR(odds.population->high, 25.82511, 5e-5);
  EXPECT_FALSE(odds.value);  // 9.7 is within four deviations of its noise
  const Stated wide = state_ratio(std::vector{four(4, 33, 2, 44, 83)}, Ratio::Odds, kTables95, true);
  EXPECT_EQ(wide.population->low, 0.0);
  EXPECT_TRUE(std::isinf(wide.population->high));
  const Stated many = state_ratio(std::vector{four(400, 600, 200, 800, 2000)}, Ratio::Risk, kTables95, true);
  EXPECT_DOUBLE_EQ(*many.value, 2.0);
  EXPECT_TRUE(many.noise.holds(2.0));
  EXPECT_LT(many.noise.half_width(), many.population->half_width());
}

TEST(ContingencyTest, WhateverTheCellsNothingIsNoNumber) {
  for (const double cell : {-50.0, -1.0, 0.0, 1e9}) {
    for (const Ratio ratio : {Ratio::Odds, Ratio::Risk}) {
      const Stated found = state_ratio(std::vector{four(cell, 3, 0, 2, 10)}, ratio, kTables95, true);
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
  const Result<TestOutcome> test =
      independence_test(std::vector{Stratum{noised_table(cells, 120, law), law}}, 2, 3, 1, 999);
  ASSERT_TRUE(test) << test.error().message;
  EXPECT_NEAR(test->statistic, 11.29833, 6e-5);
  EXPECT_EQ(test->degrees, 2U);
  const Result<TestOutcome> again =
      independence_test(std::vector{Stratum{noised_table(cells, 120, law), law}}, 2, 3, 1, 999);
  EXPECT_EQ(test->p_value, again->p_value);  // public draws are seeded
}

TEST(ContingencyTest, ATestThatNoiseDrownsIsRefused) {
  const NoiseLaw law = *NoiseLaw::create({{LaplaceNoise{20.0, 1.0}, 1.0}});
  Eigen::VectorXd cells(4);
  cells << 12, 5, 7, 9;
  EXPECT_FALSE(independence_test(std::vector{Stratum{noised_table(cells, 33, law), law}}, 2, 2, 1, 999));
}

/// Of many records the accepted ratios lie closer together than any scan's steps.
TEST(ContingencyTest, ManyRecordsMakeNarrowIntervals) {
  for (const double n : {1e4, 1e6, 1e8, 1e10}) {
    const NoisedTable table = four(0.2 * n, 0.3 * n, 0.15 * n, 0.35 * n, n);
    for (const Ratio ratio : {Ratio::Odds, Ratio::Risk}) {
      const double truth = ratio == Ratio::Odds ? 0.2 * 0.35 / (0.3 * 0.15) : 0.4 / 0.3;
      const Stated found = state_ratio(std::vector{table}, ratio, kTables95, true);
      EXPECT_NEAR(*found.value, truth, 1e-9);
      EXPECT_TRUE(found.noise.holds(truth)) << n;
      EXPECT_TRUE(found.population->holds(truth)) << n;
      EXPECT_LT(found.noise.half_width(), 100.0 * truth / n);
      EXPECT_LT(found.population->half_width(), 12.0 * truth / std::sqrt(n));
    }
  }
}

/// Two silos that differ in both columns, which neither of them connects: added up they would be connected (Simpson).
TEST(ContingencyTest, SilosThatDifferMakeNoConnection) {
  const NoisedTable one = four(640, 160, 160, 40, 1000);  // four in five, and four in five
  const NoisedTable other = four(40, 160, 160, 640, 1000);
  const NoisedTable sum = four(680, 320, 320, 680, 2000);
  const std::vector<NoisedTable> apart{one, other};
  for (const Ratio ratio : {Ratio::Odds, Ratio::Risk}) {
    const Stated within = state_ratio(apart, ratio, kTables95, true);
    EXPECT_NEAR(*within.value, 1.0, 1e-12);
    EXPECT_TRUE(within.population->holds(1.0));
    EXPECT_FALSE(state_ratio(std::vector{sum}, ratio, kTables95, true).population->holds(1.0));
  }
  const NoiseLaw law = *NoiseLaw::create({{LaplaceNoise{2.0, 1.0}, 1.0}});
  const std::vector<Stratum> strata{{one, law}, {other, law}};
  const Result<TestOutcome> within = independence_test(strata, 2, 2, 1, 999);
  ASSERT_TRUE(within);
  EXPECT_EQ(within->degrees, 2U);
  EXPECT_GT(within->p_value, 0.5);
  EXPECT_LT(independence_test(std::vector{Stratum{sum, law}}, 2, 2, 1, 999)->p_value, 0.01);
}

/// One stratum twice has the same ratio with half of the variance, where noise has no heavier tails that even out.
TEST(ContingencyTest, StrataAddUp) {
  NoisedTable table = four(400, 600, 200, 800, 2000);
  table.fourth_cumulant = 0.0;
  const Stated once = state_ratio(std::vector{table}, Ratio::Odds, kTables95, true);
  const Stated twice = state_ratio(std::vector{table, table}, Ratio::Odds, kTables95, true);
  EXPECT_DOUBLE_EQ(*once.value, *twice.value);
  const auto width = [](const Interval& interval) { return std::log(interval.high / interval.low); };
  EXPECT_NEAR(width(*once.population) / width(*twice.population), std::sqrt(2.0), 0.01);
  EXPECT_NEAR(width(once.noise) / width(twice.noise), std::sqrt(2.0), 0.01);
}

}  // namespace
}  // namespace undertone::statistics
