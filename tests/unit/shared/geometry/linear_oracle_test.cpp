#include "shared/geometry/linear_oracle.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "shared/geometry/gaussian_width.hpp"
#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using Eigen::VectorXd;

VectorXd minimiser(const Result<Domain>& domain, const VectorXd& gradient) {
  VectorXd out(gradient.size());
  LinearOracle::create(domain.value(), gradient.size())->minimise(gradient, out);
  return out;
}

std::vector<Domain> bounded_domains() {
  return {
      Domain::l2_ball(1.5).value(),         Domain::box(-0.5, 1.25).value(),      Domain::l1_ball(1.75).value(),
      Domain::simplex(2.0).value(),         Domain::group_ball(1.5, 4).value(),   Domain::mixed_ball(1.5, 0.3).value(),
      Domain::mixed_ball(1.5, 0.0).value(), Domain::mixed_ball(1.5, 1.0).value(), Domain::nuclear_ball(1.5, 4).value()};
}

TEST(LinearOracleTest, FindsTheExtremePointByHand) {
  const Eigen::Vector4d gradient(3.0, -4.0, 0.0, 1.0);
  EXPECT_LE((minimiser(Domain::l2_ball(2.0), Eigen::Vector2d(3.0, -4.0)) - Eigen::Vector2d(-1.2, 1.6)).norm(), 1e-15);
  EXPECT_EQ(minimiser(Domain::box(-1.0, 2.0), gradient), Eigen::Vector4d(-1.0, 2.0, 2.0, -1.0));
  EXPECT_EQ(minimiser(Domain::l1_ball(2.0), gradient), Eigen::Vector4d(0.0, 2.0, 0.0, 0.0));
  EXPECT_EQ(minimiser(Domain::simplex(2.0), gradient), Eigen::Vector4d(0.0, 2.0, 0.0, 0.0));
  EXPECT_LE((minimiser(Domain::group_ball(2.0, 2), gradient) - Eigen::Vector4d(-1.2, 1.6, 0.0, 0.0)).norm(), 1e-15);
  // diag(3, -4): the larger singular value is 4, of the second corner.
  EXPECT_LE((minimiser(Domain::nuclear_ball(2.0, 2), Eigen::Vector4d(3.0, 0.0, 0.0, -4.0)) -
             Eigen::Vector4d(0.0, 0.0, 0.0, 2.0))
                .norm(),
            1e-14);
}

TEST(LinearOracleTest, ChoosesAmongListedVertices) {
  Eigen::MatrixXd corners(2, 3);
  corners << 0.0, 4.0, 0.0, 0.0, 0.0, 2.0;
  const LinearOracle oracle = LinearOracle::over(Vertices::listed(corners).value());
  VectorXd out(2);
  oracle.minimise(Eigen::Vector2d(-1.0, -1.0), out);
  EXPECT_EQ(out, Eigen::Vector2d(4.0, 0.0));
  oracle.minimise(Eigen::Vector2d(-1.0, -3.0), out);
  EXPECT_EQ(out, Eigen::Vector2d(0.0, 2.0));
  EXPECT_GE(oracle.diameter(), std::sqrt(20.0));
}

// The minimiser is in the set, and <g, y> >= <g, minimiser> at projections y of random points and at the oracle's own
// points for other directions.
TEST(LinearOracleTest, NoPointOfTheSetIsLower) {
  for (const Domain& domain : bounded_domains()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", domain.name(), seed));
      RandomSource random(seed);
      const VectorXd gradient = test::random_point(random, 12, 1.0);
      const VectorXd best = minimiser(domain, gradient);
      EXPECT_TRUE(domain.contains(best, 1e-12));
      for (int k = 0; k < 20; ++k) {
        VectorXd other = test::random_point(random, 12, 3.0);
        domain.project(other);
        EXPECT_LE(gradient.dot(best), gradient.dot(other) + 1e-12);
        EXPECT_LE(gradient.dot(best), gradient.dot(minimiser(domain, test::random_point(random, 12, 1.0))) + 1e-12);
      }
      EXPECT_TRUE(domain.contains(minimiser(domain, VectorXd::Zero(12)), 1e-12));
    }
  }
}

// p is the projection of z exactly when p is in C and <z - p, w - p> <= 0 on C: at the oracle's w.
TEST(LinearOracleTest, AgreesWithTheProjections) {
  for (const Domain& domain : bounded_domains()) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", domain.name(), seed));
      RandomSource random(seed);
      VectorXd z = test::random_point(random, 12, std::pow(10.0, 3.0 * random.unit() - 1.5));
      if (random.chance(0.3)) z = z.array().round();
      VectorXd p = z;
      domain.project(p);
      const VectorXd farthest = minimiser(domain, p - z);
      EXPECT_LE((z - p).dot(farthest - p), 1e-11 * (1.0 + z.norm()));
      VectorXd again = p;
      domain.project(again);
      EXPECT_LE((again - p).norm(), 1e-13);
    }
  }
}

