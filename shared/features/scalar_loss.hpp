#pragma once

#include <cstdint>
#include <string_view>

namespace undertone::statistics {

/// A loss of a score s and a label y in [-1, 1].
enum class ScalarLoss : std::uint8_t {
  Logistic,  // log(1 + e^(-y s))
  Hinge,     // max(0, 1 - y s)
  Squared,   // (s - y)^2 / 2
  Absolute   // |s - y|
};
/// "logistic", "hinge", "squared", "absolute"
[[nodiscard]] std::string_view to_string(ScalarLoss loss) noexcept;
[[nodiscard]] double value_of(ScalarLoss loss, double score, double label) noexcept;
/// How long the derivative by the score is; at a kink the longer of both sides.
[[nodiscard]] double steepness_of(ScalarLoss loss, double score, double label) noexcept;
/// The largest value where |score| <= reach and |label| <= 1.
[[nodiscard]] double largest_of(ScalarLoss loss, double reach) noexcept;

}  // namespace undertone::statistics
