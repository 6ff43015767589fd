#include "shared/mechanisms/local_reports/one_bit.hpp"

#include <cmath>

namespace undertone::mechanisms {

Result<OneBit> OneBit::create(releases::Epsilon epsilon, std::int64_t levels) {
  if (levels < 1 || levels > kLevelsMax) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a bit is about 1 to {} levels, got {}", kLevelsMax, levels)};
  }
  if (!(epsilon.value() <= kEpsilonMax)) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the epsilon of a randomised bit must be at most {}, got {}",
                                                         kEpsilonMax, epsilon.value())};
  }
  UNDERTONE_TRY(const releases::EpsilonAmount spent, releases::EpsilonAmount::rounded_down(epsilon.value()));
  // (1 + c) / (1 - c) = e^epsilon at c = tanh(epsilon / 2). The factor is far beyond what the function and the product
  // may be off, and costs less than 2^-47 of c.
  constexpr double half_scale = 0x1p39;  // of kScale
  const double contrast = half_scale * std::tanh(0.5 * spent.value_rounded_down()) * (1.0 - 0x1p-48);
  const auto units = static_cast<std::int64_t>(std::floor(contrast));
  if (units < 1) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("at epsilon {} a randomised bit says nothing: expected 2^-37 or more", epsilon.value())};
  }
  return OneBit(levels, units, spent);
}

double OneBit::contrast() const noexcept { return std::ldexp(static_cast<double>(contrast_units_), -39); }

}  // namespace undertone::mechanisms
