#include "shared/geometry/domain.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/geometry/last_where.hpp"
#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using test::known_sets;
using test::KnownSet;
using test::random_point;

Eigen::VectorXd projected(const Domain& domain, Eigen::VectorXd point) {
  domain.project(point);
  return point;
}

TEST(DomainTest, ProjectsOntoTheBoxCoordinateByCoordinate) {
  EXPECT_EQ(projected(Domain::box(-1.0, 2.0).value(), Eigen::Vector3d(-3.0, 0.5, 7.0)),
            Eigen::Vector3d(-1.0, 0.5, 2.0));
}

TEST(DomainTest, ProjectsOntoTheSimplexAsComputedByHand) {
  const Domain simplex = Domain::simplex(1.0).value();
  // Support {1, 2}: tau = (1 + 0.5 - 1) / 2 = 1/4, and the third, -1, is below it.
  EXPECT_EQ(projected(simplex, Eigen::Vector3d(1.0, 0.5, -1.0)), Eigen::Vector3d(0.75, 0.25, 0.0));
  // One coordinate leads by more than the scale: a vertex.
  EXPECT_EQ(projected(simplex, Eigen::Vector3d(-7.0, 3.0, 1.5)), Eigen::Vector3d(0.0, 1.0, 0.0));
  // In dimension 1 it is a point.
  EXPECT_EQ(projected(simplex, Eigen::VectorXd::Constant(1, -9.0))[0], 1.0);
}

TEST(DomainTest, ProjectsOntoTheL1BallAsComputedByHand) {
  const Domain ball = Domain::l1_ball(1.0).value();
  // |x| = (2, 1.5, 0.25): tau = (2 + 1.5 - 1) / 2 = 1.25 >= 0.25.
  EXPECT_EQ(projected(ball, Eigen::Vector3d(-2.0, 1.5, -0.25)), Eigen::Vector3d(-0.75, 0.25, 0.0));
  EXPECT_EQ(projected(ball, Eigen::Vector3d(0.5, -0.25, 0.25)), Eigen::Vector3d(0.5, -0.25, 0.25));
  // Just outside, by 2^-20: half of that off each of the two.
  EXPECT_EQ(projected(ball, Eigen::Vector2d(0.75, 0.25 + 0x1p-20)), Eigen::Vector2d(0.75 - 0x1p-21, 0.25 + 0x1p-21));
}

TEST(DomainTest, ProjectsOntoTheL2BallBitForBitAsL2BallDoes) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const Eigen::VectorXd point = random_point(random, 7, 2.0);
    Eigen::VectorXd expected = point;
    const double norm = point.stableNorm();
    if (norm > 1.5) expected *= 1.5 / norm;
    EXPECT_EQ(projected(Domain::l2_ball(1.5).value(), point), expected);
  }
}

// p is the projection of z exactly when p is in W and <z - p, w - p> <= 0 on W, that is support(z - p) <= <z - p, p>.
TEST(DomainTest, ProjectionMeetsTheVariationalInequality) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const auto d = static_cast<Eigen::Index>(1 + random.below(40));
      Eigen::VectorXd z = random_point(random, d, std::pow(10.0, 4.0 * random.unit() - 2.0));
      if (random.chance(0.3)) z = z.array().round();  // ties
      const Eigen::VectorXd p = projected(set.domain, z);
      const double rounding = 1e-14 * (1.0 + z.norm()) * std::sqrt(static_cast<double>(d));
      EXPECT_LE(set.violation(p), rounding);
      EXPECT_LE(set.support(z - p), (z - p).dot(p) + 4.0 * rounding);
    }
  }
}

TEST(DomainTest, ProjectionIsNoFartherThanAnyPointOfAGrid) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const Eigen::Vector2d z = random_point(random, 2, 3.0);
      const double distance = (projected(set.domain, z) - z).norm();
      double nearest = HUGE_VAL;
      for (int i = -300; i <= 300; ++i) {  // the simplex is met at its own points: 2 is a multiple of the step
        for (int j = -300; j <= 300; ++j) {
          const Eigen::Vector2d w(i / 100.0, j / 100.0);
          const double farther = (w - z).norm();
          if (farther < nearest && set.violation(w) <= 1e-12) nearest = farther;
        }
      }
      EXPECT_LE(distance, nearest + 1e-12);
      EXPECT_GE(distance, nearest - 0.015);  // the grid's own error: sqrt(2) steps of 1/100
    }
  }
}

TEST(DomainTest, ProjectionIsIdempotentAndNonExpansive) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const Eigen::VectorXd a = random_point(random, 9, 3.0);
      const Eigen::VectorXd b = a + random_point(random, 9, 2.0 * random.unit());
      const Eigen::VectorXd pa = projected(set.domain, a);
      const Eigen::VectorXd pb = projected(set.domain, b);
      EXPECT_LE((projected(set.domain, pa) - pa).norm(), 1e-15);
      EXPECT_LE((pa - pb).norm(), (a - b).norm() * (1.0 + 1e-14));
    }
  }
}

TEST(DomainTest, ContainsItsSamplesAndNothingFarther) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      EXPECT_TRUE(set.domain.contains(set.sample(random, 5), 1e-14));
      const Eigen::VectorXd z = random_point(random, 5, 4.0);
      const double distance = (projected(set.domain, z) - z).norm();
      EXPECT_TRUE(set.domain.contains(z, distance * 1.000001));
      EXPECT_EQ(set.domain.contains(z, distance * 0.999999), distance == 0.0);
    }
    EXPECT_FALSE(set.domain.contains(Eigen::Vector2d(0.0, std::nan("")), HUGE_VAL));
    EXPECT_FALSE(set.domain.contains(Eigen::Vector2d(HUGE_VAL, 0.0), HUGE_VAL));
  }
}

