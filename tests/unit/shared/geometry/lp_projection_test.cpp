#include "shared/geometry/lp_projection.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "shared/geometry/duality_map.hpp"

namespace undertone::geometry {
namespace {

constexpr double kMaximumNorm = std::numeric_limits<double>::infinity();
constexpr double kLpExponents[] = {2.0001, 3.0, 10.0, 1000.0, kMaximumNorm};

Eigen::VectorXd lp_projected(double exponent, double radius, Eigen::VectorXd point) {
  project_onto_lp_ball(exponent, radius, point);
  return point;
}

Eigen::VectorXd normal_vector(Eigen::Index d, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Eigen::VectorXd out(d);
  for (double& x : out) x = normal(random);
  return out;
}

TEST(LpProjectionTest, MeetsTheOptimalityCondition) {
  // Of x on the sphere, y = x + lambda p sign(x) |x|^(p-1) is projected on x, whatever lambda >= 0 is.
  std::mt19937_64 random(1);
  for (const double exponent : {2.0001, 3.0, 10.0, 1000.0}) {
    for (const Eigen::Index d : {1, 2, 7, 60}) {
      for (const double multiplier : {1e-9, 1e-3, 1.0, 1e4}) {
        Eigen::VectorXd x = normal_vector(d, random);
        x *= 1.5 / lp_norm(x, exponent);
        const Eigen::ArrayXd relative = x.array().abs() / 1.5;
        const Eigen::ArrayXd outwards = multiplier * relative.pow(exponent - 1.0);
        const Eigen::VectorXd y = x.array() + (x.array() < 0.0).select(-outwards, outwards);
        EXPECT_LE((lp_projected(exponent, 1.5, y) - x).norm(), 1e-13 * (1.5 + y.norm()))
            << exponent << " " << d << " " << multiplier;
      }
    }
  }
}

TEST(LpProjectionTest, OfOneCoordinateAndOfEqualOnesItIsByHand) {
  for (const double exponent : kLpExponents) {
    EXPECT_DOUBLE_EQ(lp_projected(exponent, 2.0, Eigen::VectorXd::Constant(1, -5.0))[0], -2.0) << exponent;
    // d |x|^p = R^p: R d^(-1/p) each.
    const Eigen::VectorXd equal = lp_projected(exponent, 2.0, Eigen::VectorXd::Constant(5, 3.0));
    for (const double x : equal) EXPECT_NEAR(x, 2.0 * std::pow(5.0, -1.0 / exponent), 1e-14) << exponent;
  }
}

TEST(LpProjectionTest, OfInfinityItClamps) {
  const Eigen::Vector4d point(3.0, -0.5, -1.25, 0.0);
  EXPECT_EQ(lp_projected(kMaximumNorm, 1.0, point), Eigen::VectorXd(Eigen::Vector4d(1.0, -0.5, -1.0, 0.0)));
  // And of an exponent that is nearly so, nearly.
  EXPECT_LE((lp_projected(1e9, 1.0, point) - lp_projected(kMaximumNorm, 1.0, point)).norm(), 1e-7);
}

TEST(LpProjectionTest, OfTwoItScales) {
  std::mt19937_64 random(2);
  const Eigen::VectorXd point = 4.0 * normal_vector(9, random);
  EXPECT_LE((lp_projected(2.0001, 1.0, point) - point / point.norm()).norm(), 1e-3);
}

TEST(LpProjectionTest, NoFeasiblePointIsNearer) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit;
  for (const double exponent : kLpExponents) {
    for (const Eigen::Index d : {1, 2, 8, 40}) {
      for (const double size : {0.5, 2.0, 100.0}) {
        const Eigen::VectorXd point = size * normal_vector(d, random);
        const Eigen::VectorXd x = lp_projected(exponent, 0.7, point);
        EXPECT_LE(lp_norm(x, exponent), 0.7 * (1.0 + 1e-12));
        for (int i = 0; i < 200; ++i) {
          Eigen::VectorXd other = normal_vector(d, random) * (i % 2 == 0 ? 1.0 : 1e-3);
          if (i % 2 == 1) other += x;  // near to it
          other *= 0.7 * std::min(1.0, (i % 4 < 2 ? 1.0 : unit(random)) / std::max(1e-300, lp_norm(other, exponent)));
          if (lp_norm(other, exponent) > 0.7) other *= 0.7 / lp_norm(other, exponent);
          // Of a projection the angle at x is no less than a right one.
          EXPECT_LE((point - x).dot(other - x), 1e-11 * (1.0 + point.norm())) << exponent << " " << d << " " << size;
        }
      }
    }
  }
}

TEST(LpProjectionTest, LeavesAPointOfTheBallWhereItIs) {
  std::mt19937_64 random(4);
  for (const double exponent : kLpExponents) {
    Eigen::VectorXd inside = normal_vector(12, random);
    inside *= 0.999 / lp_norm(inside, exponent);
    EXPECT_EQ(lp_projected(exponent, 1.0, inside), inside);
    const Eigen::VectorXd once = lp_projected(exponent, 1.0, 5.0 * normal_vector(12, random));
    EXPECT_LE((lp_projected(exponent, 1.0, once) - once).norm(), 1e-14) << exponent;
    EXPECT_EQ(lp_projected(exponent, 1.0, Eigen::VectorXd::Zero(3)), Eigen::VectorXd::Zero(3));
  }
}

TEST(LpProjectionTest, KeepsSignsAndIsNoFartherOutThanBefore) {
  std::mt19937_64 random(5);
  for (const double exponent : kLpExponents) {
    const Eigen::VectorXd point = 3.0 * normal_vector(30, random);
    const Eigen::VectorXd x = lp_projected(exponent, 1.0, point);
    for (Eigen::Index j = 0; j < 30; ++j) {
      EXPECT_GE(x[j] * point[j], 0.0);
      EXPECT_LE(std::abs(x[j]), std::abs(point[j]) * (1.0 + 1e-12));
    }
  }
}

TEST(LpProjectionTest, KnowsNoScale) {
  std::mt19937_64 random(6);
  for (const double exponent : {2.0001, 3.0, 10.0, 1000.0}) {
    const Eigen::VectorXd point = 3.0 * normal_vector(10, random);
    const Eigen::VectorXd x = lp_projected(exponent, 1.0, point);
    // By a power of two nothing changes but the exponents of the numbers.
    for (const double scale : {0x1p-300, 0x1p300}) {
      const Eigen::VectorXd scaled = lp_projected(exponent, scale, scale * point);
      EXPECT_EQ(scaled / scale, x) << exponent;
    }
    // A point beyond any ratio to the radius, and numbers beside it that no double tells from 0.
    Eigen::VectorXd far = 1e200 * point;
    far[0] = 1e-300;
    const Eigen::VectorXd near = lp_projected(exponent, 1e-200, far);
    EXPECT_TRUE(near.allFinite());
    EXPECT_NEAR(lp_norm(near, exponent) / 1e-200, 1.0, 1e-12);
    EXPECT_LE(near[0], 1e-300);
  }
}

TEST(LpProjectionTest, IsTheSameEveryTime) {
  std::mt19937_64 random(7);
  const Eigen::VectorXd point = 3.0 * normal_vector(50, random);
  EXPECT_EQ(lp_projected(3.5, 1.0, point), lp_projected(3.5, 1.0, point));
}

}  // namespace
}  // namespace undertone::geometry
