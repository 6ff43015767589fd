#include "shared/releases/dual_bound.hpp"

#include <cmath>

namespace undertone::releases {

Result<DualBound> DualBound::create(ClipNorm clip, double exponent, Eigen::Index dimension) {
  if (!(exponent > 2.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a bound in l_q needs q > 2: l2 has a bound of its own, got {}", exponent)};
  }
  if (dimension < 1)
    return Error{ErrorCode::InvalidArgument, fmt::format("a bound in l_q needs a dimension, got {}", dimension)};
  // Rounded up by far more than a power may be off.
  const double growth = std::pow(static_cast<double>(dimension), 0.5 - 1.0 / exponent) * (1.0 + 0x1p-40);
  UNDERTONE_TRY(const ClipNorm l2, ClipNorm::create(clip.value() * growth));
  return DualBound(clip, exponent, l2);
}

double DualBound::primal_exponent() const noexcept {
  return std::isinf(exponent_) ? 1.0 : exponent_ / (exponent_ - 1.0);
}

DualBound DualBound::times(double factor) const {
  DualBound out = *this;
  out.clip_ = *ClipNorm::create(clip_.value() * factor);
  out.l2_ = *ClipNorm::create(l2_.value() * factor);
  return out;
}

std::string norm_name(double exponent) {
  return std::isinf(exponent) ? std::string("l_inf") : fmt::format("l_{:.6g}", exponent);
}

}  // namespace undertone::releases
