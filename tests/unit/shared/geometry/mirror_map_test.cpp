#include "shared/geometry/mirror_map.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/geometry/duality_map.hpp"
#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using test::random_point;
using test::random_weights;

constexpr Eigen::Index kDimension = 12;
const double kSetupExponent = l1_setup_exponent(kDimension);

/// A map, and what is known of it without it.
struct KnownMap {
  std::string name;
  MirrorMap map;
  std::function<double(const Eigen::VectorXd&)> potential;
  std::function<double(const Eigen::VectorXd&)> violation;
  std::function<Eigen::VectorXd(RandomSource&)> sample;
};

double p_potential(const Eigen::VectorXd& x, double p) { return std::pow(lp_norm(x, p), 2.0) / (2.0 * (p - 1.0)); }

/// In the l1 ball of radius 1.5, vertices and sparse points among them.
Eigen::VectorXd in_l1_ball(RandomSource& random) {
  Eigen::VectorXd out = 1.5 * (random.chance(0.5) ? 1.0 : random.unit()) * random_weights(random, kDimension);
  for (double& v : out) v = random.chance(0.5) ? v : -v;
  return out;
}

std::vector<KnownMap> known_maps() {
  const auto simplex_violation = [](const Eigen::VectorXd& x) {
    return std::max(-x.minCoeff(), std::abs(x.sum() - 2.0));
  };
  const auto l1_violation = [](const Eigen::VectorXd& x) { return x.lpNorm<1>() - 1.5; };
  const auto on_simplex = [](RandomSource& random) -> Eigen::VectorXd {
    return 2.0 * random_weights(random, kDimension);
  };
  const auto anywhere = [](RandomSource& random) { return random_point(random, kDimension, 2.0); };
  std::vector<KnownMap> out;
  for (const double p : {1.0, 1.5, 2.0}) {
    const double power = std::max(p, kSetupExponent);
    const auto potential = [power](const Eigen::VectorXd& x) { return p_potential(x, power); };
    const auto add = [&](const char* name, const PNormMap::Set& set, auto violation, auto sample) {
      out.push_back({fmt::format("{} {}", name, p), MirrorMap(PNormMap::create(p, set, kDimension).value()), potential,
                     violation, sample});
    };
    add(
        "whole", WholeSpace{}, [](const Eigen::VectorXd&) { return -1.0; }, anywhere);
    add(
        "own ball", SameNormBall{0.7}, [power](const Eigen::VectorXd& x) { return lp_norm(x, power) - 0.7; },
        [power](RandomSource& random) -> Eigen::VectorXd {
          const Eigen::VectorXd point = random_point(random, kDimension, 1.0);
          return 0.7 * (random.chance(0.5) ? 1.0 : random.unit()) / lp_norm(point, power) * point;
        });
    add("l1", L1Ball{1.5}, l1_violation, in_l1_ball);
    add("simplex", Simplex{2.0}, simplex_violation, on_simplex);
  }
  out.push_back({"entropy", MirrorMap(EntropyMap::create(2.0, kDimension).value()),
                 [](const Eigen::VectorXd& x) {
                   double sum = 0.0;
                   for (const double v : x) sum += v > 0.0 ? v * std::log(v) : 0.0;
                   return sum;
                 },
                 simplex_violation, on_simplex});
  out.push_back({"euclidean", MirrorMap(EuclideanMap(Domain::l1_ball(1.5).value(), kDimension)),
                 [](const Eigen::VectorXd& x) { return 0.5 * x.squaredNorm(); }, l1_violation, in_l1_ball});
  return out;
}

TEST(MirrorMapTest, NoFeasiblePointIsBetterThanTheStep) {
  for (const KnownMap& known : known_maps()) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(testing::Message() << known.name << ' ' << seed);
      RandomSource random(seed);
      Eigen::VectorXd state = known.map.start();
      for (int steps = 0; steps < 3; ++steps) {
        const Eigen::VectorXd gradient = random_point(random, kDimension, random.chance(0.5) ? 0.1 : 3.0);
        const ProxUpdate update{random.chance(0.5) ? 0.2 : 2.0, random.chance(0.5) ? 1.0 : 0.6};
        const Eigen::VectorXd dual = update.keep * known.map.gradient(state) - update.step_size * gradient;
        known.map.step(gradient, update, state);
        const Eigen::VectorXd at = known.map.point(state);
        EXPECT_LE(known.violation(at), 1e-12);
        ASSERT_TRUE(known.map.check_state(state));
        const double reached = known.potential(at) - dual.dot(at);
        for (int other = 0; other < 30; ++other) {
          const Eigen::VectorXd point = known.sample(random);
          // Near the step, too: a mixture with the point.
          const double share = other % 2 == 0 ? 1.0 : 1e-3;
          const Eigen::VectorXd mixed = (1.0 - share) * at + share * point;
          EXPECT_GE(known.potential(mixed) - dual.dot(mixed), reached - 1e-11);
        }
      }
    }
  }
}

