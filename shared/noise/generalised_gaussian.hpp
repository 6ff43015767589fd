#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/accounting/renyi.hpp"
#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"

namespace undertone::noise {

/// Noise of density proportional to exp(-||z||_p^2 / (2 scale^2)), for sums whose sensitivity is bounded in the p-norm.
/// EXPERIMENTAL: gamma variates are floating point, so that the law of what comes out is not proved. It is rounded to a
/// lattice and charged kTotalVariationPerNumber a number, which is an engineering allowance. Where an l2 sensitivity
/// will do, the Gaussian on the lattice is exact and must be used. No plan offers this mechanism.
class GeneralisedGaussian {
 public:
  /// A message of d numbers adds (1 + e^epsilon) d times this to delta.
  static constexpr double kTotalVariationPerNumber = 0x1p-40;

  /// @param norm p, in [2, 1e6] @param scale in the unit of what is released
  [[nodiscard]] static Result<GeneralisedGaussian> create(double norm, double scale) {
    if (!(norm >= 2.0 && norm <= 1e6))
      return Error{ErrorCode::InvalidArgument, fmt::format("norm must be in [2, 1e6], got {}", norm)};
    if (!(scale >= 0x1p-900 && scale <= 0x1p900))
      return Error{ErrorCode::InvalidArgument, fmt::format("scale must be in 2^-900 .. 2^900, got {}", scale)};
    return GeneralisedGaussian(norm, scale);
  }
  [[nodiscard]] double norm() const noexcept { return norm_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }
  /// What a released number is a multiple of: a power of two in (2^-20, 2^-19] of the scale.
  [[nodiscard]] double step() const noexcept { return step_; }

  /// What one release of the real-valued law costs: rho = (p - 1) sensitivity^2 / (2 scale^2), without p - 1 for p = 2.
  /// The sampler's own allowance (above) is not in it. @param sensitivity in the p-norm
  /// Source: smoothness of half the squared p-norm; proof in docs/accounting.md, a factor alpha below privacy-core B.5.
  [[nodiscard]] Result<accounting::Rho> rho(double sensitivity) const {
    if (!(std::isfinite(sensitivity) && sensitivity > 0.0))
      return Error{ErrorCode::InvalidArgument, fmt::format("sensitivity must be finite and > 0, got {}", sensitivity)};
    const double kappa = norm_ == 2.0 ? 1.0 : norm_ - 1.0;
    const double ratio = sensitivity / scale_;
    return accounting::Rho::create(std::nextafter(0.5 * kappa * ratio * ratio * (1.0 + 0x1p-50), INFINITY));
  }

  /// Draws noise in units of step(): added to a sum that is a multiple of it, the same as rounding the sum with real
  /// noise. @param out [d], d >= 1
  template <crypto::NoiseBits Bits>
  void fill(Bits& bits, std::span<std::int64_t> out) const;

 private:
  GeneralisedGaussian(double norm, double scale)
      : norm_(norm), scale_(scale), step_(std::ldexp(1.0, std::ilogb(scale) - 19)) {}
  double norm_;
  double scale_;
  double step_;
};

namespace detail {

/// Uniform on the odd multiples of 2^-53 in (0, 1), each exact.
template <crypto::NoiseBits Bits>
[[nodiscard]] double inner_unit(Bits& bits) {
  return (static_cast<double>(bits.word() >> 12U) + 0.5) * 0x1p-52;
}

/// A standard normal in floating point, for gamma variates alone. Source: Marsaglia and Bray 1964 (polar method).
template <crypto::NoiseBits Bits>
[[nodiscard]] double floating_normal(Bits& bits) {
  while (true) {
    const double u = 2.0 * inner_unit(bits) - 1.0;
    const double v = 2.0 * inner_unit(bits) - 1.0;
    const double square = u * u + v * v;
    if (square < 1.0 && square > 0.0) return u * std::sqrt(-2.0 * std::log(square) / square);
  }
}

/// A gamma variate of shape >= 1 and scale 1 in floating point. Source: Marsaglia and Tsang 2000.
template <crypto::NoiseBits Bits>
[[nodiscard]] double floating_gamma(double shape, Bits& bits) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = floating_normal(bits);
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(inner_unit(bits)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace detail

template <crypto::NoiseBits Bits>
void GeneralisedGaussian::fill(Bits& bits, std::span<std::int64_t> out) const {
  UNDERTONE_CHECK(!out.empty());
  // Coordinates of density exp(-|g|^p): |g|^p is gamma of shape 1/p, and a gamma of shape 1/p is one of shape 1 + 1/p
  // times u^p. Then the radius: ||z||_p / scale is chi of d degrees of freedom, independent of the direction.
  std::vector<double> direction(out.size());
  double largest = 0.0;
  for (double& g : direction) {
    g = std::pow(detail::floating_gamma(1.0 + 1.0 / norm_, bits), 1.0 / norm_) * detail::inner_unit(bits);
    largest = std::max(largest, g);
  }
  double sum = 0.0;
  for (const double g : direction) sum += std::pow(g / largest, norm_);
  const double length = largest * std::pow(sum, 1.0 / norm_);
  const auto d = static_cast<double>(out.size());
  // Shape d/2 may be 1/2: then one of shape 3/2 times u^2.
  const double gamma = out.size() == 1 ? detail::floating_gamma(1.5, bits) * std::pow(detail::inner_unit(bits), 2.0)
                                       : detail::floating_gamma(0.5 * d, bits);
  const double radius = std::sqrt(2.0 * gamma) * (scale_ / step_);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double z = direction[i] / length * radius;
    UNDERTONE_CHECK(z < 0x1p40);  // 2^20 scales away: probability below exp(-2^38)
    const auto magnitude = static_cast<std::int64_t>(std::floor(z + 0.5));
    out[i] = (bits.word() & 1U) != 0 ? magnitude : -magnitude;
  }
}

}  // namespace undertone::noise
