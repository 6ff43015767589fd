#include "shared/geometry/power_potential.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace undertone::geometry {

double PowerPotential::slope(double magnitude) const {
  return coefficient * exponent * std::pow(magnitude, exponent - 1.0);
}

double PowerPotential::magnitude(double slope) const {
  return std::pow(slope / (coefficient * exponent), 1.0 / (exponent - 1.0));
}

double PowerPotential::value(const Eigen::Ref<const Eigen::VectorXd>& magnitudes) const {
  return coefficient * magnitudes.array().pow(exponent).sum();
}

// With t = max(slopes) - tau the largest magnitude is magnitude(t): at magnitude 1 the sum is 1 or more, and at 1/k of
// the k slopes that exceed the bracket's other end it is 1 or less. What lies further below the largest has no part.
void PowerPotential::project(Eigen::Ref<Eigen::VectorXd> slopes) const {
  if (slopes.size() == 0) return;
  const double largest = slopes.maxCoeff();
  const double t_max = slope(1.0);
  std::vector<double> below;
  for (const double value : slopes) {
    if (largest - value < t_max) below.push_back(largest - value);
  }
  const auto excess = [&](double t) {
    double sum = 0.0;
    for (const double gap : below) sum += gap < t ? magnitude(t - gap) : 0.0;
    return sum - 1.0;
  };
  if (largest <= t_max && !(excess(largest) > 0.0)) return;  // tau = 0
  double t = t_max;
  if (const double at_max = excess(t_max); at_max > 0.0) {
    const double t_min = slope(1.0 / static_cast<double>(below.size())) * (1.0 - 1e-12);
    const double at_min = excess(t_min);
    t = t_min;
    if (at_min < 0.0) {
      std::uintmax_t steps = 100;
      const auto bracket = boost::math::tools::toms748_solve(excess, t_min, t_max, at_min, at_max,
                                                             boost::math::tools::eps_tolerance<double>(51), steps);
      t = bracket.first;  // the sum is at most 1 there
    }
  }
  for (double& value : slopes) value = std::max(0.0, t - (largest - value));
}

}  // namespace undertone::geometry
