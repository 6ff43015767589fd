#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"

namespace undertone::noise {

/// Noise of density proportional to exp(-||z||_p^2 / (2 scale^2)), each coordinate rounded to the nearest integer:
/// added to a vector of integers it is the same as rounding their sum with real noise. Radius and direction are
/// independent. Everything is computed with 256 bits from uniform numbers of 192, the same on every processor. What
/// real uniform numbers would have drawn is drawn but for a probability below 2^-80 a vector: docs/accounting.md,
/// section 5. Source: Bassily, Guzman and Nandi 2021, Definition 7; the sampler is spec non-euclidean P3.
class GeneralisedGaussian {
 public:
  static constexpr double kNormMax = 1e6;
  static constexpr double kScaleMin = 0x1p10;
  static constexpr double kScaleMax = 0x1p40;
  static constexpr std::size_t kSizeMax = std::size_t{1} << 20U;  // numbers of a vector

  /// @param norm p, in [2, kNormMax] @param scale in units of what is released, in [kScaleMin, kScaleMax]
  [[nodiscard]] static Result<GeneralisedGaussian> create(double norm, double scale);
  [[nodiscard]] double norm() const noexcept { return norm_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }

  /// Draws a vector. Some seventy microseconds a number, and a little longer for some noise than for other: no relation
  /// to the noise's size was found. Owners who do not rely on that hold replies to an interval (decision 11), and the
  /// statement names the channel where they do not.
  /// @param out [d], 1 <= d <= kSizeMax
  template <crypto::NoiseBits Bits>
  void fill(Bits& bits, std::span<std::int64_t> out) const {
    fill_from([&bits] { return bits.word(); }, out);
  }

 private:
  using Words = std::function<std::uint64_t()>;
  GeneralisedGaussian(double norm, double scale) noexcept : norm_(norm), scale_(scale) {}
  void fill_from(const Words& words, std::span<std::int64_t> out) const;
  double norm_;
  double scale_;
};

}  // namespace undertone::noise
