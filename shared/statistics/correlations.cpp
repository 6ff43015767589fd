#include "shared/statistics/correlations.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::statistics {
namespace {

constexpr double kVarianceGate = 3.0;  // noise standard deviations below each variance
constexpr double kMostOf = 0.999;      // |r| where formulas divide by 1 - r^2

/// Noise standard deviations of means.
struct NoiseOfMeans {
  double first;
  double square;  // of u^2
  double cross;   // of u_j u_k

  explicit NoiseOfMeans(const VectorMoments& moments)
      : first(moments.first_stddev / static_cast<double>(moments.records)),
        square(std::sqrt(2.0) * moments.cross_stddev / static_cast<double>(moments.records)),
        cross(moments.cross_stddev / static_cast<double>(moments.records)) {}
};

}  // namespace

Eigen::MatrixXd covariance(const VectorMoments& moments) {
  const auto n = static_cast<double>(moments.records);
  const Eigen::VectorXd mean = moments.first / n;
  Eigen::MatrixXd out = moments.second / n - mean * mean.transpose();
  const double noise = NoiseOfMeans(moments).first;
  out.diagonal().array() += noise * noise;
  return out;
}

Eigen::MatrixXd covariance_noise(const VectorMoments& moments) {
  const NoiseOfMeans noise(moments);
  const Eigen::VectorXd mean = moments.first / static_cast<double>(moments.records);
  const double v = noise.first * noise.first;
  Eigen::MatrixXd out(mean.size(), mean.size());
  for (Eigen::Index j = 0; j < mean.size(); ++j) {
    for (Eigen::Index k = 0; k < mean.size(); ++k) {
      const double own = j == k ? noise.square * noise.square + 4.0 * mean[j] * mean[j] * v + 2.0 * v * v
                                : noise.cross * noise.cross + (mean[j] * mean[j] + mean[k] * mean[k]) * v + v * v;
      out(j, k) = std::sqrt(own);
    }
  }
  return out;
}

Stated state_covariance(const VectorMoments& moments, Eigen::Index j, Eigen::Index k, Confidence confidence) {
  UNDERTONE_CHECK(j >= 0 && k >= 0 && j < moments.dimension() && k < moments.dimension());
  Stated out;
  out.value = covariance(moments)(j, k);
  out.noise_stddev = covariance_noise(moments)(j, k);
  const double half = confidence.z() * out.noise_stddev;
  const Interval feasible{j == k ? 0.0 : -1.0, 1.0};
  const double held = std::clamp(*out.value, feasible.low, feasible.high);
  out.noise = cut_to({held - half, held + half}, feasible);
  out.note = "no interval for the population: it would need fourth moments";
  return out;
}

Stated state_correlation(const VectorMoments& moments, Eigen::Index j, Eigen::Index k, Confidence confidence,
                         Shape shape) {
  UNDERTONE_CHECK(j >= 0 && k >= 0 && j < moments.dimension() && k < moments.dimension() && j != k);
  const auto n = static_cast<double>(moments.records);
  const NoiseOfMeans noise(moments);
  const double ma = moments.first[j] / n;
  const double mb = moments.first[k] / n;
  const double own = noise.first * noise.first;
  const double va = moments.second(j, j) / n - ma * ma + own;
  const double vb = moments.second(k, k) / n - mb * mb + own;
  const double cross = moments.second(j, k) / n - ma * mb;
  const auto ratio = [&](double mean, double variance) {
    return variance / std::sqrt(noise.square * noise.square + 4.0 * mean * mean * own + 2.0 * own * own);
  };
  Stated out;
  out.noise = {-1.0, 1.0};
  out.gate = std::min(ratio(ma, va), ratio(mb, vb));
  if (!(*out.gate > kVarianceGate)) {
    out.population = Interval{-1.0, 1.0};
    out.note = fmt::format("refused: a variance is {:.2f} standard deviations of its noise, expected more than {}",
                           *out.gate, kVarianceGate);
    return out;
  }
  const double inverse = 1.0 / std::sqrt(va * vb);
  out.value = cross * inverse;
  const double r = std::clamp(*out.value, -kMostOf, kMostOf);
  const double by_aa = -r / (2.0 * va);
  const double by_bb = -r / (2.0 * vb);
  const double by_a = -mb * inverse - 2.0 * ma * by_aa;
  const double by_b = -ma * inverse - 2.0 * mb * by_bb;
  const double noise_variance = (by_a * by_a + by_b * by_b) * own +
                                (by_aa * by_aa + by_bb * by_bb) * noise.square * noise.square +
                                inverse * inverse * noise.cross * noise.cross;
  out.noise_stddev = std::sqrt(noise_variance);
  const double half = confidence.z() * out.noise_stddev;
  out.noise = cut_to({r - half, r + half}, {-1.0, 1.0});
  if (shape == Shape::Unknown || n <= 3.0) {
    out.note =
        "no interval for the population: Fisher's assumes a near-normal shape, which nobody declared, and covers "
        "0.82 instead of 0.95 where values are tied";
    return out;
  }
  const double remaining = 1.0 - r * r;
  const double wide = confidence.z() * std::sqrt(1.0 / (n - 3.0) + noise_variance / (remaining * remaining));
  out.population = Interval{std::tanh(std::atanh(r) - wide), std::tanh(std::atanh(r) + wide)};
  out.method = Method::Fisher;
  out.note = "assumes a near-normal shape, as declared";
  return out;
}

Eigen::MatrixXd nearest_semidefinite(const Eigen::MatrixXd& symmetric) {
  UNDERTONE_CHECK(symmetric.rows() == symmetric.cols() && symmetric.allFinite());
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(symmetric);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).asDiagonal() * solver.eigenvectors().transpose();
}

}  // namespace undertone::statistics
