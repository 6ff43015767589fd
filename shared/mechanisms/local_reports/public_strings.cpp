#include "shared/mechanisms/local_reports/public_strings.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/random_source.hpp"

namespace undertone::mechanisms {

std::int64_t PublicStrings::at(std::uint64_t place) const {
  RandomSource source(RandomSource(seed_ ^ (place * 0x9e3779b97f4a7c15ULL)).word() + place);
  const std::uint64_t word = source.word();
  // An exponential variable from 53 bits, in (0, 1]: at most 53 ln 2; and a sign.
  const double magnitude = -std::log(static_cast<double>((word >> 11U) + 1) * 0x1p-53);
  const auto units = static_cast<std::int64_t>(std::nearbyint(magnitude / kUnit));
  return (word & 1U) != 0 ? units : -units;
}

double StringChance::variance() const noexcept {
  const double scale = static_cast<double>(levels_) / rate_;
  return 2.0 * scale * scale;
}

std::uint64_t StringChance::units(double at, double string) {
  const double chance = 0.5 * std::exp(std::abs(string) - std::abs(string - at));
  return static_cast<std::uint64_t>(
      std::clamp(std::floor(std::ldexp(chance, 40)), 1.0, static_cast<double>(kOutcomes - 1)));
}

std::uint64_t StringChance::ones(std::int64_t level, std::int64_t string) const {
  UNDERTONE_CHECK(level >= 0 && level <= levels_);
  const double y = static_cast<double>(string) * PublicStrings::kUnit;
  // |y| - |y - w| rises with w up to y and falls from there: the extremes are at the ends and at y.
  const std::uint64_t at_bottom = units(0.0, y);
  const std::uint64_t at_top = units(rate_, y);
  const std::uint64_t at_string = units(std::clamp(y, 0.0, rate_), y);
  const std::uint64_t least = std::min({at_bottom, at_top, at_string});
  const std::uint64_t most = std::max({at_bottom, at_top, at_string});
  // What the mechanisms' epsilons are computed for, with what rounding to units may be off.
  constexpr double kRounding = 0x1p-35;
  const double half = 0.5 * static_cast<double>(kOutcomes);
  UNDERTONE_CHECK(static_cast<double>(most) <= static_cast<double>(least) * std::exp(rate_) * (1.0 + kRounding));
  UNDERTONE_CHECK(static_cast<double>(most) <= half * std::exp(rate_) * (1.0 + kRounding));
  UNDERTONE_CHECK(static_cast<double>(least) >= half * std::exp(-rate_) * (1.0 - kRounding));
  return std::clamp(units(rate_ * static_cast<double>(level) / static_cast<double>(levels_), y), least, most);
}

}  // namespace undertone::mechanisms