TEST(DomainTest, DiametersAreThoseOfTheFigures) {
  EXPECT_FALSE(Domain::whole_space().diameter(3));
  EXPECT_EQ(Domain::l2_ball(1.5)->diameter(3), 3.0);
  EXPECT_EQ(Domain::box(-1.0, 2.0)->diameter(4), 6.0);  // sqrt(4) 3
  EXPECT_EQ(Domain::l1_ball(1.5)->diameter(3), 3.0);
  EXPECT_EQ(Domain::simplex(2.0)->diameter(1), 0.0);
  EXPECT_DOUBLE_EQ(Domain::simplex(2.0)->diameter(3).value(), std::sqrt(8.0));  // (2, 0, 0) to (0, 2, 0)
}

TEST(DomainTest, NoTwoSamplesAreFartherThanTheDiameter) {
  for (const KnownSet& set : known_sets()) {
    RandomSource random(1);
    for (int i = 0; i < 300 && set.domain.diameter(6); ++i) {
      const double distance = (set.sample(random, 6) - set.sample(random, 6)).norm();
      EXPECT_LE(distance, *set.domain.diameter(6) + 1e-14) << set.name;
    }
  }
}

TEST(DomainTest, StartsAtTheNearestPointToZero) {
  EXPECT_EQ(Domain::whole_space().a_point(2), Eigen::Vector2d(0.0, 0.0));
  EXPECT_EQ(Domain::l2_ball(1.0)->a_point(2), Eigen::Vector2d(0.0, 0.0));
  EXPECT_EQ(Domain::l1_ball(1.0)->a_point(2), Eigen::Vector2d(0.0, 0.0));
  EXPECT_EQ(Domain::box(-1.0, 1.0)->a_point(2), Eigen::Vector2d(0.0, 0.0));
  EXPECT_EQ(Domain::box(0.5, 1.0)->a_point(2), Eigen::Vector2d(0.5, 0.5));
  EXPECT_EQ(Domain::box(-2.0, -1.0)->a_point(2), Eigen::Vector2d(-1.0, -1.0));
  EXPECT_EQ(Domain::simplex(3.0)->a_point(4), Eigen::Vector4d::Constant(0.75));
}

TEST(DomainTest, HugeAndTinyPointsAreProjectedToo) {
  for (const KnownSet& set : known_sets()) {
    if (set.name == "whole") continue;
    SCOPED_TRACE(set.name);
    // Far out the projection is the point of the set that is farthest in the direction of the point.
    for (const double size : {1e20, 1e150, 1e300}) {
      const Eigen::VectorXd z = size * Eigen::Vector3d(1.0, -0.5, 0.25);
      const Eigen::VectorXd p = projected(set.domain, z);
      EXPECT_LE(set.violation(p), 1e-15);
      EXPECT_NEAR((z / size).dot(p), set.support(z / size), 1e-15);
    }
    const Eigen::VectorXd tiny = Eigen::Vector3d::Constant(std::numeric_limits<double>::denorm_min());
    EXPECT_LE((projected(set.domain, tiny) - set.domain.a_point(3)).norm(), 1e-15);
  }
}

TEST(DomainTest, OppositeExtremesDoNotOverflow) {
  const Eigen::Vector3d z(1e308, 1e308, -1e308);  // their difference is beyond every double
  EXPECT_EQ(projected(Domain::simplex(1.0).value(), z), Eigen::Vector3d(0.5, 0.5, 0.0));
  EXPECT_LE((projected(Domain::l1_ball(1.0).value(), z) - Eigen::Vector3d(1.0, 1.0, -1.0) / 3.0).norm(), 1e-15);
  EXPECT_LE((projected(Domain::l2_ball(1e-10).value(), z) - 1e-10 * Eigen::Vector3d(1, 1, -1) / std::sqrt(3.0)).norm(),
            1e-25);
}

TEST(DomainTest, ParametersOutOfRangeAreRefused) {
  for (const double bad : {0.0, -0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL, 1.1e100}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(Domain::l2_ball(bad));
    EXPECT_FALSE(Domain::l1_ball(bad));
    EXPECT_FALSE(Domain::simplex(bad));
  }
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1.1e100, -1.1e100}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(Domain::box(bad, 1.0));
    EXPECT_FALSE(Domain::box(0.0, bad));
  }
  EXPECT_EQ(Domain::box(1.0, 0.5).error().message,
            "the bounds of a box must be ordered and at most 1e+100 in absolute value, got [1, 0.5]");
  EXPECT_TRUE(Domain::box(0.5, 0.5));
}

TEST(DomainDeathTest, APointThatIsNotFiniteStopsTheProcess) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Eigen::VectorXd point = Eigen::Vector2d(0.0, bad);
    EXPECT_DEATH(Domain::whole_space().project(point), "has_finite_norm");
    EXPECT_DEATH(Domain::simplex(1.0)->project(point), "has_finite_norm");
  }
}

TEST(LastWhereTest, FindsTheLastDoubleOfAnyBracket) {
  for (const double edge : {0.0, 5e-324, 1e-310, 1e-20, 1.0 / 3.0, 1.0, 1e300}) {
    int calls = 0;
    const double found = last_where(0.0, std::numeric_limits<double>::max(), [&](double x) {
      ++calls;
      return x <= edge;
    });
    EXPECT_EQ(found, edge);
    EXPECT_LE(calls, 63);
  }
  EXPECT_EQ(last_where(2.0, 2.0, [](double) { return false; }), 2.0);
}

}  // namespace
}  // namespace undertone::geometry
