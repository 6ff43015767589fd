#include "shared/geometry/local_domain.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using test::known_sets;
using test::KnownSet;
using test::random_point;

Eigen::VectorXd projected(const Domain& domain, const Eigen::VectorXd& centre, double radius, Eigen::VectorXd point) {
  LocalDomain::create(domain, centre, radius)->project(point);
  return point;
}

/// Dykstra's alternating projections: slow, and right in the limit.
Eigen::VectorXd by_dykstra(const Domain& domain, const Eigen::VectorXd& centre, double radius,
                           const Eigen::VectorXd& point) {
  Eigen::VectorXd x = point;
  Eigen::VectorXd p = Eigen::VectorXd::Zero(point.size());
  Eigen::VectorXd q = p;
  for (int i = 0; i < 100000; ++i) {
    Eigen::VectorXd y = x + p;
    domain.project(y);
    p = x + p - y;
    const Eigen::VectorXd last = x;
    x = y + q;
    if ((x - centre).norm() > radius) x = centre + (x - centre) * (radius / (x - centre).norm());
    q = y + q - x;
    if ((x - y).norm() < 1e-14 && (x - last).norm() < 1e-15) break;
  }
  return x;
}

TEST(LocalDomainTest, TakesTheProjectionOntoTheDomainWhereTheBallHoldsIt) {
  const Domain box = Domain::box(-1.0, 1.0).value();
  EXPECT_EQ(projected(box, Eigen::Vector2d(0, 0), 2.0, Eigen::Vector2d(5.0, 0.25)), Eigen::Vector2d(1.0, 0.25));
  EXPECT_EQ(projected(box, Eigen::Vector2d(0, 0), 2.0, Eigen::Vector2d(0.5, 0.25)), Eigen::Vector2d(0.5, 0.25));
}

TEST(LocalDomainTest, TakesTheProjectionOntoTheBallWhereTheDomainHoldsIt) {
  // (4, 3) has norm 5: to norm 1/2.
  EXPECT_LE((projected(Domain::box(-1.0, 1.0).value(), Eigen::Vector2d(0, 0), 0.5, Eigen::Vector2d(4.0, 3.0)) -
             Eigen::Vector2d(0.4, 0.3))
                .norm(),
            1e-16);
  EXPECT_EQ(projected(Domain::whole_space(), Eigen::Vector2d(1, 1), 2.0, Eigen::Vector2d(1.0, 7.0)),
            Eigen::Vector2d(1.0, 3.0));
}

TEST(LocalDomainTest, ProjectsOntoTheCornersOfTwoBoundariesAsComputedByHand) {
  // The box ends at x = 0.6, the unit circle meets it at (0.6, -0.8). The normals there span the cone of what is
  // projected onto it: (3, -2) = (0.6, -0.8) + 1.5 (1, 0) + 1.5 (0.6, -0.8).
  const Eigen::VectorXd corner =
      projected(Domain::box(-5.0, 0.6).value(), Eigen::Vector2d(0, 0), 1.0, Eigen::Vector2d(3.0, -2.0));
  EXPECT_LE((corner - Eigen::Vector2d(0.6, -0.8)).norm(), 1e-15);
  // Unit circles around (0, 0) and (1.2, 0) meet at (0.6, 0.8).
  const Eigen::VectorXd tip =
      projected(Domain::l2_ball(1.0).value(), Eigen::Vector2d(1.2, 0), 1.0, Eigen::Vector2d(0.6, 9.0));
  EXPECT_LE((tip - Eigen::Vector2d(0.6, 0.8)).norm(), 1e-15);
}

TEST(LocalDomainTest, AgreesWithDykstra) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const auto d = static_cast<Eigen::Index>(2 + random.below(6));
      const Eigen::VectorXd centre = set.sample(random, d);
      const double radius = 0.1 + 1.5 * random.unit();
      const Eigen::VectorXd z = random_point(random, d, 4.0);
      const Eigen::VectorXd expected = by_dykstra(set.domain, centre, radius, z);
      EXPECT_LE((projected(set.domain, centre, radius, z) - expected).norm(), 1e-7);
    }
  }
}

