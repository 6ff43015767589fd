#pragma once

#include <algorithm>
#include <cmath>

namespace undertone::accounting {

/// ln(e^a + e^b), where the exponentials themselves are not finite, too.
inline double log_add(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace undertone::accounting
