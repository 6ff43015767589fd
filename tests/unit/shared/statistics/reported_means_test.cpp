#include "shared/statistics/reported_means.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace undertone::statistics {
namespace {

const Confidence kOfReports95 = Confidence::create(0.95).value();

Stated stated(const std::vector<ReportedTotal>& silos, Reporting reporting = {}, bool sampling = true) {
  return state_reported_mean(silos, reporting, kOfReports95, sampling).value();
}

/// P[so many ones], of bits of a uniform draw of k of the records, whose chances of a one are given: by the numbers of
/// records drawn and of ones, record by record.
std::vector<double> law_of_ones(const std::vector<double>& chances, std::size_t drawn) {
  const std::size_t n = chances.size();
  std::vector<std::vector<double>> subsets(drawn + 1, std::vector<double>(drawn + 1, 0.0));  // by drawn, ones
  subsets[0][0] = 1.0;
  for (const double p : chances) {
    for (std::size_t k = drawn; k >= 1; --k) {
      for (std::size_t ones = k + 1; ones-- > 0;) {
        subsets[k][ones] += subsets[k - 1][ones] * (1.0 - p) + (ones > 0 ? subsets[k - 1][ones - 1] * p : 0.0);
      }
    }
  }
  double count = 1.0;  // n over k
  for (std::size_t i = 0; i < drawn; ++i) count *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  std::vector<double> out = subsets[drawn];
  for (double& p : out) p /= count;
  return out;
}

/// How often the interval for the records holds their mean, exactly.
double coverage(const std::vector<double>& shares, double contrast, std::size_t drawn) {
  std::vector<double> chances;
  chances.reserve(shares.size());
  for (const double share : shares) chances.push_back(0.5 * (1.0 - contrast) + contrast * share);
  const std::vector<double> law = law_of_ones(chances, drawn);
  EXPECT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1.0, 1e-9);
  const double mean = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  double out = 0.0;
  for (std::size_t ones = 0; ones < law.size(); ++ones) {
    const ReportedBits bits{static_cast<std::int64_t>(drawn), static_cast<std::int64_t>(ones), contrast};
    if (stated({bits}, {drawn < shares.size(), 0.0}).noise.holds(mean)) out += law[ones];
  }
  return out;
}

TEST(ReportedMeansTest, BitsAreUnbiasedAndNeverCut) {
  // (30 / 100 - 0.25) / 0.5 = 0.1
  EXPECT_NEAR(*stated({ReportedBits{100, 30, 0.5}}).value, 0.1, 1e-12);
  EXPECT_NEAR(*stated({ReportedBits{100, 0, 0.5}}).value, -0.5, 1e-12);
  EXPECT_EQ(stated({ReportedBits{100, 0, 0.5}}).noise.low, 0.0);
  // 1 / (2 c sqrt(n))
  EXPECT_NEAR(stated({ReportedBits{100, 30, 0.5}}).noise_stddev, 0.1, 1e-12);
}

TEST(ReportedMeansTest, AlikeCoinsHaveClopperAndPearsonsInterval) {
  // Of 0 ones of 10 alike coins: p <= 1 - 0.025^(1/10) = 0.3084971; the share is (p - 0.05) / 0.9.
  const Stated none = stated({ReportedBits{10, 0, 0.9}});
  ASSERT_TRUE(none.population.has_value());
  EXPECT_EQ(none.population->low, 0.0);
  EXPECT_NEAR(none.population->high, (1.0 - std::pow(0.025, 0.1) - 0.05) / 0.9, 1e-9);
  EXPECT_EQ(none.method, Method::Exact);
  // Over these records one more is allowed for, and over two silos that may differ.
  EXPECT_GT(none.noise.high, none.population->high);
  const Stated two = stated({ReportedBits{5, 0, 0.9}, ReportedBits{5, 0, 0.9}});
  EXPECT_EQ(two.population->high, two.noise.high);
  EXPECT_EQ(two.noise.high, none.noise.high);
}

TEST(ReportedMeansTest, CoversTheRecordsMeanWhateverTheyAre) {
  // Alike records, the two kinds that are farthest from alike, and mixtures; every one of them or a secret part.
  for (const double contrast : {0.1, 0.4621, 0.9}) {
    for (const std::size_t n : {std::size_t{3}, std::size_t{20}, std::size_t{61}}) {
      for (const double ones : {0.0, 0.05, 0.3, 0.5, 1.0}) {
        std::vector<double> extreme(n, 0.0);
        std::fill_n(extreme.begin(), static_cast<std::size_t>(ones * static_cast<double>(n)), 1.0);
        std::vector<double> spread(n);
        for (std::size_t i = 0; i < n; ++i)
          spread[i] = std::pow(static_cast<double>(i) / static_cast<double>(n), 1.0 + ones);
        for (const std::vector<double>& shares : {extreme, spread, std::vector<double>(n, ones)}) {
          for (const std::size_t drawn : {n, n / 2 + 1, n / 3}) {
            SCOPED_TRACE(fmt::format("contrast {} n {} ones {} drawn {}", contrast, n, ones, drawn));
            EXPECT_GE(coverage(shares, contrast, drawn), 0.95);
          }
        }
      }
    }
  }
}