// Of all points of the intersection none is nearer: <z - p, w - p> <= 0. With the segment from the centre, in W, to any
// point w of W, the part within the radius is in the intersection.
TEST(LocalDomainTest, MeetsTheVariationalInequality) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const auto d = static_cast<Eigen::Index>(2 + random.below(30));
      const Eigen::VectorXd centre = set.sample(random, d);
      const double radius = 0.1 + 1.5 * random.unit();
      const Eigen::VectorXd z = random_point(random, d, 4.0);
      const Eigen::VectorXd p = projected(set.domain, centre, radius, z);
      EXPECT_LE(set.violation(p), 1e-14);
      EXPECT_LE((p - centre).norm(), radius * (1.0 + 1e-14));
      for (int i = 0; i < 300; ++i) {
        Eigen::VectorXd w = set.sample(random, d);
        if (i % 2 == 1) w = p + 0.1 * (w - p);
        const double distance = (w - centre).norm();
        if (distance > radius) w = centre + (w - centre) * (radius / distance);
        EXPECT_LE((z - p).dot(w - p), 1e-12);
      }
    }
  }
}

TEST(LocalDomainTest, ACentreOutsideTheDomainWillDo) {
  // Discs of radius 1 at (0, 0) and (1.5, 0) meet at x = 0.75, y = +-sqrt(1 - 0.5625); (0.75, 5) falls on the upper
  // tip.
  const Eigen::Vector2d tip(0.75, std::sqrt(0.4375));
  EXPECT_LE(
      (projected(Domain::l2_ball(1.0).value(), Eigen::Vector2d(1.5, 0), 1.0, Eigen::Vector2d(0.75, 5.0)) - tip).norm(),
      1e-14);
  // Its own centre is no point of the set: (1, 0) is the nearest.
  EXPECT_EQ(projected(Domain::l2_ball(1.0).value(), Eigen::Vector2d(1.5, 0), 1.0, Eigen::Vector2d(1.5, 0)),
            Eigen::Vector2d(1.0, 0.0));
}

TEST(LocalDomainTest, ATangentBallLeavesOnePoint) {
  // The discs touch at (1, 0) alone. Rounding of the radius by 1e-16 opens a lens of half height sqrt(1e-16).
  const Eigen::VectorXd p =
      projected(Domain::l2_ball(1.0).value(), Eigen::Vector2d(2.0, 0), 1.0, Eigen::Vector2d(1.0, 3.0));
  EXPECT_LE((p - Eigen::Vector2d(1.0, 0.0)).norm(), 1e-7);
}

TEST(LocalDomainTest, IsIdempotentAndNonExpansive) {
  for (const KnownSet& set : known_sets()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", set.name, seed));
      RandomSource random(seed);
      const Eigen::VectorXd centre = set.sample(random, 5);
      const Eigen::VectorXd a = random_point(random, 5, 4.0);
      const Eigen::VectorXd b = random_point(random, 5, 4.0);
      const Eigen::VectorXd pa = projected(set.domain, centre, 0.7, a);
      const Eigen::VectorXd pb = projected(set.domain, centre, 0.7, b);
      EXPECT_LE((projected(set.domain, centre, 0.7, pa) - pa).norm(), 1e-12);
      EXPECT_LE((pa - pb).norm(), (a - b).norm() + 1e-12);
    }
  }
}

TEST(LocalDomainTest, HugePointsAndTinyRadiiAreProjectedToo) {
  for (const KnownSet& set : known_sets()) {
    for (const double radius : {1e-9, 1e-3, 1.0}) {
      for (const double size : {1e10, 1e300}) {
        SCOPED_TRACE(fmt::format("{} radius {} size {}", set.name, radius, size));
        const Eigen::VectorXd centre = set.domain.a_point(3);
        const Eigen::VectorXd p = projected(set.domain, centre, radius, size * Eigen::Vector3d(1.0, -0.5, 0.25));
        EXPECT_LE((p - centre).norm(), radius * (1.0 + 1e-14) + 1e-16);
        EXPECT_LE(set.violation(p), 1e-15);
        EXPECT_GE((p - centre).norm(), radius * (1.0 - 1e-14) - 1e-15);  // none of the sets ends before the ball here
      }
    }
  }
}

TEST(LocalDomainTest, ABallThatMissesTheDomainIsRefused) {
  EXPECT_EQ(LocalDomain::create(Domain::l2_ball(1.0).value(), Eigen::Vector2d(3.0, 0.0), 1.5).error().message,
            "the l2 ball is at distance 2 of the centre, the radius is 1.5");
}

TEST(LocalDomainTest, ParametersOutOfRangeAreRefused) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, 1.1e100}) {
    EXPECT_FALSE(LocalDomain::create(Domain::whole_space(), Eigen::Vector2d(0, 0), bad));
  }
  for (const double bad : {std::nan(""), HUGE_VAL, 1.1e100}) {
    EXPECT_FALSE(LocalDomain::create(Domain::whole_space(), Eigen::Vector2d(0, bad), 1.0));
  }
  EXPECT_FALSE(LocalDomain::create(Domain::whole_space(), Eigen::VectorXd(), 1.0));
}

}  // namespace
}  // namespace undertone::geometry
