#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <map>

namespace undertone::tests {

/// Chi-square of drawn integers against their exact probabilities; cells below 20 expected go together.
/// @param from, to where there is anything to look at
inline void expect_law(const std::map<std::int64_t, double>& counts, std::int64_t from, std::int64_t to,
                       const std::function<double(std::int64_t)>& probability, double draws) {
  double chi_square = 0.0;
  double cells = 0.0;
  double rest_expected = draws;
  double rest_counted = draws;
  for (std::int64_t x = from; x <= to; ++x) {
    const double expected = draws * probability(x);
    if (expected < 20.0) continue;
    const auto found = counts.find(x);
    const double counted = found == counts.end() ? 0.0 : found->second;
    chi_square += (counted - expected) * (counted - expected) / expected;
    rest_expected -= expected;
    rest_counted -= counted;
    cells += 1.0;
  }
  if (rest_expected > 1.0)
    chi_square += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
  // Mean k, variance 2k: eight standard deviations and 60 for the skew have false-alarm probability below 1e-9; a
  // standard deviation off by 1 % moves it by n (0.01)^2 / 2 = hundreds and more.
  EXPECT_LT(chi_square, cells + 8.0 * std::sqrt(2.0 * cells) + 60.0);
}

}  // namespace undertone::tests
