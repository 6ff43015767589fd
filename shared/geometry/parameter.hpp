#pragma once

#include <Eigen/Core>
#include <cmath>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::geometry {

/// What a radius, a bound, a strength or a step size may be at most, in absolute value: a product of three of them is
/// then finite.
inline constexpr double kParameterMax = 1e100;

/// An error unless 0 < value <= kParameterMax. @param what names the value: "the radius of an l1 ball"
[[nodiscard]] inline Status check_positive(std::string_view what, double value) {
  if (!(value > 0.0 && value <= kParameterMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} must be > 0 and <= {}, got {}", what, kParameterMax, value)};
  }
  return {};
}

/// Whether every coordinate and the l2 norm are finite. Eigen's stableNorm alone passes over a NaN.
[[nodiscard]] inline bool has_finite_norm(const Eigen::Ref<const Eigen::VectorXd>& point) {
  return point.allFinite() && std::isfinite(point.stableNorm());
}

}  // namespace undertone::geometry
