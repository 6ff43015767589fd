#include "shared/geometry/proximal_step.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using test::known_sets;
using test::KnownSet;
using test::random_point;

struct Case {
  KnownSet set;
  Regulariser regulariser;
  Eigen::Index dimension;
  ProximalStep step;
};

/// Every pair that has a proximal map, in dimension d, with all coordinates regularised or all but some.
std::vector<Case> cases(Eigen::Index d) {
  std::vector<Case> out;
  for (const KnownSet& set : known_sets()) {
    for (const Eigen::Index regularised : std::set<Eigen::Index>{d, d - 1, d - d % 2, 2}) {
      for (const auto& regulariser :
           {Regulariser::l1(0.4, regularised), Regulariser::squared_l2(0.8, regularised),
            Regulariser::elastic_net(0.3, 1.5, regularised), Regulariser::group_lasso(0.3, 2, regularised)}) {
        if (!regulariser) continue;  // an odd count has no groups of two
        const Result<ProximalStep> step = ProximalStep::create(set.domain, *regulariser, d);
        if (step) out.push_back({set, *regulariser, d, *step});
      }
    }
  }
  return out;
}

std::string name_of(const Case& c) {
  return fmt::format("{} with {} on {} of {}", c.set.name, c.regulariser.name(), c.regulariser.regularised(),
                     c.dimension);
}

/// g written out once more.
double penalty(const Regulariser& g, const Eigen::VectorXd& w) {
  double out = 0.0;
  for (Eigen::Index i = 0; i < g.regularised(); ++i) out += g.l1() * std::abs(w[i]) + g.l2() / 2.0 * w[i] * w[i];
  for (Eigen::Index i = 0; g.group() > 0.0 && i < g.regularised(); i += 2) {
    out += g.group() * std::sqrt(2.0) * std::hypot(w[i], w[i + 1]);
  }
  return out;
}

double objective(const Case& c, double step_size, const Eigen::VectorXd& z, const Eigen::VectorXd& y) {
  return step_size * penalty(c.regulariser, y) + 0.5 * (y - z).squaredNorm();
}

Eigen::VectorXd applied(const Case& c, double step_size, Eigen::VectorXd z) {
  c.step.apply(step_size, z);
  return z;
}

/// The smallest objective on grids of feasible points that close in on the best so far. On the simplex the last
/// coordinate is what the others leave.
double smallest_by_search(const Case& c, double step_size, const Eigen::VectorXd& z) {
  const bool simplex = c.set.name == "simplex";
  const Eigen::Index free = simplex ? c.dimension - 1 : c.dimension;
  const int side = free == 3 ? 12 : 40;
  Eigen::VectorXd centre = Eigen::VectorXd::Constant(free, simplex ? 0.5 : 0.0);
  double best = HUGE_VAL;
  for (double half = 4.0; half > 1e-5; half *= 0.75) {
    Eigen::VectorXd best_at = centre;
    std::vector<int> at(static_cast<std::size_t>(free), -side);
    Eigen::VectorXd y(c.dimension);
    for (bool more = true; more;) {
      for (Eigen::Index i = 0; i < free; ++i) y[i] = centre[i] + half / side * at[static_cast<std::size_t>(i)];
      if (simplex) y[free] = 2.0 - y.head(free).sum();
      if (c.set.violation(y) <= 0.0 || (simplex && c.set.violation(y) <= 1e-15)) {
        const double value = objective(c, step_size, z, y);
        if (value < best) {
          best = value;
          best_at = y.head(free);
        }
      }
      more = false;
      for (int& index : at) {
        if (++index <= side) {
          more = true;
          break;
        }
        index = -side;
      }
    }
    centre = best_at;
  }
  return best;
}

TEST(ProximalStepTest, IsNotBeatenByAGridSearchInTwoAndThreeDimensions) {
  for (const Eigen::Index d : {2, 3}) {
    for (const Case& c : cases(d)) {
      for (std::uint64_t seed = 0; seed < (d == 2 ? 6 : 2); ++seed) {
        SCOPED_TRACE(fmt::format("{} seed {}", name_of(c), seed));
        RandomSource random(seed);
        const Eigen::VectorXd z = random_point(random, d, 2.5);
        const double step_size = 0.2 + 1.5 * random.unit();
        const Eigen::VectorXd y = applied(c, step_size, z);
        const double best = smallest_by_search(c, step_size, z);
        EXPECT_LE(c.set.violation(y), 1e-14);
        EXPECT_LE(objective(c, step_size, z, y), best + 1e-13);
        EXPECT_GE(objective(c, step_size, z, y), best - 1e-4);  // the search did get there
      }
    }
  }
}

