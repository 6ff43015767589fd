#include "shared/statistics/cosine_series.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/result.hpp"

namespace undertone::statistics {
namespace {

constexpr double kNodesMax = 4096.0;
constexpr double kCheckedMin = 0x1p14;
constexpr double kCheckedMax = 0x1p18;

/// cos(v theta), v = 0 .. t-1, by their recurrence.
void put_cosines(double u, Eigen::VectorXd& out) {
  for (Eigen::Index v = 0; v < out.size(); ++v) out[v] = v == 0 ? 1.0 : v == 1 ? u : 2.0 * u * out[v - 1] - out[v - 2];
}

}  // namespace

CosineSeries cosine_series(const std::function<double(double)>& function, double lipschitz, std::size_t terms) {
  UNDERTONE_CHECK(terms >= 1 && std::isfinite(lipschitz) && lipschitz > 0.0);
  // What is narrow is between the nodes otherwise.
  const auto nodes = static_cast<Eigen::Index>(
      std::max({48.0, 4.0 * static_cast<double>(terms), std::min(kNodesMax, std::ceil(16.0 * lipschitz))}));
  CosineSeries out{Eigen::VectorXd::Zero(static_cast<Eigen::Index>(terms)), 0.0};
  Eigen::VectorXd cosines(out.coefficients.size());
  for (Eigen::Index i = 0; i < nodes; ++i) {
    const double u = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(nodes));
    put_cosines(u, cosines);
    out.coefficients += function(u) * cosines;
  }
  out.coefficients *= 2.0 / static_cast<double>(nodes);
  out.coefficients[0] *= 0.5;

  const double checked = std::clamp(std::ceil(0x1p14 * lipschitz), kCheckedMin, kCheckedMax);
  const double step = std::numbers::pi / checked;
  for (double i = 0.0; i <= checked; ++i) {
    const double u = std::cos(step * i);
    put_cosines(u, cosines);
    out.error = std::max(out.error, std::abs(out.coefficients.dot(cosines) - function(u)));
  }
  double slope = lipschitz;
  for (Eigen::Index v = 1; v < out.coefficients.size(); ++v)
    slope += static_cast<double>(v) * std::abs(out.coefficients[v]);
  out.error += 0.5 * step * slope;
  return out;
}

CosineSeries gaussian_series(double centre, double width, std::size_t terms) {
  // Steepest at one width from its middle.
  return cosine_series([&](double u) { return std::exp(-0.5 * std::pow((u - centre) / width, 2)); },
                       std::exp(-0.5) / width, terms);
}

CosineSeries product_of(std::span<const CosineSeries> factors) {
  UNDERTONE_CHECK(!factors.empty());
  CosineSeries out{Eigen::VectorXd::Ones(1), 1.0};
  for (const CosineSeries& factor : factors) {
    Eigen::VectorXd next(out.coefficients.size() * factor.coefficients.size());
    for (Eigen::Index v = 0; v < factor.coefficients.size(); ++v)
      next.segment(v * out.coefficients.size(), out.coefficients.size()) = factor.coefficients[v] * out.coefficients;
    out.coefficients = std::move(next);
    out.error *= 1.0 + factor.error;
  }
  out.error -= 1.0;
  return out;
}

}  // namespace undertone::statistics
