#include "shared/noise/gaussian_table.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

#include "shared/base/bisection.hpp"
#include "shared/base/result.hpp"

namespace undertone::noise {
namespace {

using Wide =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<1200, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

/// Where the curve is at y, for 0 < y <= 1.
long double inverse(long double y) { return y >= 1.0L ? 0.0L : sqrtl(-2.0L * logl(y)); }

/// Layers upwards from the widest. @return the height that they reach, at least 1 if the area is enough
long double stack(long double area, std::array<GaussianTable::Layer, GaussianTable::kLayers>& layers,
                  std::array<long double, GaussianTable::kLayers>& bottom) {
  const long double unit = ldexpl(1.0L, -GaussianTable::kUnitLog2);
  std::uint64_t width = static_cast<std::uint64_t>(GaussianTable::kReach) << GaussianTable::kUnitLog2;
  long double y = 0.0L;
  layers = {};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (width == 0) return 2.0L;  // the curve was covered before the last layer: more area than needed
    layers[i].width = width;
    bottom[i] = y;
    y += area / (static_cast<long double>(width) * unit);
    // Up to here the curve is above the layer; two units of 2^-40 are far more than the errors of sqrt and log.
    const long double edge = inverse(y) / unit;
    const long double inside = (edge - 2.0L) / static_cast<long double>(width);
    layers[i].inside =
        inside > 0.0L ? static_cast<std::uint64_t>(floorl(ldexpl(inside, GaussianTable::kUniformBits))) : 0;
    width = y >= 1.0L ? 0 : static_cast<std::uint64_t>(ceill(edge)) + 2;  // from here on it is below
  }
  return y;
}

Wide fraction(std::uint64_t first, int first_bits, std::span<const std::uint64_t> further) {
  Wide out = ldexp(Wide(first), -first_bits);
  int bits = first_bits;
  for (const std::uint64_t word : further) {
    bits += 64;
    out += ldexp(Wide(word), -bits);
  }
  return out;
}

}  // namespace

const GaussianTable& GaussianTable::get() {
  static const GaussianTable table;
  return table;
}

GaussianTable::GaussianTable() {
  // The smallest area whose layers cover the curve.
  const auto covers = [this](std::uint64_t area) {
    return stack(ldexpl(static_cast<long double>(area), -kAreaLog2), layers_, bottom_) >= 1.0L + 0x1p-50L;
  };
  area_ = bisect_integers(SearchRange<std::uint64_t>{1, std::uint64_t{1} << 56U}, covers).high;
  // Just above it every layer still has a width.
  const bool covered = covers(area_);
  for (std::size_t i = 0; i < kLayers; ++i)
    tall_[i] =
        ldexpl(static_cast<long double>(area_), kUnitLog2 - kAreaLog2) / static_cast<long double>(layers_[i].width);
  UNDERTONE_CHECK(covered && layers_.back().width > 0 && bottom_.back() < 1.0L);
}

GaussianTable::Side GaussianTable::side(std::size_t layer, std::uint64_t place, std::uint64_t height) const {
  // In doubles first: a dozen operations of half an ulp each, x^2 at most 4096 times one, and exp to an ulp, leave a
  // relative error below 2^-38 where the curve is above 2^-100; a wider band is left open.
  const double x = std::ldexp(static_cast<double>(layers_[layer].width), -kUnitLog2) *
                   std::ldexp(static_cast<double>(place), -kUniformBits);
  const auto part = static_cast<double>(tall_[layer]) * 0x1p-64;
  const auto bottom = static_cast<double>(bottom_[layer]);
  const double curve = std::exp(-0.5 * x * x);
  if (bottom + (static_cast<double>(height) + 1.0) * part < curve * (1.0 - 0x1p-32)) return Side::Under;
  if (bottom + static_cast<double>(height) * part > (curve + 0x1p-200) * (1.0 + 0x1p-32)) return Side::Over;
  constexpr long double kSlack = 0x1p-44L;  // relative: x^2/2 is at most 2^11, and has an error of a few 2^-64 of it
  const long double width = ldexpl(static_cast<long double>(layers_[layer].width), -kUnitLog2);
  const long double x_low = width * ldexpl(static_cast<long double>(place), -kUniformBits);
  const long double x_high = width * ldexpl(static_cast<long double>(place + 1), -kUniformBits);
  const long double tall = tall_[layer];
  const long double y_low = bottom_[layer] + tall * ldexpl(static_cast<long double>(height), -64);
  const long double y_high = bottom_[layer] + tall * ldexpl(static_cast<long double>(height) + 1.0L, -64);
  if (y_high * (1.0L + kSlack) < expl(-0.5L * x_high * x_high) * (1.0L - kSlack)) return Side::Under;
  if (y_low * (1.0L - kSlack) > expl(-0.5L * x_low * x_low) * (1.0L + kSlack)) return Side::Over;
  return Side::Open;
}

GaussianTable::Side GaussianTable::side(std::size_t layer, std::uint64_t place,
                                        std::span<const std::uint64_t> place_further, std::uint64_t height,
                                        std::span<const std::uint64_t> height_further) const {
  const int place_bits = kUniformBits + 64 * static_cast<int>(place_further.size());
  const int height_bits = 64 + 64 * static_cast<int>(height_further.size());
  const Wide slack = ldexp(Wide(1), -1100);
  const Wide area = ldexp(Wide(area_), -kAreaLog2);
  Wide bottom = 0;
  for (std::size_t i = 0; i < layer; ++i) bottom += area / ldexp(Wide(layers_[i].width), -kUnitLog2);
  const Wide width = ldexp(Wide(layers_[layer].width), -kUnitLog2);
  const Wide tall = area / width;
  const Wide x_low = width * fraction(place, kUniformBits, place_further);
  const Wide x_high = x_low + width * ldexp(Wide(1), -place_bits);
  const Wide y_low = bottom + tall * fraction(height, 64, height_further);
  const Wide y_high = y_low + tall * ldexp(Wide(1), -height_bits);
  if (y_high * (1 + slack) < exp(Wide(-x_high * x_high / 2)) * (1 - slack)) return Side::Under;
  if (y_low * (1 - slack) > exp(Wide(-x_low * x_low / 2)) * (1 + slack)) return Side::Over;
  return Side::Open;
}

}  // namespace undertone::noise
