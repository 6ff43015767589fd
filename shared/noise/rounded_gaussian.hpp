#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"
#include "shared/noise/gaussian_table.hpp"

namespace undertone::noise {
namespace detail {

/// A uniform number of [0, 1) whose binary digits are drawn when a comparison asks for them.
template <crypto::NoiseBits Bits>
class LazyUniform {
 public:
  explicit LazyUniform(Bits& bits) : first_(bits.word()) {}

  /// a < b, exactly. Digits that it had to draw stay with their number.
  [[nodiscard]] static bool less(LazyUniform& a, LazyUniform& b, Bits& bits) {
    if (a.first_ != b.first_) return a.first_ < b.first_;
    for (std::size_t i = 0;; ++i) {  // reached with probability 2^-64
      const std::uint64_t left = a.further(i, bits);
      const std::uint64_t right = b.further(i, bits);
      if (left != right) return left < right;
    }
  }
  [[nodiscard]] std::uint64_t top_word() const noexcept { return first_; }

 private:
  std::uint64_t further(std::size_t i, Bits& bits) {
    while (further_.size() <= i) further_.push_back(bits.word());
    return further_[i];
  }
  std::uint64_t first_;
  std::vector<std::uint64_t> further_;
};

/// True with probability exp(-1/2): the parity of the length of a falling run of uniforms below 1/2 (von Neumann).
template <crypto::NoiseBits Bits>
[[nodiscard]] bool bernoulli_exp_half(Bits& bits) {
  LazyUniform<Bits> previous(bits);
  if ((previous.top_word() >> 63U) != 0) return true;  // not below 1/2: a run of length 0
  for (bool even = false;; even = !even) {
    LazyUniform<Bits> next(bits);
    if (!LazyUniform<Bits>::less(next, previous, bits)) return even;
    previous = std::move(next);
  }
}

/// True with probability exp(-x (2k + x) / (2k + 2)). Source: Karney 2016, Algorithm B.
template <crypto::NoiseBits Bits>
[[nodiscard]] bool bernoulli_exp_step(std::uint64_t k, LazyUniform<Bits>& x, Bits& bits) {
  LazyUniform<Bits> own(x);
  LazyUniform<Bits>* y = &x;  // the first comparison is with x itself: digits it draws belong to x
  for (bool even = true;; even = !even) {
    LazyUniform<Bits> z(bits);
    if (!LazyUniform<Bits>::less(z, *y, bits)) return even;
    const std::uint64_t c = crypto::uniform_below(bits, 2 * k + 2);
    if (c > 2 * k) return even;
    if (c == 2 * k) {
      LazyUniform<Bits> r(bits);
      if (!LazyUniform<Bits>::less(r, x, bits)) return even;
    }
    own = std::move(z);
    y = &own;
  }
}

}  // namespace detail

/// floor(2^m |Y| + 1/2) with a random sign, Y standard normal, exactly: the law of a continuous Gaussian of standard
/// deviation 2^m rounded to the nearest integer. Added to an integer it is the rounding of a continuous Gaussian
/// release, so every bound for the Gaussian mechanism holds by post-processing.
/// @param log2_stddev m in [0, 40]
/// Source: Karney 2016, Algorithm N, all comparisons on exact bit strings. The reference for the fast one below.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t sample_rounded_gaussian_karney(Bits& bits, int log2_stddev) {
  UNDERTONE_CHECK(log2_stddev >= 0 && log2_stddev <= 40);
  const auto all_true = [&bits](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      if (!detail::bernoulli_exp_half(bits)) return false;
    }
    return true;
  };
  while (true) {
    std::uint64_t k = 0;
    while (detail::bernoulli_exp_half(bits)) ++k;  // P(k) = exp(-k/2) (1 - exp(-1/2))
    if (k > 0 && !all_true(k * (k - 1))) continue;
    detail::LazyUniform<Bits> x(bits);
    bool accepted = true;
    for (std::uint64_t i = 0; accepted && i <= k; ++i) accepted = detail::bernoulli_exp_step(k, x, bits);
    if (!accepted) continue;
    const std::uint64_t fraction = ((x.top_word() >> (63 - log2_stddev)) + 1) >> 1U;
    const auto magnitude = static_cast<std::int64_t>((k << static_cast<unsigned>(log2_stddev)) + fraction);
    return (bits.word() & 1U) != 0 ? -magnitude : magnitude;
  }
}

namespace detail {

/// The place of a point in its layer: bits that are drawn when a decision asks for them.
template <crypto::NoiseBits Bits>
struct LazyPlace {
  std::uint64_t first = 0;
  std::vector<std::uint64_t> further;

