#include "shared/mechanisms/local_reports/local_reports.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

#include "shared/crypto/test_bits.hpp"

namespace undertone::mechanisms {
namespace {

using crypto::TestBits;
using releases::Randomiser;

OneBit bit_of(double epsilon, std::int64_t levels) {
  return OneBit::create(releases::Epsilon::create(epsilon).value(), levels).value();
}

std::vector<std::int64_t> slots_of(std::size_t count) {
  std::vector<std::int64_t> out(count);
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

LocalReports reports_of(double epsilon, Randomiser randomiser, bool indicators = false) {
  const releases::RangeBound range = indicators ? releases::RangeBound{0.0, 1.0} : releases::RangeBound{-1.0, 1.0};
  return local_reports(range, indicators, {randomiser}, releases::Epsilon::create(epsilon).value(), 100).value();
}

/// P[1] at a level, exactly a quotient of integers.
long double chance(const OneBit& bit, std::int64_t level) {
  return static_cast<long double>(bit.ones(level)) / static_cast<long double>(bit.outcomes());
}

TEST(OneBitTest, OfAnyTwoLevelsNeitherBitIsLikelierByMoreThanItsEpsilon) {
  for (const double epsilon : {0x1p-20, 0.1, std::log(2.0), 1.0, 2.0, 8.0, 16.0}) {
    SCOPED_TRACE(epsilon);
    for (const std::int64_t levels : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, std::int64_t{64}}) {
      const OneBit bit = bit_of(epsilon, levels);
      const long double spent = std::ldexp(static_cast<long double>(bit.epsilon().units()), -40);
      EXPECT_LE(spent, epsilon);
      long double worst = 0.0L;
      for (std::int64_t one = 0; one <= levels; ++one) {
        for (std::int64_t other = 0; other <= levels; ++other) {
          const long double of_ones = std::log(chance(bit, one) / chance(bit, other));
          const long double of_zeros = std::log((1.0L - chance(bit, one)) / (1.0L - chance(bit, other)));
          worst = std::max({worst, of_ones, of_zeros});
        }
      }
      // All of it is spent, up to the integers' grain: 2^-39 of c, of which epsilon moves by cosh^2(epsilon / 2) times.
      EXPECT_LE(worst, spent * (1.0L + 1e-12L));
      const double grain = 4.0 * std::pow(std::cosh(0.5 * epsilon), 2) * (0x1p-39 + 0x1p-48 * bit.contrast());
      EXPECT_GE(worst, spent - static_cast<long double>(grain));
    }
  }
}

TEST(OneBitTest, ItsMeanIsTheLevelShrunkByItsContrast) {
  const OneBit bit = bit_of(1.0, 10);
  for (std::int64_t level = 0; level <= 10; ++level) {
    const double share = static_cast<double>(level) / 10.0;
    EXPECT_NEAR(static_cast<double>(chance(bit, level)), 0.5 * (1.0 - bit.contrast()) + bit.contrast() * share, 1e-12);
  }
  EXPECT_NEAR(bit.contrast(), std::tanh(0.5), 1e-11);  // (e - 1) / (e + 1)
}

TEST(OneBitTest, DrawsTheBitWithTheChanceThatItSays) {
  // 10^6 draws a level: a deviation of 6.1 standard deviations has probability 1e-9.
  TestBits bits(5, "one bit", crypto::InsecureForTestsOnly{});
  const OneBit bit = bit_of(1.0, std::int64_t{1} << 21U);
  for (const std::int64_t level : {std::int64_t{0}, std::int64_t{1} << 19U, std::int64_t{1} << 21U}) {
    constexpr double kDraws = 1e6;
    double ones = 0.0;
    for (int i = 0; i < static_cast<int>(kDraws); ++i) ones += static_cast<double>(bit.report(level, bits));
    const auto p = static_cast<double>(chance(bit, level));
    EXPECT_NEAR(ones, kDraws * p, 6.1 * std::sqrt(kDraws * p * (1.0 - p))) << level;
  }
}

TEST(OneBitTest, RefusesWhatItCannotHold) {
  EXPECT_FALSE(OneBit::create(releases::Epsilon::create(16.1).value(), 2));
  EXPECT_FALSE(OneBit::create(releases::Epsilon::create(0x1p-40).value(), 2));
  EXPECT_TRUE(OneBit::create(releases::Epsilon::create(0x1p-36).value(), 2));
  EXPECT_FALSE(OneBit::create(releases::Epsilon::create(1.0).value(), 0));
  EXPECT_TRUE(OneBit::create(releases::Epsilon::create(1.0).value(), OneBit::kLevelsMax));
  EXPECT_FALSE(OneBit::create(releases::Epsilon::create(1.0).value(), OneBit::kLevelsMax + 1));
}

TEST(LocalReportsTest, ANoisedNumberKeepsItsEpsilonToTheEndsThatItIsCutTo) {
  // P[r | v] of r in -m .. m, what is beyond being cut to it: a geometric series. The records' numbers are 0 and 1.
  for (const double epsilon : {0.25, 1.0, 4.0}) {
    SCOPED_TRACE(epsilon);
    const LocalReports reports = reports_of(epsilon, Randomiser::Laplace, true);
    const auto& noise = std::get<LaplaceSum>(reports.randomiser);
    const long double rate =
        static_cast<long double>(noise.scale().denominator) / static_cast<long double>(noise.scale().numerator);
    constexpr std::int64_t kEnd = 12;
    const auto chance_of = [&](std::int64_t report, std::int64_t number) {
      const long double middle = std::tanh(rate / 2.0L);
      const auto at = [&](std::int64_t z) { return middle * std::exp(-rate * std::abs(static_cast<long double>(z))); };
      if (std::abs(report) < kEnd) return at(report - number);
      // sum over z >= d of P[z], d > 0: at(d) / (1 - e^-rate).
      return at(kEnd - (report > 0 ? number : -number)) / (1.0L - std::exp(-rate));
    };
    const long double spent = std::ldexp(static_cast<long double>(reports.cost().pure.units()), -40);
    long double worst = 0.0L;
    long double all = 0.0L;
    for (std::int64_t report = -kEnd; report <= kEnd; ++report) {
      worst = std::max(worst, std::abs(std::log(chance_of(report, 0) / chance_of(report, 1))));
      all += chance_of(report, 1);
    }
    EXPECT_NEAR(static_cast<double>(all), 1.0, 1e-12);
    EXPECT_LE(worst, spent * (1.0L + 1e-9L));
    EXPECT_GE(worst, spent * (1.0L - 1e-5L));
  }
}

TEST(LocalReportsTest, EveryReportIsOfItsRecordAlone) {
  for (const Randomiser randomiser : {Randomiser::Bit, Randomiser::Laplace, Randomiser::StringBit, Randomiser::Index}) {
    const LocalReports reports = reports_of(1.0, randomiser);
    const auto drawn = [&](std::int64_t third) {
      TestBits bits(7, "reports", crypto::InsecureForTestsOnly{});
      std::vector<std::int64_t> numbers{reports.low, 0, third, 17, reports.high};
      reports.randomise(numbers, slots_of(numbers.size()), bits);
      return numbers;
    };
    std::vector<std::int64_t> one = drawn(reports.low);
    std::vector<std::int64_t> other = drawn(reports.high);
    one.erase(one.begin() + 2);
    other.erase(other.begin() + 2);
    EXPECT_EQ(one, other);
  }
}

TEST(LocalReportsTest, NumbersAreCutToTheRangeWhoeverComputedThem) {
  for (const Randomiser randomiser : {Randomiser::Bit, Randomiser::Laplace, Randomiser::StringBit, Randomiser::Index}) {
    const LocalReports reports = reports_of(1.25, randomiser);
    const auto drawn = [&](std::int64_t number) {
      TestBits bits(9, "reports", crypto::InsecureForTestsOnly{});
      std::vector<std::int64_t> numbers(64, number);
      reports.randomise(numbers, slots_of(numbers.size()), bits);
      return numbers;
    };
    EXPECT_EQ(drawn(INT64_MAX), drawn(reports.high));
    EXPECT_EQ(drawn(INT64_MIN), drawn(reports.low));
    EXPECT_NE(drawn(reports.low), drawn(reports.high));
    for (const std::int64_t report : drawn(reports.high)) {
      EXPECT_GE(report, report_values(randomiser).low);
      EXPECT_LE(report, report_values(randomiser).high);
    }
  }
}

TEST(LocalReportsTest, TheirStandardDeviationIsThatOfTheSumThatTheyEstimate) {
  // A bit at epsilon 1 on [-1, 1]: an estimate spans 2 / c, its bit has a standard deviation of 1/2 at most.
  EXPECT_NEAR(reports_of(1.0, Randomiser::Bit).stddev_max(100), 10.0 / std::tanh(0.5), 1e-9);
  // Laplace noise of scale 2 / epsilon: sqrt(2) 2.
  EXPECT_NEAR(reports_of(1.0, Randomiser::Laplace).stddev_max(100), 10.0 * 2.0 * std::sqrt(2.0), 1e-3);
}

TEST(LocalReportsTest, RefusesRangesAndRecordsThatItHasNoUnitsFor) {
  const releases::Epsilon one = releases::Epsilon::create(1.0).value();
  const auto made = [&](double low, double high, bool indicators, std::int64_t records) {
    return local_reports({low, high}, indicators, {Randomiser::Bit}, one, records).has_value();
  };
  EXPECT_TRUE(made(-1.0, 1.0, false, kReportsMax));
  EXPECT_FALSE(made(-1.0, 1.0, false, kReportsMax + 1));
  EXPECT_FALSE(made(-1.0, 1.0, false, 0));
  EXPECT_FALSE(made(-1.0, 1.0, true, 10));
  EXPECT_FALSE(made(1.0, -1.0, false, 10));
  EXPECT_FALSE(made(-4.0, 4.0, false, 10));
  EXPECT_FALSE(made(-1.0, 0.3, false, 10));  // no multiple of 2^-20
  EXPECT_FALSE(made(std::nan(""), 1.0, false, 10));
  EXPECT_FALSE(local_reports({-1.0, 1.0}, false, {Randomiser::Laplace}, releases::Epsilon::create(0x1p-8).value(), 10));
}

}  // namespace
}  // namespace undertone::mechanisms
