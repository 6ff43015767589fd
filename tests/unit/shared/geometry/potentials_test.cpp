#include <Eigen/Eigenvalues>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

#include "shared/geometry/linear_oracle.hpp"
#include "shared/geometry/matched_potential.hpp"
#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

using Eigen::VectorXd;
using test::random_point;

GroupBall group_ball(double radius, Eigen::Index size) {
  return std::get<GroupBall>(Domain::group_ball(radius, size)->set());
}
NuclearBall nuclear_ball(double radius, Eigen::Index rows) {
  return std::get<NuclearBall>(Domain::nuclear_ball(radius, rows)->set());
}

double group_norm(const VectorXd& x, Eigen::Index size) {
  double sum = 0.0;
  for (Eigen::Index from = 0; from < x.size(); from += size)
    sum += x.segment(from, std::min(size, x.size() - from)).norm();
  return sum;
}
double nuclear_norm(const VectorXd& x, Eigen::Index rows) {
  const Eigen::MatrixXd matrix = Eigen::Map<const Eigen::MatrixXd>(x.data(), rows, x.size() / rows);
  const Eigen::MatrixXd square = rows < matrix.cols() ? Eigen::MatrixXd(matrix * matrix.transpose())
                                                      : Eigen::MatrixXd(matrix.transpose() * matrix);
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(square).eigenvalues().cwiseMax(0.0).cwiseSqrt().sum();
}

/// A potential over its set, the set's oracle and its gauge.
struct KnownPotential {
  std::string name;
  MirrorMap map;
  LinearOracle oracle;
  std::function<double(const VectorXd&)> gauge;
};

std::vector<KnownPotential> gauge_potentials() {
  std::vector<KnownPotential> out;
  for (const Eigen::Index size : {1, 2, 3, 5, 12}) {
    const GroupBall ball = group_ball(2.0, size);
    out.push_back({fmt::format("groups of {}", size), MirrorMap(GroupMap(ball, 12)),
                   LinearOracle::create(Domain::group_ball(2.0, size).value(), 12).value(),
                   [size](const VectorXd& x) { return group_norm(x, size) / 2.0; }});
  }
  for (const Eigen::Index rows : {1, 2, 3, 6, 12}) {
    out.push_back({fmt::format("nuclear {}", rows), MirrorMap(NuclearMap(nuclear_ball(0.5, rows), 12)),
                   LinearOracle::create(Domain::nuclear_ball(0.5, rows).value(), 12).value(),
                   [rows](const VectorXd& x) { return nuclear_norm(x, rows) / 0.5; }});
  }
  return out;
}

/// A state that some steps along random gradients lead to.
VectorXd random_state(const MirrorMap& map, RandomSource& random) {
  VectorXd state = map.start();
  const std::uint64_t steps = 1 + random.below(3);
  for (std::uint64_t k = 0; k < steps; ++k)
    map.step(random_point(random, map.dimension(), std::pow(10.0, 4.0 * random.unit() - 2.0)), {1.0, 1.0}, state);
  return state;
}

TEST(GroupMapTest, StepsAsComputedByHand) {
  // One group, radius 2: h = ||x/2||^2 / 2, grad h = x/4. A step along (-3, 0) leads to x = 4 eta (3, 0) = (1.2, 0) at
  // eta = 0.1, and to the sphere at eta = 1.
  const MirrorMap one(GroupMap(group_ball(2.0, 2), 2));
  VectorXd state = one.start();
  one.step(Eigen::Vector2d(-3.0, 0.0), {0.1, 1.0}, state);
  EXPECT_LE((one.point(state) - Eigen::Vector2d(1.2, 0.0)).norm(), 1e-15);
  one.step(Eigen::Vector2d(-3.0, 0.0), {1.0, 1.0}, state);
  EXPECT_LE((one.point(state) - Eigen::Vector2d(2.0, 0.0)).norm(), 1e-15);
  // Two groups, radius 1: h = ||x_1||^2 + ||x_2||^2. Slopes (3, 4)/... of norms 5 and 1: magnitudes (s - tau)/2 add up
  // to 1 at tau = 2: 1.5 and 0 do not, so the second drops out: (5 - tau)/2 = 1, tau = 3.
  const MirrorMap two(GroupMap(group_ball(1.0, 2), 4));
  state = two.start();
  two.step(Eigen::Vector4d(-3.0, -4.0, 0.0, 1.0), {1.0, 1.0}, state);
  EXPECT_LE((two.point(state) - Eigen::Vector4d(0.6, 0.8, 0.0, 0.0)).norm(), 1e-15);
  // Slopes 5 and 4: (9 - 2 tau)/2 = 1, tau = 3.5: magnitudes 0.75 and 0.25.
  state = two.start();
  two.step(Eigen::Vector4d(-3.0, -4.0, 0.0, 4.0), {1.0, 1.0}, state);
  EXPECT_LE((two.point(state) - Eigen::Vector4d(0.45, 0.6, 0.0, -0.25)).norm(), 1e-15);
}

