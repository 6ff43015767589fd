#include "shared/mechanisms/generalised_gaussian_sum/generalised_gaussian_sum.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/accounting/accountant.hpp"
#include "shared/base/random_source.hpp"
#include "shared/geometry/duality_map.hpp"
#include "silo/oracles/sum_oracle.hpp"
#include "tests/support/measured_page.hpp"

namespace undertone::mechanisms {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

releases::DualBound bound_of(double clip, double exponent, Eigen::Index dimension) {
  return releases::DualBound::create(releases::ClipNorm::create(clip).value(), exponent, dimension).value();
}
releases::Rho rho_of(double value) { return releases::Rho::create(value).value(); }

TEST(GeneralisedGaussianSumTest, ItsScaleIsWhatRhoAllows) {
  // rho = (r - 1) s^2/(2 scale^2), s = 2 d^(1/r - 1/q) L: of d = 16, q = inf, r = 4, L = .5 that is 2 times 2 times .5
  // = 2 in real units, and scale = s sqrt(3/(2 rho)).
  const auto made = generalised_gaussian_lattice(bound_of(0.5, kInfinity, 16), 4.0, rho_of(0.125), 16, 1'000).value();
  EXPECT_NEAR(made.sensitivity * made.lattice.step, 2.0, 1e-9);
  EXPECT_NEAR(made.noise.scale() * made.lattice.step, 2.0 * std::sqrt(3.0 / 0.25), 1e-9);
  EXPECT_LE(made.cost.value_rounded_up(), 0.125);
  EXPECT_GT(made.cost.value_rounded_up(), 0.125 * (1.0 - 1e-9));
  EXPECT_GE(made.noise.scale(), 0x1p16);
  EXPECT_GE(made.lattice.clip, 1024 * 4);
  // Of q = r nothing is converted.
  const auto own = generalised_gaussian_lattice(bound_of(0.5, 4.0, 16), 4.0, rho_of(0.125), 16, 1'000).value();
  EXPECT_NEAR(own.sensitivity * own.lattice.step, 1.0, 1e-9);
}

TEST(GeneralisedGaussianSumTest, WhatIsChargedIsNeverMoreThanWhatWasAsked) {
  RandomSource random(3);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const double rho = std::pow(10.0, -9.0 + 10.0 * random.unit());
    const auto d = static_cast<Eigen::Index>(1 + random.below(400));
    const double r = 2.0 + 10.0 * random.unit() + 1e-9;
    const double q = random.chance(0.5) ? kInfinity : r * (1.0 + random.unit());
    const auto made =
        generalised_gaussian_lattice(bound_of(std::pow(10.0, -3.0 + 6.0 * random.unit()), q, d), r, rho_of(rho), d, 50);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_LE(made->cost, releases::RhoAmount::rounded_down(rho).value());
    // And no less than what the lattice's own numbers cost, in extended precision.
    const long double ratio = static_cast<long double>(made->sensitivity) / made->noise.scale();
    EXPECT_GE(static_cast<long double>(made->cost.value_rounded_up()) * (1 + 1e-15L), (r - 1) * ratio * ratio / 2);
  }
}

TEST(GeneralisedGaussianSumTest, RefusesWhatItHasNoNoiseFor) {
  const releases::DualBound bound = bound_of(1.0, 3.0, 8);
  for (const double r : {2.0, 1.5, 3.1, kInfinity, std::nan("")})
    EXPECT_FALSE(generalised_gaussian_lattice(bound, r, rho_of(0.1), 8, 10)) << r;
  EXPECT_FALSE(generalised_gaussian_lattice(bound, 3.0, rho_of(1e-13), 8, 10));  // below 2^-40
  EXPECT_FALSE(generalised_gaussian_lattice(bound, 3.0, rho_of(0.1), 8, std::int64_t{1} << 50));
  constexpr Eigen::Index kMany = (Eigen::Index{1} << 20U) + 1;
  EXPECT_FALSE(generalised_gaussian_lattice(bound_of(1.0, 3.0, kMany), 3.0, rho_of(0.1), kMany, 10));
}

/// The Renyi divergence of order a of the density exp(-||z||_r^2/2) in the plane from itself shifted, by the trapezium
/// rule, which converges faster than any power where the density is smooth.
double divergence(double r, double order, const Eigen::Vector2d& shift) {
  constexpr double kReach = 14.0;
  constexpr double kStep = 0.02;
  const auto half_square = [r](const Eigen::Vector2d& z) { return 0.5 * std::pow(geometry::lp_norm(z, r), 2.0); };
  double mass = 0.0;
  double moment = 0.0;
  Eigen::Vector2d z;
  for (z[0] = -kReach; z[0] <= kReach; z[0] += kStep) {
    for (z[1] = -kReach; z[1] <= kReach; z[1] += kStep) {
      const double own = half_square(z);
      mass += std::exp(-own);
      moment += std::exp(-order * own + (order - 1.0) * half_square(z - shift));
    }
  }
  return std::log(moment / mass) / (order - 1.0);
}

TEST(GeneralisedGaussianSumTest, NoDivergenceIsAboveTheEvents) {
  // Spec C11, sharper: D_a <= a (r - 1) ||mu||_r^2/2, of every direction, here three. Of r = 2 it is attained.
  for (const double r : {2.0, 4.0, 8.0}) {
    for (const double order : {1.5, 2.0, 5.0}) {
      double most = 0.0;
      for (const Eigen::Vector2d& direction :
           {Eigen::Vector2d(1.0, 0.0), Eigen::Vector2d(1.0, 1.0), Eigen::Vector2d(1.0, 0.5)}) {
        SCOPED_TRACE(fmt::format("r {} order {} direction {} {}", r, order, direction[0], direction[1]));
        const Eigen::Vector2d shift = 0.4 * direction / geometry::lp_norm(direction, r);
        const double rho = accounting::generalised_gaussian_rho(r, 1.0, geometry::lp_norm(shift, r)).value().value();
        const double exact = divergence(r, order, shift);
        EXPECT_LE(exact, order * rho * (1.0 + 1e-6));
        most = std::max(most, exact / (order * rho));
        if (r == 2.0) {
          EXPECT_NEAR(exact, order * rho, 1e-6 * order * rho);
        }
      }
      EXPECT_GT(most, 1.0 / r);  // nor far below: what is compared is a divergence
    }
  }
}

TEST(GeneralisedGaussianSumTest, TheEventKeepsWhatItPromises) {
  // Spec 1.5 P3 and trap 5.5: the calibration of the source gives 1.04 epsilon at (1, 1e-5), corrected exactly that in
  // its own accounting; the event here, a factor alpha/(alpha - 1) below it, less.
  const double log_delta = std::log(1e5);
  const auto epsilon_at = [&](double variance) {
    const auto rho = accounting::generalised_gaussian_rho(5.0, std::sqrt(variance), 1.0).value();
    return accounting::charged_epsilon({{accounting::ConcentratedEvent{rho}, 1}}, *releases::Delta::create(1e-5))
        .value();
  };
  const double kappa = 4.0;
  EXPECT_LE(epsilon_at(2.0 * kappa * (log_delta + 1.0)), 1.0);
  EXPECT_GT(epsilon_at(2.0 * kappa * (log_delta + 1.0)), 0.75);
  // The source's own account has D_alpha = alpha^2 eps^2/(4 l (alpha - 1)) there, l = ln(1/delta), and so, at the best
  // alpha = 1 + sqrt(1 + 4 l^2/eps^2), an epsilon of eps^2/(2 l) (1 + sqrt(1 + 4 l^2/eps^2)).
  const auto of_source = [log_delta](double epsilon) {
    const double share = 2.0 * log_delta / epsilon;
    return epsilon / share * (1.0 + std::sqrt(1.0 + share * share));
  };
  EXPECT_NEAR(of_source(1.0), 1.044, 1e-3);
  tests::expect_on_page("geometry.md", "own account # epsilon at (1, 1e-5), # at epsilon 4.",
                        {of_source(1.0), of_source(4.0)}, 2);
  tests::expect_on_page("geometry.md", "(ln(1/delta) + epsilon)/epsilon^2, then costs # |",
                        {epsilon_at(2.0 * kappa * (log_delta + 1.0))}, 2);
}

/// Un-noised sums of two neighbours, each of one record: how far apart they are in l_r, in lattice units.
TEST(GeneralisedGaussianSumTest, NeighboursSumsDifferByAtMostTheSensitivity) {
  constexpr Eigen::Index kFeatures = 64;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomSource random(seed);
    const models::LinearModel model(models::Loss::LeastSquares, kFeatures, random.chance(0.5));
    const std::unique_ptr<silo::RecordSums> sums = silo::make_record_sums(models::Model(model));
    // Of all sizes that numbers have: squares of some are nothing, of others infinite.
    const bool tiny = random.chance(0.3);
    const bool scaled = random.chance(0.5);
    const double q = random.chance(0.3) ? kInfinity : 2.0 + 20.0 * random.unit() + 1e-6;
    const double r = 2.0 + (std::min(q, 30.0) - 2.0) * (0.1 + 0.9 * random.unit());
    const releases::DualBound bound = bound_of(std::pow(10.0, -2.0 + 4.0 * random.unit()), q, model.dimension());
    const auto made = generalised_gaussian_lattice(bound, r, rho_of(0.01), model.dimension(), 1).value();
    models::Records records{Eigen::MatrixXd(kFeatures, 2), Eigen::VectorXd(2)};
    for (Eigen::Index i = 0; i < 2; ++i) {
      for (Eigen::Index f = 0; f < kFeatures; ++f)
        records.features(f, i) = tiny                 ? std::pow(10.0, -185.0 + 20.0 * random.unit())
                                 : random.chance(.02) ? std::numeric_limits<double>::quiet_NaN()
                                 : random.chance(.02)
                                     ? 1.7e308
                                     : std::pow(10.0, -4.0 + 8.0 * random.unit()) * (random.chance(0.5) ? 1.0 : -1.0);
      records.targets[i] = tiny && random.chance(0.5) ? 1e300 : 1e3 * (random.unit() - 0.5);
    }
    const double largest = random.chance(0.3) ? 1.7e308 : 1.0;
    const Eigen::VectorXd point = Eigen::VectorXd::Constant(model.dimension(), largest * random.unit());
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(model.dimension());
    // A difference's clip may be a sliver of the bound; the lattice is then as much finer.
    const double factor = scaled ? 0x1p-30 * (1.0 + random.unit()) : 1.0;
    mechanisms::Lattice lattice = made.lattice;
    lattice.step *= factor;
    const silo::RecordSums::DualClip clip{bound.exponent(), bound.times(factor).clip().value()};
    std::vector<std::vector<std::int64_t>> each;
    for (const std::int64_t i : {0, 1}) {
      const std::vector<std::int64_t> drawn = {i};
      each.emplace_back(static_cast<std::size_t>(model.dimension()));
      if (scaled)
        sums->dual_differences({point, zero}, clip, lattice, {records, drawn}, each.back());
      else
        sums->dual_gradients(point, clip, lattice, {records, drawn}, each.back());
    }
    Eigen::VectorXd apart(model.dimension());
    for (Eigen::Index j = 0; j < apart.size(); ++j)
      apart[j] = static_cast<double>(each[0][static_cast<std::size_t>(j)] - each[1][static_cast<std::size_t>(j)]);
    EXPECT_LE(geometry::lp_norm(apart, r), made.sensitivity);
  }
}

TEST(GeneralisedGaussianSumTest, EqualCoordinatesAttainTheSensitivity) {
  // Gradients -y x of x = 1000 (1, .., 1), y = 1 and -1: cut to L d^(-1/q) in every coordinate, one to either side.
  for (const Eigen::Index d : {8, 64, 1000}) {
    for (const double q : {2.5, 3.0, 7.5, 11.0, kInfinity}) {
      for (const double part : {0.3, 1.0}) {
        const double r = 2.0 + (std::min(q, 30.0) - 2.0) * part;
        SCOPED_TRACE(fmt::format("d {} q {} r {}", d, q, r));
        const releases::DualBound bound = bound_of(1.0, q, d);
        const auto made = generalised_gaussian_lattice(bound, r, rho_of(0.01), d, 1).value();
        const models::LinearModel model(models::Loss::LeastSquares, d, false);
        const std::unique_ptr<silo::RecordSums> sums = silo::make_record_sums(models::Model(model));
        models::Records records{Eigen::MatrixXd::Constant(d, 2, 1e3), Eigen::Vector2d(1.0, -1.0)};
        Eigen::VectorXd apart = Eigen::VectorXd::Zero(d);
        for (const std::int64_t i : {0, 1}) {
          const std::vector<std::int64_t> drawn = {i};
          std::vector<std::int64_t> sum(static_cast<std::size_t>(d));
          sums->dual_gradients(Eigen::VectorXd::Zero(d), {bound.exponent(), 1.0}, made.lattice, {records, drawn}, sum);
          for (Eigen::Index j = 0; j < d; ++j)
            apart[j] += (i == 0 ? 1.0 : -1.0) * static_cast<double>(sum[static_cast<std::size_t>(j)]);
        }
        EXPECT_LE(geometry::lp_norm(apart, r), made.sensitivity);
        EXPECT_GE(geometry::lp_norm(apart, r), 0.999 * made.sensitivity);
      }
    }
  }
}

}  // namespace
}  // namespace undertone::mechanisms
