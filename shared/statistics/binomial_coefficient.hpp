#pragma once

#include <cstddef>

namespace undertone::statistics {

/// The number of subsets of m out of n elements. It is exact below 2^53 and rounded above.
/// @param m at most n
[[nodiscard]] inline double binomial_coefficient(std::size_t n, std::size_t m) {
  double out = 1.0;
  for (std::size_t i = 1; i <= m; ++i) out = out * static_cast<double>(n - m + i) / static_cast<double>(i);
  return out;
}

}  // namespace undertone::statistics
