#include "shared/statistics/stated.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>
#include <utility>

namespace undertone::statistics {
namespace {

double two_sided_normal_quantile(double alpha) { return std::numbers::sqrt2 * boost::math::erfc_inv(alpha); }

Interval mapped(Interval interval, double offset, double factor) {
  const double one = offset + factor * interval.low;
  const double other = offset + factor * interval.high;
  return {std::min(one, other), std::max(one, other)};
}

}  // namespace

Interval cut_to(Interval interval, Interval feasible) noexcept {
  return {std::clamp(interval.low, feasible.low, feasible.high),
          std::clamp(interval.high, feasible.low, feasible.high)};
}

Result<Confidence> Confidence::create(double value) {
  const double alpha = 1.0 - value;
  if (!(value >= 0.5 && alpha >= 0.0009999)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a confidence is expected from 0.5 to 0.999, such as 0.95, got {}", value)};
  }
  return Confidence(alpha, two_sided_normal_quantile(alpha));
}

Confidence Confidence::shared_by(std::int64_t intervals) const {
  UNDERTONE_CHECK(intervals >= 1);
  const double alpha = std::max(1e-10, alpha_ / static_cast<double>(intervals));
  return {alpha, two_sided_normal_quantile(alpha)};
}

std::string_view to_string(Method method) noexcept {
  switch (method) {
    case Method::None:
      return "none";
    case Method::Exact:
      return "exact";
    case Method::Score:
      return "score";
    case Method::PlugIn:
      return "plug-in";
    case Method::Chernoff:
      return "Chernoff";
    case Method::VarianceScore:
      return "variance score";
    case Method::Box:
      return "box";
    case Method::FourMoment:
      return "four moments";
    case Method::Fisher:
      return "Fisher";
    case Method::Mover:
      return "MOVER";
    case Method::Fieller:
      return "Fieller";
    case Method::Normal:
      return "normal";
  }
  return "none";
}

Stated in_units(Stated stated, double offset, double factor) {
  UNDERTONE_CHECK(std::isfinite(offset) && std::isfinite(factor) && factor != 0.0);
  if (stated.value) stated.value = offset + factor * *stated.value;
  stated.noise_stddev *= std::abs(factor);
  stated.noise = mapped(stated.noise, offset, factor);
  if (stated.population) stated.population = mapped(*stated.population, offset, factor);
  return stated;
}

}  // namespace undertone::statistics
