#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "shared/base/result.hpp"

namespace undertone::geometry {

/// The largest double in [low, high] where a predicate holds that holds up to some point and not after it.
/// Bisects the bit patterns, which are ordered as non-negative doubles are: at most 63 calls from any bracket.
/// @param low 0 <= low <= high, taken to satisfy the predicate @param high finite, taken not to
template <class Predicate>
[[nodiscard]] double last_where(double low, double high, Predicate&& holds) {
  UNDERTONE_CHECK(!std::signbit(low) && low <= high && std::isfinite(high));
  auto last = std::bit_cast<std::uint64_t>(low);
  auto beyond = std::bit_cast<std::uint64_t>(high);
  while (last + 1 < beyond) {
    const std::uint64_t middle = last + (beyond - last) / 2;
    (holds(std::bit_cast<double>(middle)) ? last : beyond) = middle;
  }
  return std::bit_cast<double>(last);
}

}  // namespace undertone::geometry