TEST(MirrorMapTest, DivergencesAreThoseOfThePotential) {
  for (const KnownMap& known : known_maps()) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(testing::Message() << known.name << ' ' << seed);
      RandomSource random(seed);
      const auto reached = [&] {
        Eigen::VectorXd state = known.map.start();
        known.map.step(random_point(random, kDimension, 1.0), {0.8, 1.0}, state);
        return state;
      };
      const Eigen::VectorXd one = reached();
      const Eigen::VectorXd other = reached();
      const Eigen::VectorXd to = known.map.point(one);
      const Eigen::VectorXd from = known.map.point(other);
      const double expected = known.potential(to) - known.potential(from) - known.map.gradient(other).dot(to - from);
      EXPECT_NEAR(known.map.divergence(one, other), expected, 1e-12 * (1.0 + std::abs(known.potential(to))));
      EXPECT_NEAR(known.map.divergence(one, one), 0.0, 1e-12);
      // The modulus, in the norm that it is of.
      const double norm = lp_norm(to - from, known.map.norm_exponent().value());
      EXPECT_GE(expected, 0.5 * known.map.strong_convexity() * norm * norm * (1.0 - 1e-9));
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      EXPECT_LE(known.map.divergence(one, known.map.start()),
                known.map.divergence_max().value_or(kInfinity) * (1.0 + 1e-12));
      EXPECT_LE(norm, known.map.diameter().value_or(kInfinity) * (1.0 + 1e-12));
    }
  }
}

TEST(MirrorMapTest, TheLiftedEntropyIsThatOfItsWeights) {
  // Radius 3, d = 2: one step of size 1 with g = (ln 2, 0) from uniform weights 1/4 makes them 1/2 : 2 : 1 : 1 times
  // 1/4, (u1+, u1-, u2+, u2-) = (1, 4, 2, 2)/9, so x = 3 (1 - 4, 0)/9 = (-1, 0).
  const MirrorMap map(LiftedEntropyMap::create(3.0, 2).value());
  EXPECT_EQ(map.state_size(), 4);
  Eigen::VectorXd state = map.start();
  EXPECT_EQ(map.point(state), Eigen::Vector2d::Zero());
  map.step(Eigen::Vector2d(std::log(2.0), 0.0), {1.0, 1.0}, state);
  EXPECT_NEAR((map.point(state) - Eigen::Vector2d(-1.0, 0.0)).norm(), 0.0, 1e-15);
  // 3 KL((1,4,2,2)/9, uniform) = 3 (ln 4 + 1/9 ln 1/9 + 4/9 ln 4/9 + 4/9 ln 2/9).
  const double divergence =
      3.0 * (std::log(4.0) + (std::log(1.0 / 9) + 4 * std::log(4.0 / 9) + 4 * std::log(2.0 / 9)) / 9);
  EXPECT_NEAR(map.divergence(state, map.start()), divergence, 1e-14);
  EXPECT_NEAR(map.divergence_max().value(), 3.0 * std::log(4.0), 1e-15);
}

TEST(MirrorMapTest, StepsOfAnyLengthStayInTheSet) {
  for (const KnownMap& known : known_maps()) {
    if (!known.map.diameter()) continue;
    for (const double size : {1e-200, 1e-8, 1e8, 1e20, 1e60}) {
      SCOPED_TRACE(testing::Message() << known.name << ' ' << size);
      RandomSource random(3);
      Eigen::VectorXd state = known.map.start();
      known.map.step(size * random_point(random, kDimension, 1.0), {1.0, 1.0}, state);
      EXPECT_LE(known.violation(known.map.point(state)), 1e-12);
    }
    // All alike, and one alone.
    for (const Eigen::VectorXd& gradient : {Eigen::VectorXd(Eigen::VectorXd::Constant(kDimension, -5.0)),
                                            Eigen::VectorXd(-1e9 * Eigen::VectorXd::Unit(kDimension, 2))}) {
      Eigen::VectorXd state = known.map.start();
      known.map.step(gradient, {1.0, 1.0}, state);
      EXPECT_LE(known.violation(known.map.point(state)), 1e-12);
    }
  }
}

