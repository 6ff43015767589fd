#include "shared/mechanisms/laplace_sum/laplace_sum.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/crypto/test_bits.hpp"
#include "tests/support/drawn_law.hpp"

namespace undertone::mechanisms {
namespace {

using crypto::SecureBits;
using crypto::TestBits;

LaplaceSum laplace(double epsilon, std::int64_t sensitivity) {
  return LaplaceSum::create(releases::Epsilon::create(epsilon).value(),
                            IntegerL1Sensitivity::create(sensitivity).value())
      .value();
}

/// P[Z = z] of one coordinate.
long double probability(const LaplaceSum& sum, std::int64_t z) {
  const long double rate =
      static_cast<long double>(sum.scale().denominator) / static_cast<long double>(sum.scale().numerator);
  return std::tanh(rate / 2.0L) * std::exp(-rate * std::abs(static_cast<long double>(z)));
}

TEST(LaplaceSumTest, ItsScaleIsTheSensitivityOverEpsilon) {
  EXPECT_EQ(laplace(1.0, 1).scale().numerator, laplace(1.0, 1).scale().denominator);
  const LaplaceSum four = laplace(0.25, 3);  // 12
  EXPECT_EQ(four.scale().numerator, 12 * four.scale().denominator);
  EXPECT_EQ(four.epsilon().units(), std::uint64_t{1} << 38U);
  EXPECT_EQ(four.event().epsilon.value(), 0.25);
}

TEST(LaplaceSumTest, CostsNoMoreThanItWasAskedForAndHardlyLess) {
  for (const double epsilon : {1e-3, 0.1, 0.7, 1.0, 3.3333333, 12.0, 1000.0}) {
    for (const std::int64_t sensitivity : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1} << 20U}) {
      SCOPED_TRACE(epsilon);
      const LaplaceSum sum = laplace(epsilon, sensitivity);
      // sensitivity / scale <= epsilon() in integers: sensitivity * denominator * 2^40 <= units * numerator.
      const releases::UInt128 moved =
          releases::UInt128{static_cast<std::uint64_t>(sensitivity)} * sum.scale().denominator;
      EXPECT_LE(moved << 40U, sum.epsilon().units() * sum.scale().numerator);
      EXPECT_LE(sum.epsilon(), releases::EpsilonAmount::rounded_down(epsilon).value());
      EXPECT_LE(sum.event().epsilon.value(), epsilon);
      EXPECT_GE(sum.event().epsilon.value(), epsilon * (1.0 - 1e-3 / static_cast<double>(sensitivity)));
    }
  }
}

TEST(LaplaceSumTest, IsChargedAsTheDearestThatItsEpsilonAllows) {
  // One unit of sensitivity: P[Z <= z] only ever counts one side, so that the losses are +-1 and the profile is that of
  // randomised response, delta(t) = (e - e^t) / (1 + e); delta = 0.2 at t = ln(e - 0.2 (1 + e)) = 0.68038. Continuous
  // Laplace noise would say 0.554.
  const auto account = accounting::account({{laplace(1.0, 1).event()}}, releases::Delta::create(0.2).value());
  ASSERT_TRUE(account);
  EXPECT_GE(account->epsilon, 0.6803);
  EXPECT_LE(account->epsilon, 0.69);
}

TEST(LaplaceSumTest, RefusesWhatTheSamplerCannotHold) {
  const IntegerL1Sensitivity one = IntegerL1Sensitivity::create(1).value();
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    EXPECT_FALSE(releases::Epsilon::create(value)) << value;  // so that no sum is made with it
  }
  EXPECT_FALSE(LaplaceSum::create(releases::Epsilon::create(0x1p-41).value(), one));
  EXPECT_FALSE(LaplaceSum::create(releases::Epsilon::create(1025.0).value(), one));
  EXPECT_TRUE(LaplaceSum::create(releases::Epsilon::create(0x1p-40).value(), one));
  EXPECT_FALSE(LaplaceSum::create(releases::Epsilon::create(0x1p-40).value(), IntegerL1Sensitivity::create(2).value()));
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, IntegerL1Sensitivity::kMax + 1, INT64_MIN}) {
    EXPECT_FALSE(IntegerL1Sensitivity::create(value)) << value;
  }
}

