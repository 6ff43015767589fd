#pragma once

#include <cmath>

namespace undertone::accounting {

/// ln C(n, k), in long double: at n = 10^8 a double's lgamma is off by 10^-7.
/// @param n at least 0
/// @param k from 0 to n
[[nodiscard]] inline long double log_choose(long double n, long double k) {
  return lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L);
}

}  // namespace undertone::accounting
