#include "shared/geometry/local_p_norm.hpp"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/geometry/duality_map.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {
namespace {

constexpr double kLogMax = 600.0;  // of a coordinate that no set holds, far inside a double

/// The change of sign of a monotone function between two ends of different signs; of the two ends it comes down to,
/// that on which the function is not positive.
template <class Function>
double root_where_not_positive(const Function& function, double low, double high) {
  double at_low = function(low);
  double at_high = function(high);
  if (at_low <= 0.0 && at_high <= 0.0) return std::abs(at_low) < std::abs(at_high) ? low : high;
  if (at_low > 0.0 && at_high > 0.0) return at_low < at_high ? low : high;
  std::uintmax_t steps = 200;
  const auto [left, right] = boost::math::tools::toms748_solve(function, low, high, at_low, at_high,
                                                               boost::math::tools::eps_tolerance<double>(50), steps);
  return function(left) <= 0.0 ? left : right;
}

/// sign(a) (|a|/w)^(1/(p-1)), its logarithm kept within what doubles hold.
double power_of(double a, double log_weight, double power) {
  if (a == 0.0) return 0.0;
  const double log_length = (std::log(std::abs(a)) - log_weight) / (power - 1.0);
  return std::copysign(std::exp(std::clamp(log_length, -kLogMax, kLogMax)), a);
}

/// u with grad of the smooth part in the l1 norm's subdifferential, coordinate by coordinate, where w stands for what
/// multiplies sign(u) |u|^(p-1).
void move_of(const Eigen::Ref<const Eigen::VectorXd>& dual, const Eigen::Ref<const Eigen::VectorXd>& centre,
             double shrink, double log_weight, double power, Eigen::VectorXd& out) {
  for (Eigen::Index j = 0; j < dual.size(); ++j) {
    const double up = power_of(dual[j] - shrink, log_weight, power);
    if (centre[j] + up > 0.0 || shrink == 0.0) {
      out[j] = up;
      continue;
    }
    const double down = power_of(dual[j] + shrink, log_weight, power);
    out[j] = centre[j] + down < 0.0 ? down : -centre[j];
  }
}

}  // namespace

Result<LocalPNorm> LocalPNorm::create(double power, double radius, std::optional<double> l1_radius) {
  if (!(power > 1.0 && power <= 2.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("a p-norm potential needs p in (1, 2], got {}", power)};
  UNDERTONE_TRY(check_positive("the radius around a centre", radius));
  if (l1_radius) UNDERTONE_TRY(check_positive("the radius of an l1 ball", *l1_radius));
  return LocalPNorm(power, radius, l1_radius);
}

Eigen::VectorXd LocalPNorm::gradient(const Eigen::Ref<const Eigen::VectorXd>& point,
                                     const Eigen::Ref<const Eigen::VectorXd>& centre) const {
  Eigen::VectorXd out = point - centre;
  apply_duality_map(power_, out);
  return out / (power_ - 1.0);
}

// Optimality of (c/2)||u||_p^2 - <dual, u> with multipliers s of ||centre + u||_1 and v of ||u||_p:
//   dual - s sign(centre + u) = w sign(u) |u|^(p-1),  w = c ||u||_p^(2-p) + v.
// For a given s the norm n(w) of the solution falls in w, so w - c n(w)^(2-p) grows, and the larger of its root and the
// w with n(w) = radius is the one.
Eigen::VectorXd LocalPNorm::move_at(const Eigen::Ref<const Eigen::VectorXd>& dual,
                                    const Eigen::Ref<const Eigen::VectorXd>& centre, double shrink) const {
  const double c = 1.0 / (power_ - 1.0);
  const double largest = dual.lpNorm<Eigen::Infinity>() + shrink;
  Eigen::VectorXd out = Eigen::VectorXd::Zero(dual.size());
  if (!(largest > std::numeric_limits<double>::min())) return out;
  const auto norm_at = [&](double log_weight) {
    move_of(dual, centre, shrink, log_weight, power_, out);
    return lp_norm(out, power_);
  };
  // Positive where a move is too long, or longer than its own w allows: it falls in w.
  const auto too_long = [&](double log_weight) {
    const double norm = norm_at(log_weight);
    const double own = norm == 0.0 ? -kLogMax : std::log(c) + (2.0 - power_) * std::log(norm) - log_weight;
    return std::max(norm / radius_ - 1.0, own);
  };
  // Where the largest coordinate is as long as the ball's radius times 1e18, and as short as a 1e-18 of it over d.
  const double d = static_cast<double>(dual.size());
  const double reach = (power_ - 1.0) * std::log(1e18);
  const double middle = std::log(largest) - (power_ - 1.0) * std::log(radius_);
  const double low = std::min(middle - reach, std::log(c) - reach);
  const double high =
      std::max(middle + reach + (power_ - 1.0) * std::log(d), std::log(c) + (2.0 - power_) * std::log(radius_) + reach);
  (void)norm_at(root_where_not_positive(too_long, low, high));
  return out;
}

Eigen::VectorXd LocalPNorm::minimiser(const Eigen::Ref<const Eigen::VectorXd>& dual,
                                      const Eigen::Ref<const Eigen::VectorXd>& centre) const {
  UNDERTONE_CHECK(dual.size() == centre.size() && dual.allFinite() && centre.allFinite());
  Eigen::VectorXd move = move_at(dual, centre, 0.0);
  if (l1_radius_ && (centre + move).lpNorm<1>() > *l1_radius_) {
    // With a multiplier of the dual's largest coordinate nothing moves away from 0: the centre's norm is not exceeded.
    const auto outside = [&](double shrink) {
      return (centre + move_at(dual, centre, shrink)).lpNorm<1>() / *l1_radius_ - 1.0;
    };
    move = move_at(dual, centre, root_where_not_positive(outside, 0.0, dual.lpNorm<Eigen::Infinity>()));
  }
  const double length = lp_norm(move, power_);
  if (length > radius_) move *= radius_ / length;
  Eigen::VectorXd out = centre + move;
  if (l1_radius_)
    if (const double norm = out.lpNorm<1>(); norm > *l1_radius_) out *= *l1_radius_ / norm;
  return out;
}

}  // namespace undertone::geometry
