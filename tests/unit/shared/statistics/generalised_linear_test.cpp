#include "shared/statistics/generalised_linear.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/statistics/public_means.hpp"
#include "tests/support/seeded_normals.hpp"

namespace undertone::statistics {
namespace {

using tests::Normals;

double value_at(const SlopePolynomial& powers, double t) {
  double sum = 0.0;
  for (Eigen::Index j = powers.coefficients.size(); j-- > 0;) sum = sum * t + powers.coefficients[j];
  return sum;
}

TEST(SlopeTest, PolynomialsAreAsNearAsTheSpecMeasured) {
  // spec noninteractive-ldp 2.6 (b), b = 0.25
  EXPECT_NEAR(bernstein_slope(LipschitzLoss::hinge(), 0.25, 8).error, 0.144, 6e-4);
  EXPECT_NEAR(bernstein_slope(LipschitzLoss::hinge(), 0.25, 16).error, 0.098, 6e-4);
  EXPECT_NEAR(chebyshev_slope(LipschitzLoss::hinge(), 0.25, 8).error, 0.019, 3e-3);
  EXPECT_NEAR(chebyshev_slope(LipschitzLoss::hinge(), 0.25, 16).error, 0.0016, 3e-4);
  for (const std::size_t degree : {4U, 8U, 16U, 32U})  // N8
    EXPECT_LE(bernstein_slope(LipschitzLoss::hinge(), 0.25, degree).error,
              0.2147 / (static_cast<double>(degree) * 0.0625) + 1e-4);
}

TEST(SlopeTest, TheErrorHoldsEverywhere) {
  for (const LipschitzLoss& loss : {LipschitzLoss::hinge(), LipschitzLoss::logistic()}) {
    for (const std::size_t degree : {1U, 2U, 3U, 5U}) {
      const SlopePolynomial slope = chebyshev_slope(loss, 0.25, degree);
      double worst = 0.0;
      for (int i = 0; i <= 3001; ++i) {
        const double t = 2.0 * i / 3001.0 - 1.0;
        worst = std::max(worst, std::abs(value_at(slope, t) - loss.slope(0.25, t)));
      }
      EXPECT_LE(worst, slope.error);
      EXPECT_GE(worst, 0.9 * slope.error - 1e-3);
    }
  }
}

TEST(SlopeTest, EveryPiecewiseLossIsOneSumOfItsKinks) {
  // Lemma 32 of [003]: a loss with kinks is a sum of |t - s| and a line. Far from a kink its smoothed slope is its own.
  const LipschitzLoss loss = LipschitzLoss::piecewise({-0.5, 0.25}, {-1.0, 0.0, 0.4}).value();
  EXPECT_NEAR(loss.slope(1e-6, -0.9), -1.0, 1e-9);
  EXPECT_NEAR(loss.slope(1e-6, -0.1), 0.0, 1e-9);
  EXPECT_NEAR(loss.slope(1e-6, 0.9), 0.4, 1e-9);
  EXPECT_NEAR(loss.slope(0.1, -0.5), -0.5 + 0.4 * 0.5 * (1.0 - 0.75 / std::hypot(0.75, 0.1)), 1e-12);
  EXPECT_NEAR(LipschitzLoss::absolute().slope(0.2, 0.3), 0.3 / std::hypot(0.3, 0.2), 1e-15);
  EXPECT_NEAR(LipschitzLoss::quantile(0.9).slope(1e-9, -1.0), -0.9, 1e-9);
  EXPECT_NEAR(LipschitzLoss::quantile(0.9).slope(1e-9, 1.0), 0.1, 1e-9);
  // In a unit of 2 a kink at 0.25 is at 0.125.
  EXPECT_NEAR(loss.in_unit(2.0).slope(0.05, 0.3), loss.slope(0.1, 0.6), 1e-12);
  for (const double t : {-1.0, -0.5, 0.0, 0.2, 0.25, 0.7})  // no slope rises faster than the curvature says
    EXPECT_LE(loss.slope(0.1, t + 1e-4) - loss.slope(0.1, t), 1e-4 * loss.curvature(0.1) * (1.0 + 1e-9)) << t;
}

TEST(SlopeTest, NoOtherLossIsTaken) {
  EXPECT_FALSE(LipschitzLoss::piecewise({}, {0.0}));
  EXPECT_FALSE(LipschitzLoss::piecewise({0.0}, {-1.0}));
  EXPECT_FALSE(LipschitzLoss::piecewise({0.0}, {0.5, -0.5}));  // concave
  EXPECT_FALSE(LipschitzLoss::piecewise({0.0, 0.0}, {-1.0, 0.0, 1.0}));
  EXPECT_FALSE(LipschitzLoss::piecewise({0.0}, {-1.1, 1.0}));
  EXPECT_FALSE(LipschitzLoss::piecewise({0.0}, {0.0, 5e-324}));
  EXPECT_FALSE(LipschitzLoss::piecewise({NAN}, {-1.0, NAN}));
  EXPECT_FALSE(LipschitzLoss::piecewise({NAN}, {-1.0, 1.0}));
  EXPECT_FALSE(LipschitzLoss::piecewise({INFINITY}, {-1.0, 1.0}));
}

TEST(SlopeTest, ThePolynomialHoldsAsFarAsItIsAskedFor) {
  for (const double reach : {0.5, 1.0, 3.0}) {
    const LipschitzLoss loss = LipschitzLoss::quantile(0.8);
    const SlopePolynomial powers = chebyshev_slope(loss, 0.5, 3, reach);
    const SlopePolynomial bernstein = bernstein_slope(loss, 0.5, 1, reach);
    for (int i = 0; i <= 301; ++i) {
      const double u = 2.0 * i / 301.0 - 1.0;
      const double slope = loss.slope(0.5, reach * u);
      EXPECT_LE(std::abs(value_at(powers, u) - slope), powers.error);
      const double line = 0.5 * ((1.0 - u) * bernstein.coefficients[0] + (1.0 + u) * bernstein.coefficients[1]);
      EXPECT_LE(std::abs(line - slope), bernstein.error);
    }
  }
}

TEST(OracleTest, TheHermiteOracleIsUnbiased) {
  // N9: of single vectors, 10^6 draws; 6 standard errors in each of 3 coordinates and 4 degrees, below 1e-7.
  Normals normals(4);
  const Eigen::Vector3d u(0.5, -0.3, 0.2);
  const Eigen::Vector3d w(0.4, 0.6, -0.5);
  constexpr double kStddev = 0.5;
  constexpr Eigen::Index kTogether = 1000;
  for (Eigen::Index degree = 0; degree <= 3; ++degree) {
    SlopePolynomial slope{Eigen::VectorXd::Ones(degree + 1), 0.0};
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    Eigen::Vector3d squares = Eigen::Vector3d::Zero();
    constexpr int kBatches = 250;
    for (int i = 0; i < kBatches; ++i) {
      Eigen::MatrixXd noised(3, kTogether);
      for (Eigen::Index k = 0; k < kTogether; ++k) noised.col(k) = u + kStddev * normals.vector(3);
      const Eigen::Vector3d mean = hermite_gradient(noised, kStddev * kStddev, slope, w);
      sum += mean / kBatches;
      squares += mean.cwiseAbs2() / kBatches;
    }
    const Eigen::Vector3d expected = value_at(slope, w.dot(u)) * u;
    for (int j = 0; j < 3; ++j) {
      const double error = std::sqrt(std::max(squares[j] - sum[j] * sum[j], 1e-12) / kBatches);
      EXPECT_LT(std::abs(sum[j] - expected[j]), 6.0 * error) << degree;
    }
  }
}

TEST(OracleTest, TheOracleOfCopiesIsUnbiasedAndReusesNone) {
  Normals normals(7);
  const Eigen::Vector2d u(0.5, -0.3);
  const Eigen::Vector2d w(0.4, 0.6);
  const SlopePolynomial slope = bernstein_slope(LipschitzLoss::hinge(), 0.25, 2);
  double at = 0.0;  // of Bernstein's basis, at s = (1 + <w, u>) / 2
  const double s = 0.5 * (1.0 + w.dot(u));
  for (int j = 0; j <= 2; ++j)
    at += slope.coefficients[j] * (j == 1 ? 2.0 : 1.0) * std::pow(s, j) * std::pow(1.0 - s, 2 - j);
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  Eigen::Vector2d squares = Eigen::Vector2d::Zero();
  constexpr int kDraws = 400'000;
  for (int i = 0; i < kDraws; ++i) {
    Eigen::MatrixXd copies(2, 7);
    for (Eigen::Index r = 0; r < 7; ++r) copies.col(r) = u + 0.3 * normals.vector(2);
    const Eigen::Vector2d one = copies_gradient(copies, slope, w);
    sum += one / kDraws;
    squares += one.cwiseAbs2() / kDraws;
  }
  for (int j = 0; j < 2; ++j)
    EXPECT_LT(std::abs(sum[j] - at * u[j]), 6.0 * std::sqrt((squares[j] - sum[j] * sum[j]) / kDraws));
  EXPECT_EQ(copies_of(2), 7U);
}

TEST(OracleTest, HigherDegreesAreTakenWhereTheNoiseAllowsThem) {
  EXPECT_EQ(hermite_degree(8.0, 1000), 1U);
  EXPECT_EQ(hermite_degree(1.0, 200'000), 3U);  // 1 sqrt(6) < 8.9 < sqrt(120)
  EXPECT_EQ(hermite_degree(0.5, 200'000), 5U);
}

TEST(IntermediateGradientTest, ConvergesAtItsRate) {
  // N12: 1/2 ||w - w*||^2 in the unit ball, noise of deviation 3 in all; measured .046, .008, .0008, .00007.
  Normals normals(9);
  const Eigen::Vector3d best(0.4, -0.2, 0.3);
  double last = 1.0;
  for (const std::uint64_t steps : {100U, 1000U, 10'000U}) {
    double excess = 0.0;
    constexpr int kRuns = 10;
    for (int run = 0; run < kRuns; ++run) {
      const Eigen::VectorXd found = intermediate_gradient_descent(
          [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
            return Eigen::VectorXd(w - best + 3.0 / std::sqrt(3.0) * normals.vector(3));
          },
          3, {1.0, 1.0, 3.0, steps});
      excess += 0.5 * (found - best).squaredNorm() / kRuns;
    }
    const auto k = static_cast<double>(steps);
    EXPECT_LE(excess, 1.0 / k + 3.0 / std::sqrt(k));
    EXPECT_LT(excess, last);
    last = excess;
  }
  EXPECT_LT(last, 3e-3);
}

TEST(PublicMeansTest, InverseVariancesAreTheSourcesBestWeight) {
  // d = 8, B = 1, V^2 = 0.5, n = 300, n_pub = 40, rho = 0.02: a = 2 d B^2 / rho + n V^2, b = n^2 V^2 / n_pub.
  const double rho = 0.02;
  const double n = 300;
  const double pub = 40;
  const double square = 0.5;
  const double noise = 2.0 * 8.0 / (rho * n * n);  // of the mean, over its coordinates
  const double r = n * square / pub / (2.0 * 8.0 / rho + n * square + n * n * square / pub);
  const ProtectedMean silo{300, noise};
  const MeanWeights best = inverse_variances({silo}, 40, square);
  EXPECT_NEAR(best.of_silos[0], n * r, 1e-12);
  EXPECT_NEAR(best.of_public + best.of_silos[0], 1.0, 1e-12);
  EXPECT_NEAR(best.expected_square, expected_square_at(r, silo, 40, square), 1e-12);
  // Closed form: V^2 / n_pub q / (q + s^2).
  const double q = 2.0 + n * rho * square / 8.0;
  const double s2 = square * n * n * rho / (8.0 * pub);
  EXPECT_NEAR(best.expected_square, square / pub * q / (q + s2), 1e-12);
  EXPECT_GT(r, 0.0);
  EXPECT_LT(r, 1.0 / (n + pub));
  for (const double other : {0.0, 0.5 * r, 1.5 * r, 1.0 / (n + pub), 1.0 / n})
    EXPECT_GT(expected_square_at(other, silo, 40, square), best.expected_square);
  // Strictly better than throwing away and than protecting all, by less than a factor of 2.
  const double all_protected = noise * n * n / ((n + pub) * (n + pub)) + square / (n + pub);
  const double least = std::min(square / pub, all_protected);
  EXPECT_GT(least / best.expected_square, 1.0);
  EXPECT_LT(least / best.expected_square, 2.0);
}

TEST(PublicMeansTest, EdgesAreTheSources) {
  const ProtectedMean silo{100, 0.01};
  EXPECT_EQ(inverse_variances({silo}, 0, 0.5).of_silos[0], 1.0);
  EXPECT_EQ(inverse_variances({}, 10, 0.5).of_public, 1.0);
  EXPECT_NEAR(inverse_variances({}, 10, 0.5).expected_square, 0.05, 1e-15);
  EXPECT_EQ(inverse_variances({silo}, 10, 0.0).of_public, 1.0);  // V = 0: public records are the mean
  // Several alike silos are one whose rho is a share of theirs.
  const MeanWeights several = inverse_variances({silo, silo, silo}, 10, 0.5);
  EXPECT_NEAR(several.expected_square, 1.0 / (10 / 0.5 + 3.0 / (0.005 + 0.01)), 1e-12);
}

TEST(PublicMeansTest, TheEmpiricalMeanLeavesOutWhatNoiseWouldDrown) {
  // Theorem 77: (n_priv / n)^2 against the noise of the sum over n^2.
  EXPECT_FALSE(empirical_mean({{900, 1e-4}}, 100).leaves_out);
  EXPECT_NEAR(empirical_mean({{900, 1e-4}}, 100).expected_square, 0.81e-4, 1e-12);
  EXPECT_TRUE(empirical_mean({{10, 5.0}}, 90).leaves_out);
  EXPECT_NEAR(empirical_mean({{10, 5.0}}, 90).expected_square, 0.01, 1e-12);
  EXPECT_FALSE(empirical_mean({{10, 5.0}}, 0).leaves_out);  // nothing would be left
}

}  // namespace
}  // namespace undertone::statistics