TEST(LaplaceSumTest, DrawsItsLaw) {
  // Chi-square with a false-alarm probability below 1e-9, see `expect_law`. From scale 1 on, one off by 5 % moves it by
  // more than n (0.05)^2 / 2 > 1000.
  constexpr int kDraws = 1 << 20;
  SecureBits secure = SecureBits::from_os();
  TestBits seeded(11, "laplace sum", crypto::InsecureForTestsOnly{});
  const auto drawn = [&](const LaplaceSum& sum, std::int64_t exact, auto& bits) {
    std::vector<std::int64_t> sums(kDraws, exact);
    sum.add_noise(std::span<std::int64_t>(sums), bits);
    std::map<std::int64_t, double> counts;
    for (const std::int64_t one : sums) counts[one - exact] += 1.0;
    return counts;
  };
  for (const auto& [epsilon, sensitivity] :
       std::vector<std::pair<double, std::int64_t>>{{1.0, 1}, {0.1, 1}, {0.7, 2}, {4.0, 1}, {10.0, 1}, {0.3, 5}}) {
    SCOPED_TRACE(epsilon);
    const LaplaceSum sum = laplace(epsilon, sensitivity);
    const auto law = [&](std::int64_t z) { return static_cast<double>(probability(sum, z)); };
    tests::expect_law(drawn(sum, 0, secure), -1000, 1000, law, kDraws);
    tests::expect_law(drawn(sum, LaplaceSum::kSumMax, seeded), -1000, 1000, law, kDraws);
  }
}

TEST(LaplaceSumTest, CoordinatesAreIndependent) {
  // Signs of neighbouring coordinates at scale 16: the product's mean is 0, its standard error over 2^19 pairs below
  // 1/724; six of them have a false-alarm probability below 2e-9. One draw used twice has mean 1.
  constexpr std::size_t kPairs = std::size_t{1} << 19U;
  const LaplaceSum sum = laplace(0.0625, 1);
  std::vector<std::int64_t> sums(2 * kPairs, 0);
  TestBits bits(12, "independent coordinates", crypto::InsecureForTestsOnly{});
  sum.add_noise(std::span<std::int64_t>(sums), bits);
  const auto sign = [](std::int64_t z) { return z > 0 ? 1 : (z < 0 ? -1 : 0); };
  double products = 0.0;
  for (std::size_t i = 0; i < sums.size(); i += 2) products += sign(sums[i]) * sign(sums[i + 1]);
  EXPECT_NEAR(products / static_cast<double>(kPairs), 0.0, 6.0 / 724.0);
}

TEST(LaplaceSumTest, NoReplacementMovesALikelihoodByMoreThanEpsilon) {
  // Two coordinates, contributions of -1, 0, 1 in each: two records differ by at most 4 in l1. The likelihood of every
  // outcome in a window, over all pairs; the noise elsewhere has the same ratios, as |z| - |z - v| is constant there.
  const LaplaceSum sum = laplace(0.75, 4);
  long double largest = 0.0L;
  for (int code = 0; code < 81; ++code) {
    const int before[] = {code % 3 - 1, code / 3 % 3 - 1};
    const int after[] = {code / 9 % 3 - 1, code / 27 - 1};
    for (int a = -4; a <= 4; ++a) {
      for (int b = -4; b <= 4; ++b) {
        const long double ratio = std::log(probability(sum, a - before[0]) * probability(sum, b - before[1]) /
                                           (probability(sum, a - after[0]) * probability(sum, b - after[1])));
        largest = std::max(largest, std::abs(ratio));
      }
    }
  }
  EXPECT_LE(largest, 0.75L * (1.0L + 1e-12L));
  EXPECT_GE(largest, 0.75L * (1.0L - 1e-6L));  // attained, but for the rounding of the scale
}

