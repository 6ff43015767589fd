#pragma once

#include <cstdint>
#include <string_view>

namespace undertone::statistics {

/// This is how one number of a record may influence a mean: a function psi of it that is bounded.
enum class Influence : std::uint8_t {
  /// psi(x) = min(max(x, -t), t), and |psi| <= t.
  Clip = 1,
  /// psi(x) = t E phi(x / t + |x| / t Z) with Z standard normal, phi(u) = u - u^3 / 6 where |u| <= sqrt 2 and
  /// +-U outside, U = 2 sqrt 2 / 3. Source: Catoni and Giulini; spec heavy-tailed 2.2, with a smoothing precision of 1.
  /// |psi| <= U erf(1 / sqrt 2) t, where the source has U t: for a = |x| / t the density p of a (1 + Z) is larger at v
  /// than at -v for every v > 0, and phi is odd and at most U, so that E phi = int_0^inf phi(v) (p(v) - p(-v)) dv is at
  /// most U (P[1 + Z > 0] - P[1 + Z < 0]) = U (2 Phi(1) - 1).
  Smooth = 2
};
/// "clip", "smooth"
[[nodiscard]] std::string_view to_string(Influence influence) noexcept;

/// Returns the least upper bound of |psi| at a threshold of 1, rounded up.
[[nodiscard]] double largest_influence(Influence influence) noexcept;

/// Returns psi(x). @param x finite @param threshold t > 0
[[nodiscard]] double influence_of(Influence influence, double x, double threshold);

/// Returns E phi(a + b Z), clamped to what phi can be. @param a finite @param b >= 0
/// Source: spec heavy-tailed 2.2.
[[nodiscard]] double smooth_truncation(double a, double b);

/// No moment beyond the third makes the bias of a smooth influence smaller, since it is u - u^3/6 near 0.
inline constexpr double kSmoothOrderMax = 3.0;
/// Returns how far a mean of smooth influences is off, at most, in units of r^k / t^(k - 1), where E |x|^k <= r^k.
/// @param order k, of which what is above `kSmoothOrderMax` does not count
[[nodiscard]] double smooth_bias(double order);

}  // namespace undertone::statistics