TEST(LinearOracleTest, DiametersAndRadiiHoldTheSet) {
  for (const Domain& domain : bounded_domains()) {
    SCOPED_TRACE(domain.name());
    RandomSource random(5);
    const LinearOracle oracle = LinearOracle::create(domain, 12).value();
    double apart = 0.0;
    for (int k = 0; k < 400; ++k) {
      const VectorXd direction = test::random_point(random, 12, 1.0);
      const VectorXd a = minimiser(domain, direction);
      const VectorXd b = minimiser(domain, -direction);
      apart = std::max(apart, (a - b).norm());
      EXPECT_LE(a.norm(), domain.radius(12).value() + 1e-12);
    }
    EXPECT_LE(apart, oracle.diameter() + 1e-12);
    EXPECT_GE(apart, 0.4 * oracle.diameter());
  }
}

TEST(LinearOracleTest, RefusesWhatHasNone) {
  const auto whole = LinearOracle::create(Domain::whole_space(), 3);
  ASSERT_FALSE(whole);
  EXPECT_NE(whole.error().message.find("expected the l2 ball, the box"), std::string::npos);
  EXPECT_FALSE(LinearOracle::create(Domain::nuclear_ball(1.0, 4).value(), 6));
  EXPECT_FALSE(Domain::group_ball(1.0, 0));
  EXPECT_FALSE(Domain::group_ball(0.0, 2));
  EXPECT_FALSE(Domain::mixed_ball(1.0, 1.5));
  EXPECT_FALSE(Domain::mixed_ball(1.0, std::nan("")));
  EXPECT_FALSE(Domain::nuclear_ball(1.0, 0));
  EXPECT_FALSE(Domain::nuclear_ball(HUGE_VAL, 2));
  EXPECT_FALSE(Domain::nuclear_ball(1.0, 2)->fits(Domain::kMatrixNumbersMax + 2));
}

/// E sup over C of <g, x> from draws of g.
struct MeasuredWidth {
  double mean = 0.0;
  double error = 0.0;  // standard error
};
MeasuredWidth measured_width(const LinearOracle& oracle, int draws) {
  RandomSource random(17);
  VectorXd g(oracle.dimension());
  VectorXd x(oracle.dimension());
  double sum = 0.0;
  double squares = 0.0;
  for (int k = 0; k < draws; ++k) {
    for (double& v : g)
      v = std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(2.0 * std::numbers::pi * random.unit());
    oracle.minimise(g, x);
    sum -= g.dot(x);
    squares += g.dot(x) * g.dot(x);
  }
  const double mean = sum / draws;
  return {mean, std::sqrt((squares / draws - mean * mean) / draws)};
}

// G1. Five standard errors: a false alarm in 3e6 for each.
TEST(GaussianWidthTest, IsNoLessThanWhatTheOracleMeasures) {
  for (const Domain& domain : bounded_domains()) {
    SCOPED_TRACE(domain.name());
    const LinearOracle oracle = LinearOracle::create(domain, 64).value();
    const MeasuredWidth measured = measured_width(oracle, 400);
    EXPECT_LE(measured.mean, oracle.width() + 5.0 * measured.error);
    EXPECT_GE(measured.mean, 0.6 * oracle.width());
  }
}

TEST(GaussianWidthTest, MatchesTheSpecsFigures) {
  const auto l1 = [](Eigen::Index d) {
    return measured_width(LinearOracle::create(Domain::l1_ball(1.0).value(), d).value(), 1000).mean;
  };
  EXPECT_NEAR(l1(16), 2.09, 0.06);
  EXPECT_NEAR(l1(256), 3.05, 0.05);
  EXPECT_NEAR(gaussian_width(Domain::l1_ball(1.0).value(), 4096), 4.25, 0.005);
  EXPECT_NEAR(gaussian_width(Domain::l2_ball(1.0).value(), 16), 3.938, 0.001);  // sqrt 2 Gamma(17/2)/Gamma(8)
  EXPECT_NEAR(mean_gaussian_norm(1), std::sqrt(2.0 / std::numbers::pi), 1e-15);
  EXPECT_NEAR(gaussian_width(Domain::box(-1.0, 1.0).value(), 10), 10.0 * std::sqrt(2.0 / std::numbers::pi), 1e-13);
  EXPECT_NEAR(gaussian_width(Domain::nuclear_ball(1.0, 9).value(), 144), 3.0 + 4.0, 1e-14);
  EXPECT_NEAR(gaussian_width(Domain::group_ball(2.0, 4).value(), 16), 2.0 * (2.0 + std::sqrt(2.0 * std::log(4.0))),
              1e-14);
}

}  // namespace
}  // namespace undertone::geometry
