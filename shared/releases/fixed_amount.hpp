#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::releases {

__extension__ typedef unsigned __int128 UInt128;
__extension__ typedef __int128 Int128;

[[nodiscard]] std::string to_decimal(UInt128 value);
[[nodiscard]] Result<UInt128> parse_decimal(std::string_view text);

/// A privacy amount as a ledger adds it up: an integer count of 2^-FractionBits. A double would absorb a small spend
/// and fail open; this cannot. Costs are rounded up, limits down, overflow is refused.
template <int FractionBits, class Meaning>
class FixedAmount {
 public:
  constexpr FixedAmount() noexcept = default;
  [[nodiscard]] static constexpr FixedAmount from_units(UInt128 units) noexcept { return FixedAmount(units); }

  /// The smallest amount that is at least `value`. @param value finite, >= 0 and below 2^80
  [[nodiscard]] static Result<FixedAmount> rounded_up(double value) { return rounded(value, true); }
  /// The largest amount that is at most `value`. @param value as above
  [[nodiscard]] static Result<FixedAmount> rounded_down(double value) { return rounded(value, false); }

  [[nodiscard]] constexpr UInt128 units() const noexcept { return units_; }

  [[nodiscard]] Result<FixedAmount> plus(FixedAmount other) const {
    UInt128 sum = 0;
    if (__builtin_add_overflow(units_, other.units_, &sum)) return overflow();
    return FixedAmount(sum);
  }
  [[nodiscard]] Result<FixedAmount> times(std::uint64_t count) const {
    UInt128 product = 0;
    if (__builtin_mul_overflow(units_, UInt128{count}, &product)) return overflow();
    return FixedAmount(product);
  }

  /// The amount as a double, rounded up.
  [[nodiscard]] double value_rounded_up() const {
    double value = std::ldexp(static_cast<double>(units_), -FractionBits);
    while (!exceeds_or_equals(value)) value = std::nextafter(value, INFINITY);
    return value;
  }
  /// The amount as a double, rounded down.
  [[nodiscard]] double value_rounded_down() const {
    double value = std::ldexp(static_cast<double>(units_), -FractionBits);
    while (value > 0.0 && exceeds(value)) value = std::nextafter(value, 0.0);
    return value;
  }
  [[nodiscard]] std::string to_string() const { return to_decimal(units_); }
  [[nodiscard]] static Result<FixedAmount> parse(std::string_view text) {
    UNDERTONE_TRY(const UInt128 units, parse_decimal(text));
    return FixedAmount(units);
  }

  friend constexpr auto operator<=>(const FixedAmount&, const FixedAmount&) = default;

 private:
  explicit constexpr FixedAmount(UInt128 units) noexcept : units_(units) {}
  static Error overflow() { return {ErrorCode::LimitExceeded, fmt::format("{}: the sum overflows", Meaning::kName)}; }
  static Result<FixedAmount> rounded(double value, bool up) {
    if (!(value >= 0.0 && value < 0x1p47)) {
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{} must be finite, >= 0 and below 2^47, got {}", Meaning::kName, value)};
    }
    const double scaled = std::ldexp(value, FractionBits);  // exact: a power of two, and no overflow
    auto units = static_cast<UInt128>(scaled);              // truncates; above 2^53 `scaled` is an integer
    if (up && static_cast<double>(units) < scaled) ++units;
    if (up && value > 0.0 && units == 0) units = 1;
    return FixedAmount(units);
  }
  bool exceeds(double value) const {
    const double scaled = std::ldexp(value, FractionBits);
    return scaled >= 0x1p128 || static_cast<UInt128>(scaled) > units_;
  }
  bool exceeds_or_equals(double value) const {
    const double scaled = std::ldexp(value, FractionBits);
    return scaled >= 0x1p128 || static_cast<UInt128>(scaled) >= units_;
  }
  UInt128 units_ = 0;
};

struct EpsilonAmountMeaning {
  static constexpr const char* kName = "epsilon";
};
struct DeltaAmountMeaning {
  static constexpr const char* kName = "delta";
};
struct RhoAmountMeaning {
  static constexpr const char* kName = "rho";
};
struct ShiftSquaredMeaning {
  static constexpr const char* kName = "shift squared";
};

using EpsilonAmount = FixedAmount<40, EpsilonAmountMeaning>;
using DeltaAmount = FixedAmount<80, DeltaAmountMeaning>;
using RhoAmount = FixedAmount<40, RhoAmountMeaning>;
/// mu^2 of Gaussian releases: what they add up to is the square of the shift of all of them together.
using ShiftSquaredAmount = FixedAmount<40, ShiftSquaredMeaning>;

}  // namespace undertone::releases
