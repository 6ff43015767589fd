#include "shared/statistics/survival/table_functional.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace undertone::statistics {
namespace {

/// How much larger a quantile is than z, over the excess kurtosis.
double tail_correction(double z) { return (z * z * z - 3.0 * z) / 24.0; }

}  // namespace

NoisedTable noised_table(Eigen::VectorXd cells, double records, const NoiseLaw& noise) {
  UNDERTONE_CHECK(cells.size() >= 1);
  const double variance = noise.variance();
  return {std::move(cells), records, variance, noise.excess_kurtosis() * variance * variance, false};
}

NoisedTable balanced(NoisedTable table) {
  table.cells.array() -= (table.cells.sum() - table.records) / static_cast<double>(table.cells.size());
  table.balanced = true;
  return table;
}

void add_spread(Spread& sum, const Spread& one, double weight) {
  const double square = weight * weight;
  sum.noise += square * one.noise;
  sum.sampling += square * one.sampling;
  sum.fourth += square * square * one.fourth;
}

double noise_covariance(const NoisedTable& table, const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
  const double shared = table.balanced ? a.sum() * b.sum() / static_cast<double>(a.size()) : 0.0;
  return table.noise_variance * (a.dot(b) - shared);
}

Eigen::MatrixXd noise_covariance(const NoisedTable& table, const Eigen::MatrixXd& gradients) {
  Eigen::MatrixXd out = gradients.transpose() * gradients;
  if (table.balanced) {
    const Eigen::VectorXd sums = gradients.colwise().sum().transpose();
    out -= sums * sums.transpose() / static_cast<double>(gradients.rows());
  }
  return table.noise_variance * out;
}

Spread spread_of(const NoisedTable& table, const Eigen::VectorXd& gradient, SizeOf size) {
  const Eigen::ArrayXd counts = table.cells.array().max(0.0);
  const double sum = (gradient.array() * counts).sum();
  const double known = size == SizeOf::Table ? sum * sum / table.records : 0.0;
  const double centre = table.balanced ? gradient.mean() : 0.0;
  return {std::max(0.0, noise_covariance(table, gradient, gradient)),
          std::max(0.0, (gradient.array().square() * counts).sum() - known),
          table.fourth_cumulant * (gradient.array() - centre).square().square().sum()};
}

double corrected_quantile(double z, double fourth, double variance) {
  // Few discrete Laplace noises at large epsilon have heavier tails than continuous ones. The correction is no law
  // there: what is one cell is stated by its exact law instead.
  constexpr double kExcessMax = 3.0;
  if (!(variance > 0.0)) return z;
  return std::max(z + tail_correction(z) * std::min(fourth / variance / variance, kExcessMax), 0.5 * z);
}

double corrected_p_value(double deviations, double fourth, double variance) {
  UNDERTONE_CHECK(deviations >= 0.0 && std::isfinite(deviations));
  // The corrected quantile grows with z, as the excess kurtosis counts as 3 at most.
  double low = 0.0;
  double high = 2.0 * deviations + 1.0;
  for (int step = 0; step < 200 && high - low > 1e-15 * high; ++step) {
    const double middle = 0.5 * (low + high);
    (corrected_quantile(middle, fourth, variance) < deviations ? low : high) = middle;
  }
  return boost::math::erfc(0.5 * (low + high) / std::numbers::sqrt2);
}

Stated state_wald(double value, const Spread& spread, Confidence confidence, bool sampling, Interval all) {
  const auto around = [&](double variance) {
    const double half = corrected_quantile(confidence.z(), spread.fourth, variance) * std::sqrt(variance);
    return cut_to({value - half, value + half}, all);
  };
  Stated out;
  out.value = value;
  out.noise_stddev = std::sqrt(spread.noise);
  out.noise = around(spread.noise);
  if (sampling) {
    out.population = around(spread.total());
    out.method = Method::Normal;
  }
  return out;
}

}  // namespace undertone::statistics
