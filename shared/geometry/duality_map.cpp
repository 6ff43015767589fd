#include "shared/geometry/duality_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shared/base/result.hpp"

namespace undertone::geometry {

double l1_setup_exponent(Eigen::Index dimension) {
  UNDERTONE_CHECK(dimension >= 1);
  return 1.0 + 1.0 / std::max(1.0, std::log2(static_cast<double>(dimension)));
}

double conjugate_exponent(double exponent) {
  UNDERTONE_CHECK(exponent >= 1.0);
  if (exponent == 1.0) return std::numeric_limits<double>::infinity();
  if (std::isinf(exponent)) return 1.0;
  return exponent / (exponent - 1.0);
}

double lp_norm(const Eigen::Ref<const Eigen::VectorXd>& x, double exponent) {
  UNDERTONE_CHECK(exponent >= 1.0);
  if (x.size() == 0) return 0.0;
  if (exponent == 1.0) return x.lpNorm<1>();
  const double largest = x.lpNorm<Eigen::Infinity>();
  if (std::isinf(exponent) || largest == 0.0) return largest;
  if (exponent == 2.0) return x.stableNorm();
  // Of the duals of l_1.5, l_4/3 and l_1.2 without a power a coordinate.
  const double sum = exponent == 3.0   ? (x.array().abs() / largest).cube().sum()
                     : exponent == 4.0 ? (x.array() / largest).square().square().sum()
                     : exponent == 6.0 ? (x.array() / largest).cube().square().sum()
                                       : (x.array().abs() / largest).pow(exponent).sum();
  return largest * std::pow(sum, 1.0 / exponent);
}

void apply_duality_map(double exponent, Eigen::Ref<Eigen::VectorXd> u) {
  UNDERTONE_CHECK(exponent > 1.0 && std::isfinite(exponent));
  if (u.size() == 0 || exponent == 2.0) return;
  const double largest = u.lpNorm<Eigen::Infinity>();
  if (largest == 0.0) return;
  // One power a coordinate: b = a^(p-1), and a^p = a b.
  const Eigen::ArrayXd relative = u.array().abs() / largest;
  const Eigen::ArrayXd image = relative.pow(exponent - 1.0);
  const double scale = largest * std::pow((relative * image).sum(), (2.0 - exponent) / exponent);
  u = scale * (u.array() < 0.0).select(-image, image);
}

}  // namespace undertone::geometry
