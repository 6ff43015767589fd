#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shared/releases/fixed_amount.hpp"

namespace undertone::noise {

/// A cover of the area under exp(-x^2/2), 0 <= x < 64, by layers of exactly equal area: layer i is the rectangle
/// 0 <= x < X_i, Y_i <= y < Y_i + v/X_i, where X_i is a dyadic number, v a constant and Y_i the sum of the heights
/// below. What makes the sampler exact: (1) a layer is drawn uniformly, a point in it uniformly, and the areas are
/// equal, so the point is uniform on the cover; (2) the cover contains the area under the curve, so that a point that
/// is kept only if it is under the curve has an x of exactly Gaussian law; (3) every decision is made on integers or on
/// intervals that contain the numbers compared, and further bits are drawn until the intervals are apart.
/// Source: Marsaglia and Tsang 2000, with long bottom layers instead of a tail of its own.
class GaussianTable {
 public:
  static constexpr std::size_t kLayers = 256;
  static constexpr int kUnitLog2 = 40;        // X_i counts 2^-40
  static constexpr int kUniformBits = 55;     // of a word: 8 choose the layer, 1 the sign, these the place
  static constexpr std::int64_t kReach = 64;  // beyond lies probability below 2^-2000

  struct Layer {
    std::uint64_t width = 0;   // X_i in units
    std::uint64_t inside = 0;  // a place u, in 2^-55 of the width, below this is under the curve whatever y is
  };

  [[nodiscard]] static const GaussianTable& get();
  [[nodiscard]] const std::array<Layer, kLayers>& layers() const noexcept { return layers_; }
  /// v times 2^kAreaLog2, an integer.
  [[nodiscard]] std::uint64_t area() const noexcept { return area_; }
  static constexpr int kAreaLog2 = 62;

  enum class Side : std::uint8_t { Under, Over, Open };
  /// Which side of the curve a point of a layer is on, as far as the bits that were drawn tell.
  /// @param place its x as a part of the width: kUniformBits bits @param height its y as a part of the layer, 64 bits
  [[nodiscard]] Side side(std::size_t layer, std::uint64_t place, std::uint64_t height) const;
  /// The same with further words of both, in high precision: open with probability 2^-(64 n) or so.
  [[nodiscard]] Side side(std::size_t layer, std::uint64_t place, std::span<const std::uint64_t> place_further,
                          std::uint64_t height, std::span<const std::uint64_t> height_further) const;
  /// Words that `side` makes use of.
  static constexpr std::size_t kFurtherMax = 14;

 private:
  GaussianTable();
  std::array<Layer, kLayers> layers_;
  std::uint64_t area_ = 0;
  std::array<long double, kLayers> bottom_{};  // Y_i and v/X_i, to a relative 2^-55
  std::array<long double, kLayers> tall_{};
};

}  // namespace undertone::noise
