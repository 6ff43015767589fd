#include "shared/data/dirichlet.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::data {
namespace {

/// Uniform on (0, 1], so that its logarithm is finite.
double positive_unit(RandomSource& source) { return 1.0 - source.unit(); }

/// Source: Box and Muller 1958.
double normal_variate(RandomSource& source) {
  const double radius = std::sqrt(-2.0 * std::log(positive_unit(source)));
  return radius * std::cos(2.0 * std::numbers::pi * source.unit());
}

/// The logarithm of a Gamma(shape) variate, shape >= 1.
double log_gamma_from_one(double shape, RandomSource& source) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = normal_variate(source);
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(positive_unit(source)) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d) + std::log(v);
  }
}

/// Gamma(shape) is Gamma(shape + 1) times a uniform to the power 1 / shape.
double log_gamma(double shape, RandomSource& source) {
  if (shape >= 1.0) return log_gamma_from_one(shape, source);
  const double larger = log_gamma_from_one(shape + 1.0, source);
  return larger + std::log(positive_unit(source)) / shape;
}

}  // namespace

Result<std::vector<double>> dirichlet_proportions(std::size_t parts, double concentration, RandomSource& source) {
  if (parts == 0) return Error{ErrorCode::InvalidArgument, "proportions: expected one part or more, found 0"};
  if (!(concentration >= kConcentrationMin && concentration <= kConcentrationMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("Dirichlet concentration: expected {} to {}, found {}",
                                                         kConcentrationMin, kConcentrationMax, concentration)};
  }
  std::vector<double> proportions(parts);
  for (double& value : proportions) value = log_gamma(concentration, source);
  const double largest = *std::max_element(proportions.begin(), proportions.end());
  double sum = 0.0;
  for (double& value : proportions) sum += value = std::exp(value - largest);
  for (double& value : proportions) value /= sum;
  return proportions;
}

}  // namespace undertone::data