TEST(GroupMapTest, HasTheSourcesGradient) {
  // Six groups of two, radius 2: M = 1 + 1/ln 6, grad h = (e ln 6 / 2) ||u_G||^(M-1) x_G/||x_G||, u = x/2.
  const MirrorMap map(GroupMap(group_ball(2.0, 2), 12));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const VectorXd state = random_state(map, random);
    const VectorXd x = map.point(state);
    VectorXd expected = VectorXd::Zero(12);
    for (Eigen::Index from = 0; from < 12; from += 2) {
      const double norm = x.segment(from, 2).norm();
      if (norm > 0.0)
        expected.segment(from, 2) = std::numbers::e * std::log(6.0) / 2.0 * std::pow(norm / 2.0, 1.0 / std::log(6.0)) *
                                    x.segment(from, 2) / norm;
    }
    EXPECT_LE((map.gradient(state) - expected).norm(), 1e-13 * (1.0 + expected.norm()));
  }
}

TEST(NuclearMapTest, IsTheSingularValuesOwnPotential) {
  // diag(x, 0): ln 4 = 2 ln 2, q = 1/(4 ln 2); h(diag(r, 0)) = 4 sqrt(e) ln 4 / (2^q (1 + q)) at radius r.
  const MirrorMap map(NuclearMap(nuclear_ball(3.0, 2), 4));
  const double q = 1.0 / (2.0 * std::log(4.0));
  const double largest = 4.0 * std::sqrt(std::numbers::e) * std::log(4.0) / (std::pow(2.0, q) * (1.0 + q));
  EXPECT_NEAR(map.divergence_max().value(), largest, 1e-14);
  VectorXd state = map.start();
  map.step(Eigen::Vector4d(-1e3, 0.0, 0.0, 1.0), {1.0, 1.0}, state);
  EXPECT_LE((map.point(state) - Eigen::Vector4d(3.0, 0.0, 0.0, 0.0)).norm(), 1e-12);
  EXPECT_NEAR(map.divergence(state, map.start()), largest, 1e-12);
  // grad h(diag(r s, 0)) = (1/r) c (1 + q) s^q: a step along it from 0 finds s again.
  const double slope = largest * (1.0 + q) * std::pow(0.25, q) / 3.0;
  state = map.start();
  map.step(Eigen::Vector4d(-slope, 0.0, 0.0, 0.0), {1.0, 1.0}, state);
  EXPECT_NEAR(map.point(state)[0], 0.75, 1e-14);
}

// y is the step's point exactly when <eta g + grad h(y) - grad h(x), w - y> >= 0 on C: at the oracle's w.
TEST(GaugePotentialsTest, StepsMeetTheVariationalInequality) {
  for (const KnownPotential& known : gauge_potentials()) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", known.name, seed));
      RandomSource random(seed);
      const VectorXd from = random_state(known.map, random);
      const VectorXd gradient = random_point(random, 12, std::pow(10.0, 3.0 * random.unit() - 1.5));
      const ProxUpdate update{random.unit() + 0.1, random.chance(0.5) ? 1.0 : 0.5};
      VectorXd to = from;
      known.map.step(gradient, update, to);
      const VectorXd slope =
          update.step_size * gradient + known.map.gradient(to) - update.keep * known.map.gradient(from);
      VectorXd best(12);
      known.oracle.minimise(slope, best);
      const VectorXd y = known.map.point(to);
      EXPECT_LE(slope.dot(y) - slope.dot(best), 1e-9 * (1.0 + slope.norm()));  // G10
      EXPECT_LE(known.gauge(y), 1.0 + 1e-7);  // the test's own singular values are roots
      EXPECT_TRUE(known.map.check_state(to));
    }
  }
}

