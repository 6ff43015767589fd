#include "verifier/renyi_bound.hpp"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "verifier/sampled_profile.hpp"

namespace undertone::verifier {
namespace {

ConcentratedGroup subsets(long double rho, long double rate, std::uint64_t rounds) {
  ConcentratedGroup group;
  group.rho = rho;
  group.rate = rate;
  group.rounds = rounds;
  return group;
}

double divergence(long double rho, long double rate, int order) {
  return static_cast<double>(SubsetDivergence(rho, rate).at(order));
}

TEST(SubsetDivergenceTest, AddsUpTheFormulaByHand) {
  // e^(2 rho) = 5/4 and q = 1/4: min(4 x 1/4, 2 x 5/4) = 1.
  // Order 2: ln(1 + 1/16). Order 3: ln(1 + 3/16 + 2/64 (5/4)^3) / 2, and (5/4)^3 = 1.953125: 1 + 0.1875 +
  // 0.06103515625.
  const long double quiet = std::log(1.25L) / 2;
  EXPECT_NEAR(divergence(quiet, 0.25L, 2), std::log(1.0625), 1e-12);
  EXPECT_NEAR(divergence(quiet, 0.25L, 3), std::log(1.24853515625) / 2, 1e-12);
  // e^(2 rho) = 4: min(4 x 3, 2 x 4) = 8. Order 2: ln(1 + 8/16). Order 3: ln(1 + 3 x 8/16 + 2/64 x 64) / 2.
  const long double loud = std::log(4.0L) / 2;
  EXPECT_NEAR(divergence(loud, 0.25L, 2), std::log(1.5), 1e-12);
  EXPECT_NEAR(divergence(loud, 0.25L, 3), std::log(4.5) / 2, 1e-12);
}

TEST(SubsetDivergenceTest, IsThatOfManyDigitsAtEveryScale) {
  // With 40 digits (mpmath).
  EXPECT_NEAR(divergence(0.125L, 0.01L, 40) / 0.3006885658158539723, 1.0, 2e-12);
  EXPECT_NEAR(divergence(0.125L, 0.01L, 1024) / 123.3910057446028880, 1.0, 2e-12);
  EXPECT_NEAR(divergence(1e-6L, 1e-6L, 2) / 8.000008000005333304e-18, 1.0, 2e-12);
  EXPECT_NEAR(divergence(20.0L, 0.5L, 1024) / 20479.30685281944005, 1.0, 2e-12);
}

TEST(SubsetDivergenceTest, StaysFiniteForWhateverALedgerNames) {
  for (const long double rho : {0x1p-40L, 0x1p+88L}) {
    for (const long double rate : {0x1p-40L, 1 - 0x1p-40L}) {
      for (const int order : {2, 3, SubsetDivergence::kOrderMax}) {
        SCOPED_TRACE(fmt::format("{} {} {}", rho, rate, order));
        EXPECT_TRUE(std::isfinite(SubsetDivergence(rho, rate).at(order)));
        EXPECT_GT(SubsetDivergence(rho, rate).at(order), 0);
      }
    }
  }
}

TEST(RenyiBoundOfRhoTest, OfAllRecordsIsThatOfAGaussian) {
  // A Gaussian of mu has the divergence a mu^2 / 2 of rho = mu^2 / 2.
  EXPECT_NEAR(static_cast<double>(renyi_delta({subsets(0.5L, 1, 1)}, 4.5L) / renyi_delta({{1.0L, 0, 0, 1}}, 4.5L)), 1.0,
              1e-12);
  EXPECT_NEAR(static_cast<double>(renyi_delta({subsets(0.02L, 1, 7)}, 2.0L) / renyi_delta({{0.2L, 0, 0, 7}}, 2.0L)),
              1.0, 1e-12);
}

TEST(RenyiBoundOfRhoTest, OfSubsetsIsAtMostWhatEachOrderGives) {
  // Order 12 is the best of integers for 1,000 of rho 1/8 at rate 1/100 and delta 1e-5: epsilon 1.501027647 (mpmath).
  EXPECT_LE(renyi_delta({subsets(0.125L, 0.01L, 1000)}, 1.501027648L), 1e-5L);
  EXPECT_GE(renyi_delta({subsets(0.125L, 0.01L, 1000)}, 1.501027646L), 1e-5L);
  // 1,000 of rho 1/128: order 22, epsilon 0.5849128725. Between 17 and 1,024 not every integer is one of the first
  // looked at.
  EXPECT_LE(renyi_delta({subsets(0.0078125L, 0.01L, 1000)}, 0.5849128726L), 1e-5L);
  EXPECT_GE(renyi_delta({subsets(0.0078125L, 0.01L, 1000)}, 0.5849128724L), 1e-5L);
}

TEST(RenyiBoundOfRhoTest, FallsWithTheRateAndIsNeverMoreThanOfAllRecords) {
  for (const long double rho : {0.001L, 0.1L, 2.0L}) {
    for (const std::uint64_t rounds : {1U, 50U}) {
      for (const long double epsilon : {0.0L, 0.5L, 3.0L}) {
        SCOPED_TRACE(fmt::format("{} x {} at {}", rounds, rho, epsilon));
        long double last = renyi_delta({subsets(rho, 1, rounds)}, epsilon);
        for (const long double rate : {0.999L, 0.5L, 0.1L, 0.01L, 1e-6L}) {
          const long double next = renyi_delta({subsets(rho, rate, rounds)}, epsilon);
          EXPECT_LE(next, last) << rate;
          last = next;
        }
      }
    }
  }
}

TEST(RenyiBoundOfRhoTest, CoversGaussiansOfSubsets) {
  // These are releases of rho = mu^2 / 2, so what they leak is no more than the bound.
  for (const long double mu : {0.1L, 0.5L, 2.0L}) {
    for (const std::int64_t drawn : {1, 10, 500}) {
      for (const long double epsilon : {0.1L, 1.0L}) {
        SCOPED_TRACE(fmt::format("mu {} drawn {} at {}", mu, drawn, epsilon));
        const auto exact = sampled_delta({{mu, 100, drawn, 1000}}, epsilon);
        ASSERT_TRUE(exact);
        EXPECT_GE(renyi_delta({subsets(mu * mu / 2, static_cast<long double>(drawn) / 1000, 100)}, epsilon),
                  exact->lower);
      }
    }
  }
}

TEST(RenyiBoundOfRhoTest, CreditsNoSubsetBeyondTheLastOrder) {
  // The best order is near 1 + epsilon / (2 rho) = 50,001, and exp(-epsilon^2 / (4 rho)) what it leaves.
  EXPECT_EQ(renyi_delta({subsets(1e-9L, 0.5L, 1)}, 1e-4L), renyi_delta({subsets(1e-9L, 1, 1)}, 1e-4L));
}

TEST(RenyiBoundOfRhoTest, IsOneWhereARhoIsHuge) {
  EXPECT_EQ(renyi_delta({subsets(0x1p+88L, 0.5L, std::uint64_t{1} << 40U)}, 1.0L), 1);
}

TEST(RenyiBoundOfRhoTest, SaysTheSameOfASecondPosition) {
  RenyiBound bound;
  const std::vector<ConcentratedGroup> first = {subsets(0.125L, 0.01L, 1000)};
  const std::vector<ConcentratedGroup> second = {subsets(0.125L, 0.01L, 500), subsets(0.125L, 0.02L, 100)};
  EXPECT_EQ(bound.delta(first, 1.5L), renyi_delta(first, 1.5L));
  EXPECT_EQ(bound.delta(second, 1.5L), renyi_delta(second, 1.5L));
}

}  // namespace
}  // namespace undertone::verifier