// y minimises step g + 1/2 ||. - z||^2 over W exactly when step (g(w) - g(y)) >= <z - y, w - y> for every w in W.
TEST(ProximalStepTest, MeetsTheVariationalInequality) {
  for (const Eigen::Index d : {2, 3, 7, 20}) {
    for (const Case& c : cases(d)) {
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        SCOPED_TRACE(fmt::format("{} seed {}", name_of(c), seed));
        RandomSource random(seed);
        const Eigen::VectorXd z = random_point(random, d, std::pow(10.0, 2.0 * random.unit() - 1.0));
        const double step_size = std::pow(10.0, 3.0 * random.unit() - 2.0);
        const Eigen::VectorXd y = applied(c, step_size, z);
        EXPECT_LE(c.set.violation(y), 1e-14);
        double worst = HUGE_VAL;
        for (int i = 0; i < 200; ++i) {
          Eigen::VectorXd w = c.set.sample(random, d);
          if (i % 4 != 0) w = y + std::pow(10.0, -(i % 4)) * (w - y);
          const double scale = (w - y).norm() + 1e-4 /* rounding */;
          worst = std::min(
              worst,
              (step_size * (penalty(c.regulariser, w) - penalty(c.regulariser, y)) - (z - y).dot(w - y)) / scale);
        }
        EXPECT_GE(worst, -1e-10);
      }
    }
  }
}

TEST(ProximalStepTest, IsNonExpansive) {
  for (const Case& c : cases(5)) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", name_of(c), seed));
      RandomSource random(seed);
      const Eigen::VectorXd a = random_point(random, 5, 3.0);
      const Eigen::VectorXd b = a + random_point(random, 5, 2.0 * random.unit());
      EXPECT_LE((applied(c, 0.7, a) - applied(c, 0.7, b)).norm(), (a - b).norm() * (1.0 + 1e-13));
    }
  }
}

TEST(ProximalStepTest, WithoutARegulariserItIsTheProjection) {
  for (const KnownSet& set : known_sets()) {
    RandomSource random(1);
    const Eigen::VectorXd z = random_point(random, 6, 3.0);
    Eigen::VectorXd expected = z;
    set.domain.project(expected);
    Eigen::VectorXd y = z;
    ProximalStep::create(set.domain, Regulariser::none(), 6)->apply(0.3, y);
    EXPECT_EQ(y, expected);
  }
}

TEST(ProximalStepTest, TheL1NormIsConstantOnTheSimplexOnlyIfAllIsRegularised) {
  const Domain simplex = Domain::simplex(1.0).value();
  const auto apply = [&](double strength, Eigen::Index regularised) {
    Eigen::VectorXd y = Eigen::Vector2d(0.75, 0.25);
    ProximalStep::create(simplex, Regulariser::l1(strength, regularised).value(), 2)->apply(0.5, y);
    return y;
  };
  EXPECT_EQ(apply(0.5, 2), Eigen::Vector2d(0.75, 0.25));
  EXPECT_EQ(apply(1e100, 2), Eigen::Vector2d(0.75, 0.25));
  // The first is shifted to 1/2; then tau = (0.5 + 0.25 - 1) / 2 = -1/8.
  EXPECT_EQ(apply(0.5, 1), Eigen::Vector2d(0.625, 0.375));
}

TEST(ProximalStepTest, AnInterceptInAnL2BallIsShrunkByTheBallAlone) {
  // a = 1 + 1 on the first. With multiplier m = 1: (0.6 * 3 / 3, 0.8 * 2 / 2), of norm 1.
  Eigen::VectorXd y = Eigen::Vector2d(1.8, 1.6);
  ProximalStep::create(Domain::l2_ball(1.0).value(), Regulariser::squared_l2(2.0, 1).value(), 2)->apply(0.5, y);
  EXPECT_LE((y - Eigen::Vector2d(0.6, 0.8)).norm(), 1e-15);
  // Well inside nothing else happens.
  y = Eigen::Vector2d(0.5, 0.25);
  ProximalStep::create(Domain::l2_ball(1.0).value(), Regulariser::squared_l2(2.0, 1).value(), 2)->apply(0.5, y);
  EXPECT_LE((y - Eigen::Vector2d(0.25, 0.25)).norm(), 1e-16);
}

