#include "shared/geometry/regular_norm.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::geometry {

double RegularNorm::dual_exponent() const noexcept { return exponent / (exponent - 1.0); }

double RegularNorm::sum_growth(double count) const noexcept {
  return std::min(count, smoothness - (smoothness - 1.0) / count);
}

RegularNorm regular_norm(double exponent, Eigen::Index dimension) {
  UNDERTONE_CHECK(exponent >= 2.0 && dimension >= 1);
  const auto d = static_cast<double>(dimension);
  const double logarithm = std::log(d);
  // (r - 1)^-1 = 2 ln d/r^2 at r = ln d +- sqrt(ln^2 d - 2 ln d), of which the lesser is at most 2.
  const double stationary = logarithm > 2.0 ? logarithm + std::sqrt(logarithm * (logarithm - 2.0)) : 2.0;
  const double r = std::min(exponent, stationary);
  return {r, r - 1.0, (r - 1.0) * std::pow(d, 2.0 * (1.0 / r - 1.0 / exponent))};
}

double coordinate_share(double exponent, Eigen::Index dimension) {
  UNDERTONE_CHECK(exponent >= 1.0 && std::isfinite(exponent) && dimension >= 1);
  const double twice = 2.0 / exponent;
  return boost::math::tgamma_delta_ratio(static_cast<double>(dimension) / exponent, twice) /
         boost::math::tgamma_delta_ratio(1.0 / exponent, twice);
}

}  // namespace undertone::geometry
