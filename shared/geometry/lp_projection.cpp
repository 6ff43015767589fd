#include "shared/geometry/lp_projection.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/geometry/duality_map.hpp"

namespace undertone::geometry {
namespace {

/// v in [0, 1] with flat v + (1 - flat) v^power = value. The left side is convex and grows, so that Newton's method
/// comes down to the root from any point above it, and both terms alone reach the value no earlier than together.
/// @param flat in [0, 1] @param power > 1 @param value in [0, 1]
double share_of_largest(double flat, double power, double value) {
  if (value == 0.0) return 0.0;
  double v = 1.0;
  if (flat < 1.0) v = std::min(v, std::pow(value / (1.0 - flat), 1.0 / power));
  if (flat > 0.0) v = std::min(v, value / flat);
  for (int i = 0; i < 64; ++i) {
    const double curved = (1.0 - flat) * std::pow(v, power);
    const double excess = flat * v + curved - value;
    if (!(excess > 0.0)) break;
    // v >= value, since v^power <= v: rounding never leads below.
    const double next = std::max(value, v - excess / (flat + power * curved / v));
    if (!(next < v)) break;
    v = next;
  }
  return v;
}

}  // namespace

// With s = max |y_j|, r = radius/s and x = radius u the condition is r u_j + m u_j^(p-1) = |y_j|/s, m >= 0, so that the
// largest t = max u_j has m = (1 - r t)/t^(p-1). In terms of v_j = u_j/t it reads
//   r t v_j + (1 - r t) v_j^(p-1) = |y_j|/s,
// a mean of two numbers of [0, 1]: whatever s, radius and p are, nothing overflows. The norm of u grows with t; it is 1
// at most at d^(-1/p), and 1 at least at min(1, 1/r), where u_j = |y_j|/radius or the largest fills the ball alone.
void project_onto_lp_ball(double exponent, double radius, Eigen::Ref<Eigen::VectorXd> point) {
  UNDERTONE_CHECK(exponent > 2.0 && radius > 0.0 && std::isfinite(radius) && point.allFinite());
  if (std::isinf(exponent)) {
    point = point.cwiseMax(-radius).cwiseMin(radius);
    return;
  }
  if (lp_norm(point, exponent) <= radius) return;
  const double largest = point.lpNorm<Eigen::Infinity>();
  const double ratio = radius / largest;
  const Eigen::ArrayXd relative = point.array().abs() / largest;
  Eigen::VectorXd shares(point.size());
  const auto outside = [&](double t) {
    const double flat = std::min(1.0, ratio * t);
    for (Eigen::Index j = 0; j < shares.size(); ++j) shares[j] = share_of_largest(flat, exponent - 1.0, relative[j]);
    return t * lp_norm(shares, exponent) - 1.0;
  };
  double t = std::min(1.0, 1.0 / ratio);
  const double low = std::exp(-std::log(static_cast<double>(point.size())) / exponent);
  const double at_high = outside(t);
  if (low < t && at_high > 0.0) {
    const double at_low = outside(low);
    if (at_low < 0.0) {
      std::uintmax_t steps = 200;
      t = boost::math::tools::toms748_solve(outside, low, t, at_low, at_high,
                                            boost::math::tools::eps_tolerance<double>(51), steps)
              .first;
    } else {
      t = low;
    }
  }
  (void)outside(t);
  const double length = t * lp_norm(shares, exponent);
  const double scale = radius * (length > 1.0 ? t / length : t);
  for (Eigen::Index j = 0; j < point.size(); ++j) point[j] = std::copysign(scale * shares[j], point[j]);
}

}  // namespace undertone::geometry
