#include "shared/mechanisms/selection/clamped_sum.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace undertone::mechanisms {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<std::int64_t> taken(ClampedSum& sum, std::size_t dimension) {
  std::vector<std::int64_t> out(dimension);
  sum.take(out);
  return out;
}

/// What one record adds.
std::vector<std::int64_t> added(const ClampLattice& lattice, const Eigen::VectorXd& vector) {
  ClampedSum sum(lattice, vector.size());
  sum.add(vector);
  return taken(sum, static_cast<std::size_t>(vector.size()));
}

TEST(ClampLatticeTest, ItsStepIsTheBoundOverThePowerOfTwo) {
  const ClampLattice lattice = ClampLattice::create(3.0, 4, 10).value();
  EXPECT_EQ(lattice.levels(), 16);
  EXPECT_EQ(lattice.step(), 3.0 / 16.0);
  EXPECT_EQ(lattice.bound(), 3.0);
  EXPECT_EQ(lattice.records(), 10);
}

TEST(ClampLatticeTest, TheFinestKeepsScoresWithinSixtyBits) {
  // 2^10 records, factor 2^25: 2^(60 - 35) levels.
  const std::int64_t factor = std::int64_t{1} << 25U;
  EXPECT_EQ(ClampLattice::finest(1.0, 1024, factor)->log2_levels(), 25);
  EXPECT_EQ(ClampLattice::finest(1.0, 1025, factor)->log2_levels(), 24);
  EXPECT_EQ(ClampLattice::finest(1.0, 1, 1)->log2_levels(), ClampLattice::kLog2LevelsMax);
  EXPECT_EQ(ClampLattice::finest(1.0, std::int64_t{1} << 31U, factor)->log2_levels(), 4);
  EXPECT_FALSE(ClampLattice::finest(1.0, std::int64_t{1} << 31U, 2 * factor));
  EXPECT_FALSE(ClampLattice::finest(1.0, 1, 0));
  EXPECT_FALSE(ClampLattice::finest(1.0, 0, 1));
}

TEST(ClampLatticeTest, RefusesWhatIsNoLattice) {
  for (const double bound : {0.0, -1.0, kNaN, HUGE_VAL, 1e-101, 1e101}) {
    EXPECT_FALSE(ClampLattice::create(bound, 10, 1)) << bound;
    EXPECT_FALSE(ClampLattice::finest(bound, 1, 1)) << bound;
  }
  EXPECT_FALSE(ClampLattice::create(1.0, 3, 1));
  EXPECT_FALSE(ClampLattice::create(1.0, 31, 1));
  EXPECT_FALSE(ClampLattice::create(1.0, 10, 0));
  EXPECT_FALSE(ClampLattice::create(1.0, 10, ClampLattice::kRecordsMax + 1));
}

TEST(ClampedSumTest, ClampsAndRoundsAsComputedByHand) {
  // Step 1/16 of a bound of 1.
  const ClampLattice lattice = ClampLattice::create(1.0, 4, 10).value();
  Eigen::VectorXd vector(8);
  vector << 1.0, -1.0, 0.0, 0.5, 0.1, -0.1, 7.0, -1e300;  // 0.1 * 16 = 1.6, the nearest integer is 2
  EXPECT_EQ(added(lattice, vector), (std::vector<std::int64_t>{16, -16, 0, 8, 2, -2, 16, -16}));
}

TEST(ClampedSumTest, WhatIsNotFiniteAddsNothing) {
  const ClampLattice lattice = ClampLattice::create(1.0, 4, 10).value();
  const std::vector<std::int64_t> nothing{0, 0};
  EXPECT_EQ(added(lattice, Eigen::Vector2d(kNaN, 1.0)), nothing);
  EXPECT_EQ(added(lattice, Eigen::Vector2d(1.0, HUGE_VAL)), nothing);
  EXPECT_EQ(added(lattice, Eigen::Vector2d(-HUGE_VAL, 1.0)), nothing);
}

