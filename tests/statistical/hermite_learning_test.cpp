// What models from one round learn: the spec's excess, and more degrees where noise is small.
#include <gtest/gtest.h>

#include "shared/statistics/generalised_linear.hpp"
#include "tests/support/seeded_normals.hpp"

namespace undertone::statistics {
namespace {

using tests::Normals;

/// N11's generator: x uniform on the sphere of five dimensions, y = 1 with chance sigmoid(6 (.9 x1 + .4 x2)).
Eigen::MatrixXd margins(Eigen::Index records, Normals& normals) {
  Eigen::MatrixXd u(5, records);
  for (Eigen::Index i = 0; i < records; ++i) {
    const Eigen::VectorXd x = normals.vector(5).normalized();
    const bool positive = normals.source().unit() < 1.0 / (1.0 + std::exp(-6.0 * (0.9 * x[0] + 0.4 * x[1])));
    u.col(i) = positive ? x : Eigen::VectorXd(-x);
  }
  return u;
}

TEST(HermiteLearningTest, ReachesTheSpecsExcessAndNoMoreDegreesHelp) {
  Normals normals(12);
  constexpr Eigen::Index kSolvedRecords = 60'000;
  const Eigen::MatrixXd u = margins(kSolvedRecords, normals);
  const auto risk = [&](const Eigen::VectorXd& w) {
    const Eigen::ArrayXd t = (u.transpose() * w).array() - 0.5;
    return (-0.5 * t + 0.5 * (t.square() + 0.0625).sqrt()).mean();
  };
  const Eigen::VectorXd best = least_in_ball(
      [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
        const Eigen::VectorXd slopes =
            (u.transpose() * w).unaryExpr([](double t) { return LipschitzLoss::hinge().slope(0.25, t); });
        return Eigen::VectorXd(u * slopes / static_cast<double>(kSolvedRecords));
      },
      5, 1.0, 2.0, 400);
  // epsilon = 8, delta = 1e-5: mu = 1.76, sigma = 2 / mu.
  constexpr double kStddev = 1.14;
  Eigen::MatrixXd noised = u;
  for (Eigen::Index i = 0; i < kSolvedRecords; ++i) noised.col(i) += kStddev * normals.vector(5);
  const auto excess = [&](std::size_t degree) {
    const SlopePolynomial slope = chebyshev_slope(LipschitzLoss::hinge(), 0.25, degree);
    return risk(least_in_ball(
               [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
                 return hermite_gradient(noised, kStddev * kStddev, slope, w);
               },
               5, 1.0, 4.0, 300)) -
           risk(best);
  };
  EXPECT_LT(excess(1), 0.005);
  EXPECT_GE(excess(5), excess(1));
  EXPECT_GT(risk(Eigen::VectorXd::Zero(5)) - risk(best), 0.02);
}

TEST(HermiteLearningTest, MoreDegreesFindAMedianAmidOutliersWhereNoiseIsSmall) {
  // y = x / 2 but for one record in eight, whose y is 1 or nearly: u = (x, y, 1) / sqrt 3, least absolute residuals.
  // Degree 1 is least squares, which follows the outliers; degree 5 comes nearer to the median's line.
  Normals normals(21);
  constexpr Eigen::Index kSolvedRecords = 20'000;
  constexpr double kStddev = 0.02;
  const double radius = std::sqrt(3.0);
  Eigen::MatrixXd u(3, kSolvedRecords);
  for (Eigen::Index i = 0; i < kSolvedRecords; ++i) {
    const double x = 2.0 * normals.source().unit() - 1.0;
    u.col(i) = Eigen::Vector3d(x, i % 8 == 0 ? 1.0 : 0.5 * x, 1.0) / radius;
  }
  Eigen::MatrixXd noised = u;
  for (Eigen::Index i = 0; i < kSolvedRecords; ++i) noised.col(i) += kStddev * normals.vector(3);
  const auto risk = [&](const Eigen::VectorXd& w) {
    return (u.transpose() * Eigen::Vector3d(w[0], -1.0, w[1])).cwiseAbs().mean();
  };
  const double reach = std::sqrt(2.0);
  const LipschitzLoss loss = LipschitzLoss::absolute();
  const auto found = [&](std::size_t degree) {
    const SlopePolynomial slope = chebyshev_slope(loss, 0.25 / radius, degree, reach);
    return risk(least_in_ball(
        [&](const Eigen::Ref<const Eigen::VectorXd>& w) {
          const Eigen::VectorXd along =
              hermite_gradient(noised, kStddev * kStddev, slope, Eigen::Vector3d(w[0], -1.0, w[1]) / reach);
          return Eigen::VectorXd(Eigen::Vector2d(along[0], along[2]));
        },
        2, 1.0, 2.0 * loss.curvature(0.25 / radius), 2000));
  };
  const double best = risk(Eigen::Vector2d(0.5, 0.0));
  EXPECT_LT(found(1), risk(Eigen::Vector2d::Zero()));
  // Measured over the best: .055, .050, .042.
  EXPECT_LT(found(3), found(1));
  EXPECT_LT(found(5) - best, 0.85 * (found(1) - best));
}

}  // namespace
}  // namespace undertone::statistics
