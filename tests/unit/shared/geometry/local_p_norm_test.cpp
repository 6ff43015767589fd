#include "shared/geometry/local_p_norm.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/p_norm_map.hpp"

namespace undertone::geometry {
namespace {

struct LocalCase {
  Eigen::VectorXd centre;
  Eigen::VectorXd dual;
};

LocalCase some_case(Eigen::Index d, double l1_radius, double size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit;
  LocalCase out{Eigen::VectorXd(d), Eigen::VectorXd(d)};
  for (double& x : out.centre) x = unit(random) < 0.3 ? 0.0 : normal(random);
  for (double& x : out.dual) x = size * normal(random);
  out.centre *= l1_radius * unit(random) / std::max(1e-9, out.centre.lpNorm<1>());
  return out;
}

double value_at(const LocalPNorm& local, const LocalCase& at, const Eigen::VectorXd& x) {
  const double norm = lp_norm(x - at.centre, local.power());
  return norm * norm / (2.0 * (local.power() - 1.0)) - at.dual.dot(x);
}

/// The largest of <grad, x - y> over the set: 0 at the optimum. Over the l1 ball and the p-ball together no closed form
/// is known: a bound by points of both, the segments to the extreme points of each, cut to the other.
double best_of_others(const LocalPNorm& local, const LocalCase& at, double l1_radius, const Eigen::VectorXd& x,
                      std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  double best = value_at(local, at, x);
  for (int i = 0; i < 600; ++i) {
    Eigen::VectorXd y = x;
    const double length = std::pow(10.0, -5.0 * static_cast<double>(i % 100) / 100.0) * local.radius();
    if (i % 3 == 0) {
      for (double& one : y) one += length * normal(random);
    } else {  // one coordinate against another: along a face
      const auto j = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(y.size()));
      const auto k = static_cast<Eigen::Index>(random() % static_cast<std::uint64_t>(y.size()));
      y[j] += length * normal(random);
      y[k] += i % 3 == 1 ? length * normal(random) : x[j] - y[j];
    }
    for (int round = 0; round < 12; ++round) {  // towards the set
      const double far = lp_norm(y - at.centre, local.power());
      if (far > local.radius()) y = at.centre + (y - at.centre) * (local.radius() / far);
      const double norm = y.lpNorm<1>();
      if (norm > l1_radius) y *= l1_radius / norm;
    }
    if (lp_norm(y - at.centre, local.power()) > local.radius() * (1 + 1e-12)) continue;
    best = std::min(best, value_at(local, at, y));
  }
  return best;
}

TEST(LocalPNormTest, NoFeasiblePointIsBetter) {
  std::mt19937_64 random(3);
  for (const double power : {1.1, 1.3, 1.7, 2.0}) {
    for (const Eigen::Index d : {1, 2, 7, 30}) {
      for (const double size : {1e-3, 1.0, 30.0}) {
        for (const double radius : {0.05, 0.7, 5.0}) {
          const LocalPNorm local = LocalPNorm::create(power, radius, 1.5).value();
          const LocalCase at = some_case(d, 1.5, size, random);
          const Eigen::VectorXd x = local.minimiser(at.dual, at.centre);
          EXPECT_LE(x.lpNorm<1>(), 1.5 * (1.0 + 1e-12));
          EXPECT_LE(lp_norm(x - at.centre, power), radius * (1.0 + 1e-12));
          const double own = value_at(local, at, x);
          EXPECT_GE(best_of_others(local, at, 1.5, x, random), own - 1e-9 * std::max(1.0, size))
              << power << " " << d << " " << size << " " << radius;
        }
      }
    }
  }
}

TEST(LocalPNormTest, AroundZeroItIsTheCentredMap) {
  std::mt19937_64 random(4);
  for (const double norm : {1.2, 1.5, 2.0}) {
    for (const double size : {0.1, 1.0, 10.0}) {
      const LocalCase at = some_case(6, 2.0, size, random);
      const double power = std::max(norm, l1_setup_exponent(6));
      const Eigen::VectorXd zero = Eigen::VectorXd::Zero(6);
      const LocalPNorm wide = LocalPNorm::create(power, 100.0, 2.0).value();
      const PNormMap map = PNormMap::create(norm, L1Ball{2.0}, 6).value();
      Eigen::VectorXd state = zero;
      map.step(-at.dual, {1.0, 1.0}, state);
      Eigen::VectorXd expected(6);
      map.point(state, expected);
      EXPECT_LE((wide.minimiser(at.dual, zero) - expected).norm(), 1e-9);
      // In all of space the closed form: (p - 1) J_q(dual), cut to the ball.
      const LocalPNorm ball = LocalPNorm::create(power, 0.8, std::nullopt).value();
      Eigen::VectorXd closed = at.dual;
      apply_duality_map(conjugate_exponent(power), closed);
      closed *= power - 1.0;
      if (const double length = lp_norm(closed, power); length > 0.8) closed *= 0.8 / length;
      EXPECT_LE((ball.minimiser(at.dual, at.centre) - at.centre - closed).norm(), 1e-9);
    }
  }
}

TEST(LocalPNormTest, AStepOfNoGradientStaysWhereItIs) {
  std::mt19937_64 random(5);
  const LocalPNorm local = LocalPNorm::create(1.2, 0.5, 1.0).value();
  for (int i = 0; i < 20; ++i) {
    const LocalCase from = some_case(9, 1.0, 2.0, random);
    const Eigen::VectorXd x = local.minimiser(from.dual, from.centre);
    EXPECT_LE((local.minimiser(local.gradient(x, from.centre), from.centre) - x).norm(), 1e-9) << i;
  }
  EXPECT_EQ(local.minimiser(Eigen::VectorXd::Zero(4), Eigen::VectorXd::Constant(4, 0.1)),
            Eigen::VectorXd::Constant(4, 0.1));
}

TEST(LocalPNormTest, RefusesWhatIsNoSet) {
  for (const double power : {1.0, 0.5, 2.5, std::nan("")}) EXPECT_FALSE(LocalPNorm::create(power, 1.0, 1.0)) << power;
  for (const double radius : {0.0, -1.0, std::nan(""), 1e101}) {
    EXPECT_FALSE(LocalPNorm::create(1.5, radius, 1.0)) << radius;
    EXPECT_FALSE(LocalPNorm::create(1.5, 1.0, radius)) << radius;
  }
}

}  // namespace
}  // namespace undertone::geometry
