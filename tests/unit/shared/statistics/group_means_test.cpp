#include "shared/statistics/group_means.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/base/random_source.hpp"

namespace undertone::statistics {
namespace {

/// Of (1, u, u^2 / sqrt 2), of which two records are sqrt(5) apart, at epsilon 4 and delta 1e-6.
GroupMomentsNoise noise_of_rows() {
  const double mu =
      accounting::gaussian_shift_for(*releases::Epsilon::create(4.0), *releases::Delta::create(1e-6)).value();
  return {5.0 / (mu * mu), 5.0 / (mu * mu), 10.0 / (mu * mu)};
}

TEST(GroupMeansTest, TheSpecsRowsOfTwoMeans) {
  // Rows 47 and 48: the statistic is printed as a number of deviations.
  const GroupMoments first{118, 21.5, 24.1};
  const GroupMoments second{77, -3.2, 19};
  const MeansTest test = test_means({second, first}, noise_of_rows());
  EXPECT_NEAR(std::sqrt(test.statistic), 2.704523, 2e-6);
  EXPECT_EQ(test.degrees, 1U);
  EXPECT_NEAR(test.p_value, std::erfc(2.704523 / std::sqrt(2.0)), 1e-7);
  const Stated difference = state_mean_difference(first, second, noise_of_rows(), *Confidence::create(0.95), true);
  EXPECT_NEAR(difference.population->low, 0.06187644, 1e-7);
  EXPECT_NEAR(difference.population->high, 0.3867552, 1e-7);
  EXPECT_NEAR(*difference.value, 21.5 / 118 + 3.2 / 77, 1e-12);
  EXPECT_TRUE(difference.noise.low > difference.population->low && difference.noise.high < difference.population->high);
}

TEST(GroupMeansTest, TheSpecsRowOfThreeMeans) {
  // Row 49.
  const MeansTest test = test_means({{118, 21.5, 44.1}, {77, -3.2, 39}, {60, 4, 22}}, noise_of_rows());
  EXPECT_NEAR(test.statistic, 4.397322, 1e-5);
  EXPECT_NEAR(test.common_mean, 0.1040591, 1e-6);
  EXPECT_FALSE(test.largest_variance);
  EXPECT_EQ(test.degrees, 2U);
  EXPECT_NEAR(test.p_value, std::exp(-0.5 * test.statistic), 1e-12);
}

TEST(GroupMeansTest, WithoutNoiseTheTestOfTwoIsWelchs) {
  const GroupMoments first{200, 30, 60};
  const GroupMoments second{100, -10, 40};
  const MeansTest test = test_means({first, second}, {});
  const auto variance = [](const GroupMoments& group) {
    return (group.square - group.sum * group.sum / group.count) / (group.count * group.count);
  };
  const double welch = (0.15 + 0.1) / std::sqrt(variance(first) + variance(second));
  EXPECT_NEAR(std::sqrt(test.statistic), welch, 1e-12);
}

TEST(GroupMeansTest, ASmallGroupHasNoValueAndADifferenceWithoutAnEndIsTheWholeRange) {
  const GroupMomentsNoise noise{100, 100, 200};
  const Stated stated = state_mean_difference({30, 3, 10}, {5, 1, 2}, noise, *Confidence::create(0.95), true);
  EXPECT_FALSE(stated.value);
  EXPECT_NE(stated.note.find("refused"), std::string::npos);
  EXPECT_EQ(stated.population->low, -2.0);
  EXPECT_EQ(stated.population->high, 2.0);
}

TEST(GroupMeansTest, NoTotalsBreakIt) {
  RandomSource random(3);
  for (int i = 0; i < 5000; ++i) {
    const double size = std::pow(10.0, 20.0 * random.unit() - 3.0);
    const auto any = [&] { return size * (2.0 * random.unit() - 1.0); };
    const GroupMomentsNoise noise{size * random.unit(), size * random.unit(), size * random.unit()};
    const std::vector<GroupMoments> groups{{any(), any(), any()}, {any(), any(), any()}, {any(), any(), any()}};
    const MeansTest three = test_means(groups, noise);
    ASSERT_TRUE(three.p_value >= 0.0 && three.p_value <= 1.0);
    const Stated stated = state_mean_difference(groups[0], groups[1], noise, *Confidence::create(0.9), true);
    ASSERT_LE(stated.population->low, stated.population->high);
    ASSERT_TRUE(stated.noise.low >= -2.0 && stated.noise.high <= 2.0);
  }
}

}  // namespace
}  // namespace undertone::statistics