TEST(ReportedMeansTest, NoisedNumbersAreCoveredByTheirOwnLaw) {
  // Discrete Laplace noise of scale b steps on each of n numbers: the law of the sum by convolution.
  for (const double scale : {0.5, 4.0}) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{30}}) {
      SCOPED_TRACE(fmt::format("scale {} n {}", scale, n));
      constexpr std::size_t kReach = 400;
      std::vector<double> one(2 * kReach + 1);
      for (std::size_t i = 0; i < one.size(); ++i)
        one[i] =
            std::tanh(0.5 / scale) * std::exp(-std::abs(static_cast<double>(i) - static_cast<double>(kReach)) / scale);
      std::vector<double> law = one;
      for (std::size_t k = 1; k < n; ++k) {
        std::vector<double> next(one.size(), 0.0);
        for (std::size_t i = 0; i < law.size(); ++i)
          for (std::size_t j = 0; j < one.size(); ++j) {
            const std::size_t at = i + j;
            if (at >= kReach && at - kReach < next.size()) next[at - kReach] += law[i] * one[j];
          }
        law = std::move(next);
      }
      // The records' numbers are 1/2, of a range of 1024 steps: nothing is cut.
      const double step = 1.0 / 1024.0;
      const auto reports = static_cast<double>(n);
      double covered = 0.0;
      for (std::size_t i = 0; i < law.size(); ++i) {
        const double noise = (static_cast<double>(i) - static_cast<double>(kReach)) * step;
        const ReportedNumbers numbers{static_cast<std::int64_t>(n), 0.5 * reports + noise, {scale, step}};
        if (stated({numbers}, {}, false).noise.holds(0.5)) covered += law[i];
      }
      EXPECT_GE(covered, 0.95);
      EXPECT_LE(covered, 0.9999);  // and the bound is no more than Chernoff's
    }
  }
}

TEST(ReportedMeansTest, ChernoffsWidthIsNearThatOfANormalSum) {
  // sqrt(2 ln(2 / 0.05)) = 2.716 standard deviations of the noise, for many reports.
  const ReportedNumbers numbers{100'000, 50'000.0, {40.0, 0.01}};
  const Stated one = stated({numbers}, {}, false);
  EXPECT_NEAR(one.noise.half_width() / one.noise_stddev, std::sqrt(2.0 * std::log(40.0)), 0.01);
  EXPECT_FALSE(one.population.has_value());
  // Which records they are, and what they are drawn from, adds to it.
  EXPECT_GT(stated({numbers}, {true, 0.0}).noise.half_width(), one.noise.half_width());
  EXPECT_GT(stated({numbers}).population->half_width(), one.noise.half_width());
  // Contrasts that differ: Hoeffding's, sqrt(ln(40) / 2 x sum of n / c^2) / n.
  const Stated mixed = stated({ReportedBits{500, 250, 0.5}, ReportedBits{500, 250, 0.25}});
  EXPECT_NEAR(mixed.noise.half_width(), std::sqrt(0.5 * std::log(40.0) * (500.0 / 0.25 + 500.0 / 0.0625)) / 1000.0,
              1e-6);
  EXPECT_EQ(mixed.method, Method::Chernoff);
}

TEST(ReportedMeansTest, WeightsThatAreApartWidenEveryInterval) {
  const Stated exact = stated({ReportedBits{100, 50, 0.5}});
  const Stated apart = stated({ReportedBits{100, 50, 0.5}}, {true, 0.01});
  EXPECT_NEAR(apart.noise.high - exact.noise.high, 0.01, 1e-12);
  EXPECT_NEAR(exact.population->low - apart.population->low, 0.01, 1e-12);
}

TEST(ReportedMeansTest, RefusesWhatNobodyReports) {
  for (const ReportedTotal& silo :
       {ReportedTotal(ReportedBits{0, 0, 0.5}), ReportedTotal(ReportedBits{10, 11, 0.5}),
        ReportedTotal(ReportedBits{10, -1, 0.5}), ReportedTotal(ReportedBits{10, 1, 0.0}),
        ReportedTotal(ReportedBits{10, 1, 1.0}), ReportedTotal(ReportedNumbers{10, std::nan(""), {1.0, 1.0}}),
        ReportedTotal(ReportedNumbers{10, 1.0, {0.0, 1.0}})}) {
    EXPECT_FALSE(state_reported_mean({silo}, {}, kOfReports95, true));
  }
  EXPECT_FALSE(state_reported_mean({}, {}, kOfReports95, true));
}

}  // namespace
}  // namespace undertone::statistics
