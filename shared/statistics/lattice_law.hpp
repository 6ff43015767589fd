#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace undertone::statistics {

/// The law of a sum of independent discrete Laplace variables on the integers, P[Z_i = k] proportional to
/// e^(-|k| / b_i), as a table. A variable is the difference of two geometric ones, so that a convolution with it is two
/// first-order recursions of positive numbers: nothing cancels. What lies beyond the table is counted as outside, on
/// both sides: every probability of being outside is an upper bound.
/// One variable alone has closed forms, and no table.
class LatticeLaw {
 public:
  static constexpr std::int64_t kReachMax = std::int64_t{1} << 18U;
  static constexpr std::int64_t kWorkMax = std::int64_t{1} << 25U;  // variables x length of the table
  /// @param scales b_i > 0, at least one
  /// @return nothing where the table would leave out more than 1e-13, or take more work
  [[nodiscard]] static std::optional<LatticeLaw> create(std::span<const double> scales);

  /// P[|Z| > k], rounded up. @param k >= 0
  [[nodiscard]] double outside(std::int64_t k) const;
  /// P[Z <= k], rounded up.
  [[nodiscard]] double at_most(std::int64_t k) const;
  /// The smallest k >= 0 with P[|Z| > k] <= alpha. @param alpha in [1e-10, 1)
  [[nodiscard]] std::int64_t half_width(double alpha) const;

 private:
  LatticeLaw(double single_scale, std::vector<double> above) : single_scale_(single_scale), above_(std::move(above)) {}
  /// P[Z > k], rounded up. @param k >= 0
  [[nodiscard]] double above(std::int64_t k) const;
  double single_scale_;        // of the one variable; 0: there is a table
  std::vector<double> above_;  // [k] = P[Z > k], k = 0 .. reach
};

}  // namespace undertone::statistics
