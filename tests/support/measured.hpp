#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>

namespace undertone::tests {

/// A theorem bounds an expectation, so runs are averaged. A mean of 64 independent runs is more than seven of its
/// estimated standard errors above its expectation with probability 1e-9 (Student's t, 63 degrees of freedom).
inline constexpr std::uint64_t kRuns = 64;
inline constexpr double kErrors = 7.0;

struct Measured {
  double mean = 0.0;
  double error = 0.0;  // standard error
};

inline Measured average(std::uint64_t runs, const std::function<double(std::uint64_t)>& run) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const double one = run(seed);
    sum += one;
    squares += one * one;
  }
  const auto n = static_cast<double>(runs);
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(squares / n - mean * mean, 0.0) / (n - 1.0))};
}

/// @param share of the bound that a sound run reaches at least: a bound out of reach would hold whatever happened, and
///   a run without its noise, or one that starts at the optimum, would go unseen
inline void expect_held(const Measured& measured, double bound, double share) {
  EXPECT_LE(measured.mean, bound + kErrors * measured.error);
  EXPECT_GE(measured.mean + kErrors * measured.error, share * bound);
}

}  // namespace undertone::tests
