#include "shared/geometry/duality_map.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using test::random_point;

TEST(DualityMapTest, TheSetupOfL1HasTheBinaryLogarithm) {
  EXPECT_EQ(l1_setup_exponent(1), 2.0);  // max(1, log2 1)
  EXPECT_EQ(l1_setup_exponent(2), 2.0);
  EXPECT_EQ(l1_setup_exponent(1024), 1.1);
  // d^(1 - 1/p) = 2^(log2 d/(1 + log2 d)) < 2: 1.414 at 2, 2^(6.644/7.644) = 1.827 at 100.
  const auto growth = [](Eigen::Index d) { return std::pow(static_cast<double>(d), 1.0 - 1.0 / l1_setup_exponent(d)); };
  EXPECT_NEAR(growth(2), std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(growth(100), 1.827, 5e-4);
  EXPECT_LT(growth(1'000'000), 2.0);
}

TEST(DualityMapTest, ConjugatesAreAsTheTextbookHasThem) {
  EXPECT_EQ(conjugate_exponent(2.0), 2.0);
  EXPECT_DOUBLE_EQ(conjugate_exponent(1.5), 3.0);
  EXPECT_TRUE(std::isinf(conjugate_exponent(1.0)));
  EXPECT_EQ(conjugate_exponent(std::numeric_limits<double>::infinity()), 1.0);
  // Whole but for rounding: 1.2 - 1 is 0.19999999999999996.
  EXPECT_EQ(conjugate_exponent(1.2), 6.0);
  EXPECT_EQ(conjugate_exponent(1.1), 11.0);
  EXPECT_DOUBLE_EQ(conjugate_exponent(1.3), 1.3 / 0.3);
}

TEST(DualityMapTest, NormsNeitherOverflowNorVanish) {
  const Eigen::Vector2d point(3.0, -4.0);
  EXPECT_EQ(lp_norm(point, 1.0), 7.0);
  EXPECT_EQ(lp_norm(point, 2.0), 5.0);
  EXPECT_EQ(lp_norm(point, std::numeric_limits<double>::infinity()), 4.0);
  EXPECT_NEAR(lp_norm(point, 3.0), std::cbrt(91.0), 1e-14);  // 27 + 64
  EXPECT_NEAR(lp_norm(1e200 * point, 3.0) / 1e200, std::cbrt(91.0), 1e-14);
  EXPECT_NEAR(lp_norm(1e-200 * point, 40.0) / 1e-200, 4.0 * std::pow(1.0 + std::pow(0.75, 40.0), 1.0 / 40.0), 1e-14);
  EXPECT_EQ(lp_norm(Eigen::Vector2d::Zero(), 3.0), 0.0);
}

TEST(DualityMapTest, NormsOfWholeExponentsAreThoseOfTheirNeighbours) {
  // ||x||_q is continuous in q: by powers of x at q (1 + 1e-12) and by squarings at q, of sizes that fill blocks or
  // not.
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (const Eigen::Index d : {1, 63, 64, 65, 1000}) {
    Eigen::VectorXd x(d);
    for (double& value : x) value = normal(random);
    for (int q = 3; q <= 66; ++q)
      EXPECT_NEAR(lp_norm(x, q) / lp_norm(x, q * (1.0 + 1e-12)), 1.0, 2e-11) << d << " " << q;
  }
}

TEST(DualityMapTest, HasTheValuesOfItsFormula) {
  // p = 1.5, u = (1, -4): ||u||_p = (1 + 8)^(2/3), J = sign |u|^(1/2) ||u||^(1/2) = (1, -2) 9^(1/3).
  Eigen::VectorXd u = Eigen::Vector2d(1.0, -4.0);
  apply_duality_map(1.5, u);
  EXPECT_NEAR(u[0], std::cbrt(9.0), 1e-15);
  EXPECT_NEAR(u[1], -2.0 * std::cbrt(9.0), 1e-15);
  Eigen::VectorXd zero = Eigen::VectorXd::Zero(4);
  apply_duality_map(3.0, zero);
  EXPECT_EQ(zero, Eigen::VectorXd::Zero(4));
}

TEST(DualityMapTest, ComesBackAndKeepsItsNorm) {
  for (const Eigen::Index d : {3, 50, 4096}) {
    for (const double p : {l1_setup_exponent(d), 1.2, 1.5, 2.0}) {
      SCOPED_TRACE(testing::Message() << d << ' ' << p);
      const double q = conjugate_exponent(p);
      RandomSource random(static_cast<std::uint64_t>(d));
      const Eigen::VectorXd point = random_point(random, d, 3.0);
      Eigen::VectorXd image = point;
      apply_duality_map(p, image);
      EXPECT_NEAR(lp_norm(image, q) / lp_norm(point, p), 1.0, 4e-15);
      apply_duality_map(q, image);
      // A rounding of the image by 2^-53 is raised to the power q - 1, 12 at most here: 1.4e-15, and as much again for
      // the powers themselves.
      EXPECT_LE((image - point).cwiseAbs().maxCoeff() / point.cwiseAbs().maxCoeff(), 3e-15);
    }
  }
}

TEST(DualityMapTest, IsTheGradientOfHalfTheSquare) {
  const double p = 1.3;
  RandomSource random(7);
  const Eigen::VectorXd point = random_point(random, 6, 1.0);
  Eigen::VectorXd image = point;
  apply_duality_map(p, image);
  constexpr double kStep = 1e-6;
  for (Eigen::Index j = 0; j < point.size(); ++j) {
    Eigen::VectorXd up = point;
    Eigen::VectorXd down = point;
    up[j] += kStep;
    down[j] -= kStep;
    const double slope = (std::pow(lp_norm(up, p), 2.0) - std::pow(lp_norm(down, p), 2.0)) / (4.0 * kStep);
    EXPECT_NEAR(slope, image[j], 1e-6);
  }
}

}  // namespace
}  // namespace undertone::geometry