  std::uint64_t at(std::size_t i, Bits& bits) {
    while (further.size() <= i) further.push_back(bits.word());
    return further[i];
  }
};

/// Whether the point is under the curve.
template <crypto::NoiseBits Bits>
[[nodiscard]] bool is_under(const GaussianTable& table, std::size_t layer, LazyPlace<Bits>& place, Bits& bits) {
  using Side = GaussianTable::Side;
  LazyPlace<Bits> height{bits.word(), {}};
  Side side = table.side(layer, place.first, height.first);
  for (std::size_t words = 1; side == Side::Open; ++words) {  // reached with probability 2^-43
    UNDERTONE_CHECK(words <= GaussianTable::kFurtherMax);     // fails with probability below 2^-800
    (void)place.at(words - 1, bits);
    (void)height.at(words - 1, bits);
    side = table.side(layer, place.first, place.further, height.first, height.further);
  }
  return side == Side::Under;
}

/// round(2^m x) for the x of a place: between two integers its own bits decide, drawn until they do.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t round_place(std::uint64_t width, LazyPlace<Bits>& place, int log2_stddev, Bits& bits) {
  // x = width (place + f) 2^-95 with 0 <= f < 1: the integer is the number of boundaries (k - 1/2) 2^(95-m) passed.
  const auto shift = static_cast<unsigned>(GaussianTable::kUnitLog2 + GaussianTable::kUniformBits - log2_stddev);
  const releases::UInt128 half = releases::UInt128{1} << (shift - 1);
  const releases::UInt128 product = releases::UInt128{width} * place.first;
  const auto low = static_cast<std::int64_t>((product + half) >> shift);
  const auto high = static_cast<std::int64_t>((product + width - 1 + half) >> shift);
  if (low == high) return low;
  // Whether width f passes what is left to the boundary, word by word.
  releases::UInt128 left = (static_cast<releases::UInt128>(high) << shift) - half - product;  // 1 .. width - 1
  for (std::size_t i = 0;; ++i) {
    const releases::UInt128 passed = releases::UInt128{width} * place.at(i, bits);
    left <<= 64U;  // width < 2^47
    if (passed >= left) return high;
    if (passed + width <= left) return low;
    left -= passed;
  }
}

}  // namespace detail

/// The same law, exactly, by a table: 98 of 100 words give a number at once, one product and two comparisons.
/// @param log2_stddev m in [0, 40] @see GaussianTable for the argument
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t sample_rounded_gaussian(const GaussianTable& table, Bits& bits, int log2_stddev) {
  const auto shift = static_cast<unsigned>(GaussianTable::kUnitLog2 + GaussianTable::kUniformBits - log2_stddev);
  const releases::UInt128 boundary = releases::UInt128{1} << shift;
  const releases::UInt128 half = boundary >> 1U;
  while (true) {
    const std::uint64_t word = bits.word();
    const auto layer = static_cast<std::size_t>(word >> 56U);
    const auto negative = static_cast<std::int64_t>((word >> 55U) & 1U);
    const std::uint64_t place_bits = word & ((std::uint64_t{1} << 55U) - 1);
    const GaussianTable::Layer& shape = table.layers()[layer];
    const releases::UInt128 product = releases::UInt128{shape.width} * place_bits + half;
    const auto magnitude = static_cast<std::int64_t>(product >> shift);
    const bool decided = (product & (boundary - 1)) <= boundary - shape.width;  // whatever further bits are
    if (place_bits < shape.inside && decided) [[likely]]
      return (magnitude ^ -negative) + negative;
    detail::LazyPlace<Bits> place{place_bits, {}};
    if (place_bits >= shape.inside && !detail::is_under(table, layer, place, bits)) continue;
    return (detail::round_place(shape.width, place, log2_stddev, bits) ^ -negative) + negative;
  }
}

template <crypto::NoiseBits Bits>
void fill_rounded_gaussian(Bits& bits, int log2_stddev, std::span<std::int64_t> out) {
  UNDERTONE_CHECK(log2_stddev >= 0 && log2_stddev <= 40);
  const GaussianTable& table = GaussianTable::get();
  for (std::int64_t& value : out) value = sample_rounded_gaussian(table, bits, log2_stddev);
}

/// A uniform subset of {0, ..., population - 1} of `size` elements, ascending. @param size <= population
template <crypto::NoiseBits Bits>
[[nodiscard]] std::vector<std::int64_t> sample_without_replacement(Bits& bits, std::int64_t population,
                                                                   std::int64_t size) {
  UNDERTONE_CHECK(size >= 0 && size <= population);
  // Floyd's algorithm (Bentley and Floyd 1987): element j joins if the candidate below it is in already. Every set of
  // the smaller of the two parts is equally likely, and its complement with it.
  const bool inverted = size > population / 2;
  const std::int64_t marked = inverted ? population - size : size;
  std::vector<std::uint64_t> marks(static_cast<std::size_t>(population) / 64 + 1, 0);
  const auto bit = [](std::int64_t i) { return std::uint64_t{1} << (static_cast<std::uint64_t>(i) % 64); };
  for (std::int64_t j = population - marked; j < population; ++j) {
    const auto candidate = static_cast<std::int64_t>(crypto::uniform_below(bits, static_cast<std::uint64_t>(j) + 1));
    const bool taken = (marks[static_cast<std::size_t>(candidate) / 64] & bit(candidate)) != 0;
    const std::int64_t joins = taken ? j : candidate;
    marks[static_cast<std::size_t>(joins) / 64] |= bit(joins);
  }
  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(size));
  for (std::int64_t first = 0; first < population; first += 64) {
    std::uint64_t word = marks[static_cast<std::size_t>(first) / 64];
    if (inverted) word = ~word;
    if (population - first < 64) word &= bit(population) - 1;
    for (; word != 0; word &= word - 1) chosen.push_back(first + std::countr_zero(word));
  }
  return chosen;
}

}  // namespace undertone::noise