TEST(GaugePotentialsTest, AStepOfNothingStaysWhereItIs) {
  for (const KnownPotential& known : gauge_potentials()) {
    SCOPED_TRACE(known.name);
    RandomSource random(7);
    const VectorXd from = random_state(known.map, random);
    VectorXd to = from;
    known.map.step(VectorXd::Zero(12), {1.0, 1.0}, to);
    EXPECT_LE((to - from).norm(), 1e-13 * from.norm());
    EXPECT_LE(known.map.divergence(to, from), 1e-13);
  }
}

// G9: 2 D_h(a, b) >= ||a - b||^2 in the gauge.
TEST(GaugePotentialsTest, AreStronglyConvexInTheGauge) {
  for (const KnownPotential& known : gauge_potentials()) {
    double least = 1e9;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      RandomSource random(seed);
      const VectorXd a = random_state(known.map, random);
      const VectorXd b = random_state(known.map, random);
      const double distance = known.gauge(known.map.point(a) - known.map.point(b));
      if (distance < 1e-3) continue;
      least = std::min(least, 2.0 * known.map.divergence(a, b) / (distance * distance));
    }
    EXPECT_GE(least, 1.0 - 1e-6) << known.name;
    RandomSource random(3);
    for (int k = 0; k < 100; ++k)
      EXPECT_LE(known.map.divergence(random_state(known.map, random), known.map.start()),
                known.map.divergence_max().value() + 1e-12);
  }
}

TEST(PNormPotentialTest, HasModulusOneWithItsOwnFactor) {
  // 1/(2(q-1)); the printed 1/(4(q-1)) would have 1/2. q of 64 coordinates: ln 64/(ln 64 - 1).
  const MatchedPotential matched = matched_potential(Domain::l1_ball(1.0).value(), 64, VectorXd::Zero(64)).value();
  const double q = std::log(64.0) / (std::log(64.0) - 1.0);
  EXPECT_NEAR(matched.range, 1.0 / (2.0 * (q - 1.0)), 1e-12);
  const auto norm = [q](const VectorXd& x) { return std::pow(x.array().abs().pow(q).sum(), 1.0 / q); };
  double least = 1e9;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    RandomSource random(seed);
    const VectorXd a = random_state(matched.map, random);
    VectorXd b = a;  // nearby pairs show the modulus
    matched.map.step(random_point(random, 64, 1.0), {0.05, 1.0}, b);
    const double distance = norm(matched.map.point(a) - matched.map.point(b));
    if (distance < 1e-3) continue;
    least = std::min(least, 2.0 * matched.map.divergence(a, b) / (distance * distance));
  }
  EXPECT_GE(least, 1.0 - 1e-6);
  EXPECT_LE(least, 1.9);  // so that half of h would fail
}

TEST(VertexMapTest, WeighsTheVerticesOfAPolytope) {
  Eigen::MatrixXd corners(2, 3);
  corners << 0.0, 4.0, 0.0, 0.0, 0.0, 2.0;
  const MirrorMap map(VertexMap(Vertices::listed(corners).value()));
  EXPECT_EQ(map.dimension(), 2);
  EXPECT_EQ(map.state_size(), 3);
  VectorXd state = map.start();
  EXPECT_LE((map.point(state) - Eigen::Vector2d(4.0 / 3.0, 2.0 / 3.0)).norm(), 1e-15);
  // Gradient (ln 2/4, 0): the weights' own are (0, ln 2, 0), so that they become 2 : 1 : 2.
  map.step(Eigen::Vector2d(std::log(2.0) / 4.0, 0.0), {1.0, 1.0}, state);
  EXPECT_LE((map.point(state) - Eigen::Vector2d(0.8, 0.8)).norm(), 1e-15);
  // KL of (2, 1, 2)/5 from the uniform weights: (4 ln(6/5) + ln(3/5))/5.
  EXPECT_NEAR(map.divergence(state, map.start()), (4.0 * std::log(1.2) + std::log(0.6)) / 5.0, 1e-15);
  EXPECT_FALSE(map.check_state(VectorXd::Zero(3)));
  // The farthest vertex from the mean (4/3, 2/3) is (4, 0): sqrt(64 + 4)/3.
  EXPECT_NEAR(VertexMap(Vertices::listed(corners).value()).radius(), std::sqrt(68.0) / 3.0, 1e-15);
}