TEST(LaplaceSumTest, ItsVarianceIsTheSumOverItsLaw) {
  for (const double epsilon : {0.1, 1.0, 5.0, 40.0}) {
    SCOPED_TRACE(epsilon);
    const LaplaceSum sum = laplace(epsilon, 1);
    long double squares = 0.0L;
    for (std::int64_t z = -2000; z <= 2000; ++z) squares += static_cast<long double>(z * z) * probability(sum, z);
    EXPECT_NEAR(sum.variance() / static_cast<double>(squares), 1.0, 1e-12);
  }
  // Spec statistics 3: standard deviations of a count 7.06, 1.36, 0.195.
  EXPECT_NEAR(std::sqrt(laplace(0.2, 1).variance()), 7.06, 0.005);
  EXPECT_NEAR(std::sqrt(laplace(1.0, 1).variance()), 1.36, 0.005);
  EXPECT_NEAR(std::sqrt(laplace(4.0, 1).variance()), 0.195, 0.0005);
  EXPECT_LT(laplace(1024.0, 1).variance(), 1e-300);
}

TEST(LaplaceSumTest, ItsTailIsTheSumOverItsLaw) {
  const LaplaceSum sum = laplace(0.5, 1);
  for (const std::int64_t magnitude : {0, 1, 5, 30}) {
    long double tail = 0.0L;
    for (std::int64_t z = magnitude + 1; z < 2000; ++z) tail += 2.0L * probability(sum, z);
    EXPECT_NEAR(std::exp(sum.log_tail(magnitude)), static_cast<double>(tail), 1e-14);
  }
}

TEST(LaplaceSumTest, ItsHalfWidthIsTheLeastThatCovers) {
  for (const double epsilon : {0.01, 0.2, 1.0, 4.0, 20.0}) {
    const LaplaceSum sum = laplace(epsilon, 1);
    for (const double alpha : {0.5, 0.05, 1e-9}) {
      SCOPED_TRACE(epsilon);
      const std::int64_t k = sum.half_width(alpha);
      EXPECT_LE(sum.log_tail(k), std::log(alpha));
      if (k > 0) {
        EXPECT_GT(sum.log_tail(k - 1), std::log(alpha));
      }
    }
  }
  // Spec statistics 2.1: 2.996 scales at 95 %; at scale 100 the lattice hardly shows.
  EXPECT_NEAR(static_cast<double>(laplace(0.01, 1).half_width(0.05)), 299.6, 1.0);
  EXPECT_EQ(laplace(20.0, 1).half_width(0.05), 0);  // the printed count is exact with that probability
}

TEST(LaplaceSumTest, TheWireOverflowsWithTheProbabilityStated) {
  // Scale 2^40, the largest: a 64-bit wire holds it but for e^(-2^20). Of 32 bits, scale 100 and sums up to 1000:
  // (2^31 - 1 - 1000) / 100 = 2.1e7 scales.
  const LaplaceSum widest = laplace(0x1p-40, 1);
  EXPECT_LT(widest.log_overflow(LaplaceSum::kSumMax, INT64_MAX, std::int64_t{1} << 40U), -0x1p20);
  EXPECT_NEAR(laplace(0.01, 1).log_overflow(1000, INT32_MAX, 1), -2.14748e7, 100.0);
  // 2 q^11 / (1 + q) of one coordinate, ten times that of ten.
  const double q = std::exp(-1.0);
  EXPECT_NEAR(laplace(1.0, 1).log_overflow(5, 15, 1), std::log(2.0 * std::pow(q, 11) / (1.0 + q)), 1e-12);
  EXPECT_NEAR(laplace(1.0, 1).log_overflow(5, 15, 10), std::log(20.0 * std::pow(q, 11) / (1.0 + q)), 1e-12);
}

TEST(LaplaceSumTest, ASumBeyondItsBoundStopsTheProcess) {
  TestBits bits(13, "too large a sum", crypto::InsecureForTestsOnly{});
  std::vector<std::int64_t> sums{LaplaceSum::kSumMax + 1};
  EXPECT_DEATH(laplace(1.0, 1).add_noise(std::span<std::int64_t>(sums), bits), "");
}

}  // namespace
}  // namespace undertone::mechanisms