TEST(ClampedSumTest, NoRecordAddsMoreThanTheLevels) {
  std::vector<double> numbers;
  for (int exponent = -1074; exponent < 1024; exponent += 7) {
    numbers.push_back(std::ldexp(1.0, exponent));
    numbers.push_back(-std::ldexp(1.9999999, exponent));
  }
  for (const double bound : {1e-100, 0.3, 1.0, 7.0, 1e100}) {
    for (const double near : {1.0, 1.0 - 0x1p-53, 1.0 + 0x1p-52}) numbers.push_back(bound * near);
    for (const int log2_levels : {4, 17, 30}) {
      SCOPED_TRACE(bound);
      const ClampLattice lattice = ClampLattice::create(bound, log2_levels, 1).value();
      for (const double number : numbers) {
        const std::int64_t units = added(lattice, Eigen::VectorXd::Constant(1, number)).front();
        EXPECT_LE(std::abs(units), lattice.levels()) << number;
        const double clamped = std::clamp(number, -bound, bound);
        EXPECT_NEAR(static_cast<double>(units), clamped / lattice.step(), 0.5 + 1e-6) << number;
      }
    }
  }
}

TEST(ClampedSumTest, BeginsAgainAtZeroWhenTaken) {
  ClampedSum sum(ClampLattice::create(1.0, 4, 2).value(), 1);
  Eigen::MatrixXd both(1, 2);
  both << 0.5, 0.25;
  for (int turn = 0; turn < 3; ++turn) {
    sum.add_block(both);
    EXPECT_EQ(taken(sum, 1), std::vector<std::int64_t>{12});
  }
}

TEST(ClampedSumTest, StaysExactBeyondWhatADoubleHolds) {
  // 2^22 + 5 records of 2^30 - 1 units: their sum needs 53 bits and more, and is odd.
  constexpr std::int64_t kRecords = (std::int64_t{1} << 22U) + 5;
  const ClampLattice lattice = ClampLattice::create(1.0, 30, kRecords).value();
  ClampedSum sum(lattice, 1);
  const Eigen::VectorXd one = Eigen::VectorXd::Constant(1, 1.0 - 0x1p-30);
  for (std::int64_t i = 0; i < kRecords; ++i) sum.add(one);
  EXPECT_EQ(taken(sum, 1), std::vector<std::int64_t>{kRecords * ((std::int64_t{1} << 30U) - 1)});
}

TEST(ClampedSumTest, ARecordThatWasNotCountedOnStopsTheProcess) {
  ClampedSum sum(ClampLattice::create(1.0, 4, 2).value(), 1);
  EXPECT_DEATH(sum.add_block(Eigen::MatrixXd::Zero(1, 3)), "");
}

TEST(ClampedSumTest, LinearGradientsAreAddedAsIfWrittenOut) {
  Eigen::MatrixXd features(2, 3);
  features << 0.5, 1e300, 0.1,  //
      -4.0, 0.2, 0.3;
  const std::vector<double> factors{0.5, 1e10, -2.0, kNaN};  // 1e10 * 1e300 is not finite
  const std::vector<std::int64_t> positions{0, 1, 2, 0};
  const ClampLattice lattice = ClampLattice::create(1.0, 20, 8).value();
  for (const Eigen::Index dimension : {2, 3}) {
    SCOPED_TRACE(dimension);
    ClampedSum linear(lattice, dimension);
    linear.add_linear(factors, features, positions);
    ClampedSum written(lattice, dimension);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      Eigen::VectorXd x = Eigen::VectorXd::Ones(dimension);
      x.head(2) = features.col(positions[i]);
      written.add(factors[i] * x);
    }
    const std::vector<std::int64_t> sums = taken(linear, static_cast<std::size_t>(dimension));
    EXPECT_EQ(sums, taken(written, static_cast<std::size_t>(dimension)));
    // Records 0 and 2 alone: 0.25 - 0.2 and -1 (clamped) - 0.6, then 0.5 - 1 (clamped).
    EXPECT_NEAR(std::ldexp(static_cast<double>(sums[0]), -20), 0.05, 1e-6);
    EXPECT_NEAR(std::ldexp(static_cast<double>(sums[1]), -20), -1.6, 1e-6);
    if (dimension == 3) {
      EXPECT_EQ(sums[2], -(1 << 19));
    }
  }
}

}  // namespace
}  // namespace undertone::mechanisms