TEST(MirrorMapTest, AWeightThatUnderflowedComesBack) {
  const MirrorMap map(EntropyMap::create(1.0, 2).value());
  Eigen::VectorXd state = map.start();
  map.step(Eigen::Vector2d(0.0, 2000.0), {1.0, 1.0}, state);
  EXPECT_LT(map.point(state)[1], 1e-300);
  map.step(Eigen::Vector2d(0.0, -2000.0), {1.0, 1.0}, state);
  EXPECT_NEAR(map.point(state)[1], 0.5, 1e-12);
}

TEST(MirrorMapTest, EntropyStepsExpandAsTheSourceSays) {
  // x = (1 - 3/k, 1/k, 2/k), y = (1 - 3/k, 2/k, 1/k), k = ceil(100 (e^eta - 1)/eta), g = (0, -1, -1): the step expands
  // l1 by at least 1 + eta/4. Source: Asi, Feldman, Koren and Talwar 2021, Lemma A.1.
  const MirrorMap map(EntropyMap::create(1.0, 3).value());
  for (const auto& [eta, expected] : {std::pair(0.1, 1.10), std::pair(0.5, 1.62), std::pair(1.0, 2.64)}) {
    const double k = std::ceil(100.0 * (std::exp(eta) - 1.0) / eta);
    Eigen::VectorXd x = Eigen::Vector3d(1.0 - 3.0 / k, 1.0 / k, 2.0 / k).array().log();
    Eigen::VectorXd y = Eigen::Vector3d(1.0 - 3.0 / k, 2.0 / k, 1.0 / k).array().log();
    const double before = (map.point(x) - map.point(y)).lpNorm<1>();
    map.step(Eigen::Vector3d(0.0, -1.0, -1.0), {eta, 1.0}, x);
    map.step(Eigen::Vector3d(0.0, -1.0, -1.0), {eta, 1.0}, y);
    const double expansion = (map.point(x) - map.point(y)).lpNorm<1>() / before;
    EXPECT_GE(expansion, 1.0 + eta / 4.0);
    EXPECT_NEAR(expansion, expected, 0.01);
  }
}

TEST(MirrorMapTest, ConstantsAreThoseOfTheSets) {
  // p = 1 + 1/log2 16 = 1.25: 4/2 (2^2) = 8 over the l1 ball of radius 2.
  const PNormMap ball = PNormMap::create(1.0, L1Ball{2.0}, 16).value();
  EXPECT_EQ(ball.power(), 1.25);
  EXPECT_DOUBLE_EQ(ball.divergence_max().value(), 8.0);
  EXPECT_DOUBLE_EQ(ball.diameter().value(), 4.0);
  // d^(-2 (1 - 1/p)) = 16^(-0.4).
  EXPECT_DOUBLE_EQ(ball.strong_convexity(), std::pow(16.0, -0.4));
  EXPECT_EQ(PNormMap::create(1.5, L1Ball{2.0}, 16).value().strong_convexity(), 1.0);
  EXPECT_FALSE(PNormMap::create(1.5, WholeSpace{}, 16).value().diameter());
  EXPECT_DOUBLE_EQ(EntropyMap::create(2.0, 8).value().divergence_max().value(), 2.0 * std::log(8.0));
}

TEST(MirrorMapTest, RefusesWhatIsNoMap) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double p : {0.9, 2.1, kNan, -1.0}) EXPECT_FALSE(PNormMap::create(p, WholeSpace{}, 3)) << p;
  for (const double radius : {0.0, -1.0, kNan, 1e101}) {
    EXPECT_FALSE(PNormMap::create(1.5, L1Ball{radius}, 3)) << radius;
    EXPECT_FALSE(PNormMap::create(1.5, Simplex{radius}, 3)) << radius;
    EXPECT_FALSE(PNormMap::create(1.5, SameNormBall{radius}, 3)) << radius;
    EXPECT_FALSE(EntropyMap::create(radius, 3)) << radius;
    EXPECT_FALSE(LiftedEntropyMap::create(radius, 3)) << radius;
  }
}

TEST(MirrorMapTest, RefusesStatesOfNoPoint) {
  for (const KnownMap& known : known_maps()) {
    SCOPED_TRACE(known.name);
    EXPECT_TRUE(known.map.check_state(known.map.start()));
    EXPECT_FALSE(known.map.check_state(Eigen::VectorXd::Zero(kDimension + 1)));
    Eigen::VectorXd broken = known.map.start();
    broken[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(known.map.check_state(broken));
    if (known.map.diameter()) {
      EXPECT_FALSE(known.map.check_state(Eigen::VectorXd::Constant(kDimension, 1e6)));
    }
  }
}

}  // namespace
}  // namespace undertone::geometry