TEST(MatchedPotentialTest, GoesByTheSet) {
  const VectorXd zero = VectorXd::Zero(6);
  const auto of = [&](const Result<Domain>& domain) { return matched_potential(domain.value(), 6, zero).value(); };
  const MatchedPotential ball = of(Domain::l2_ball(3.0));
  EXPECT_EQ(ball.map.name(), "the Euclidean potential");
  EXPECT_EQ(ball.range, 4.5);  // 3^2/2
  EXPECT_EQ(of(Domain::mixed_ball(3.0, 0.25)).range, 4.5);
  const MatchedPotential simplex = of(Domain::simplex(2.0));
  EXPECT_NEAR(simplex.range, 2.0 * std::log(6.0), 1e-15);
  EXPECT_EQ(simplex.modulus, 0.5);
  EXPECT_NEAR(simplex.gauge_width, std::sqrt(2.0 * std::log(12.0)), 1e-15);
  EXPECT_EQ(of(Domain::group_ball(2.0, 3)).range, 1.0);  // two groups
  EXPECT_EQ(of(Domain::group_ball(2.0, 3)).gauge_radius, 2.0);
  EXPECT_EQ(of(Domain::nuclear_ball(2.0, 3)).map.name(), "the nuclear potential");
  EXPECT_EQ(of(Domain::l1_ball(2.0)).range, 2.0);  // q = 2 in dimension 6: r^2/2
  // 4 9 + 0.25 (1 + 4 9), by hand with width 1.
  EXPECT_NEAR((MatchedPotential{ball.map, 0.0, 1.0, 3.0, 1.0}.dual_second_moment(2.0, 0.25)), 38.5, 1e-14);
}

TEST(MatchedPotentialTest, NamesTheSetsThatHaveOne) {
  const auto none = matched_potential(Domain::whole_space(), 3, VectorXd::Zero(3));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("got the whole space: expected the l2 ball"), std::string::npos);
  const auto ragged = matched_potential(Domain::nuclear_ball(1.0, 2).value(), 3, VectorXd::Zero(3));
  ASSERT_FALSE(ragged);
  EXPECT_NE(ragged.error().message.find("matrices of 2 rows"), std::string::npos) << ragged.error().message;
}

// sup over Q of <g, x> has mean at most the width: 400 draws, within five standard errors of ||Q||/20 each
// (Gaussian concentration: a false alarm in 3e6).
TEST(MatchedPotentialTest, WidthsAreNoLessThanTheDualNormsMean) {
  const Eigen::Index d = 60;
  RandomSource random(11);
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(2.0 * std::numbers::pi * random.unit());
  };
  const double q = std::log(60.0) / (std::log(60.0) - 1.0);
  double dual = 0.0;
  for (int k = 0; k < 400; ++k) {
    double sum = 0.0;
    for (Eigen::Index j = 0; j < d; ++j) sum += std::pow(std::abs(normal()), q / (q - 1.0));
    dual += std::pow(sum, (q - 1.0) / q) / 400.0;
  }
  const MatchedPotential matched = matched_potential(Domain::l1_ball(1.0).value(), d, VectorXd::Zero(d)).value();
  EXPECT_LE(dual, matched.gauge_width + 5.0 / 20.0);
  EXPECT_GE(dual, 0.7 * matched.gauge_width);
}

}  // namespace
}  // namespace undertone::geometry