TEST(ProximalStepTest, ExtremesStayInTheDomain) {
  for (const Case& c : cases(4)) {
    for (const double step_size : {1e-300, 1e-10, 1e10, 1e100}) {
      for (const double size : {0.0, 1e-310, 1e10, 1e300}) {
        SCOPED_TRACE(fmt::format("{} step {} size {}", name_of(c), step_size, size));
        const Eigen::VectorXd y = applied(c, step_size, size * Eigen::Vector4d(1.0, -0.5, 1.0, 0.25));
        EXPECT_TRUE(y.allFinite());
        EXPECT_LE(c.set.violation(y), 1e-14);
      }
    }
  }
}

TEST(ProximalStepTest, TheMappingIsTheGradientWhereNothingElseIs) {
  const ProximalStep step = ProximalStep::create(Domain::whole_space(), Regulariser::none(), 2).value();
  Eigen::VectorXd mapping(2);
  step.proximal_gradient_mapping(Eigen::Vector2d(1.0, 2.0), Eigen::Vector2d(4.0, -2.0), 0.5, mapping);
  EXPECT_EQ(mapping, Eigen::Vector2d(4.0, -2.0));
}

TEST(ProximalStepTest, TheMappingIsAsComputedByHand) {
  // w - eta gradient = (-1, 3); soft threshold 1/2: (-0.5, 2.5); into the box [0, 2]: (0, 2); (w - that) / eta = (2,
  // 0).
  const ProximalStep step =
      ProximalStep::create(Domain::box(0.0, 2.0).value(), Regulariser::l1(1.0, 2).value(), 2).value();
  Eigen::VectorXd mapping(2);
  step.proximal_gradient_mapping(Eigen::Vector2d(1.0, 2.0), Eigen::Vector2d(4.0, -2.0), 0.5, mapping);
  EXPECT_EQ(mapping, Eigen::Vector2d(2.0, 0.0));
}

TEST(ProximalStepTest, TheMappingVanishesAtTheMinimiserAlone) {
  // 1/2 ||w - z||^2 + f1 is minimised by the proximal map of step size 1 at z, and its smooth gradient is w - z.
  for (const Case& c : cases(5)) {
    SCOPED_TRACE(name_of(c));
    RandomSource random(3);
    const Eigen::VectorXd z = random_point(random, 5, 2.0);
    const Eigen::VectorXd w = applied(c, 1.0, z);
    Eigen::VectorXd mapping(5);
    c.step.proximal_gradient_mapping(w, w - z, 0.3, mapping);
    EXPECT_LE(mapping.norm(), 1e-13);
    const Eigen::VectorXd other = c.set.sample(random, 5);
    c.step.proximal_gradient_mapping(other, other - z, 0.3, mapping);
    EXPECT_GE(mapping.norm(), 0.5 * (other - w).norm());  // the objective is 1-strongly convex
  }
}

TEST(ProximalStepTest, APairWithoutAClosedFormIsRefusedByName) {
  const Regulariser groups = Regulariser::group_lasso(1.0, 2, 4).value();
  for (const Domain& domain :
       {Domain::box(-1.0, 1.0).value(), Domain::l1_ball(1.0).value(), Domain::simplex(1.0).value()}) {
    const Result<ProximalStep> step = ProximalStep::create(domain, groups, 4);
    ASSERT_FALSE(step);
    EXPECT_NE(step.error().message.find(fmt::format("the group lasso over {}:", domain.name())), std::string::npos);
  }
}

TEST(ProximalStepTest, MoreRegularisedCoordinatesThanThereAreAreRefused) {
  EXPECT_EQ(ProximalStep::create(Domain::whole_space(), Regulariser::l1(1.0, 4).value(), 3).error().message,
            "the l1 norm regularises 4 coordinates, the dimension is 3");
  EXPECT_FALSE(ProximalStep::create(Domain::whole_space(), Regulariser::none(), 0));
}

TEST(ProximalStepDeathTest, WhatIsNotFiniteStopsTheProcess) {
  const ProximalStep step = ProximalStep::create(Domain::whole_space(), Regulariser::none(), 2).value();
  Eigen::VectorXd point = Eigen::Vector2d(0.0, std::nan(""));
  EXPECT_DEATH(step.apply(1.0, point), "has_finite_norm");
  point[1] = 0.0;
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_DEATH(step.apply(bad, point), "step size");
}

}  // namespace
}  // namespace undertone::geometry
