#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/noise/discrete_samplers.hpp"

namespace undertone::noise {

/// Bin(n, p) by inversion: the smallest x with U < P[X <= x], U uniform on [0, 1). What makes it exact: the bits of U
/// are drawn 64 at a time until the comparisons are certain. A boundary is kept as an integer T with P[X < x] 2^128
/// between T - 3 and T, so that one word decides unless it is the upper word of a T or the one below (probability 2^-63
/// of each), two words decide but for a few units of 2^-128, and the rest is decided by 1024 bits against the law
/// computed to 1200. The process stops where those do not suffice: probability below 2^-900.
/// Source: Chen and Asau 1974 (the guide).
class BinomialTable {
 public:
  static constexpr std::int64_t kTrialsMax = std::int64_t{1} << 34U;

  /// @param trials n in 1 .. kTrialsMax @param p in (0, 1), of a denominator of at most 2^16
  [[nodiscard]] static Result<BinomialTable> create(std::int64_t trials, Rational p);
  [[nodiscard]] std::int64_t trials() const noexcept { return trials_; }
  [[nodiscard]] Rational p() const noexcept { return p_; }

  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::int64_t sample(Bits& bits) const {
    const std::uint64_t word = bits.word();
    std::size_t i = guide_[word >> guide_shift_];
    while (first_[i] < word) ++i;
    if (first_[i] - word > 1) [[likely]]
      return low_ + static_cast<std::int64_t>(i) - 1;
    return undecided(word, i, bits);
  }

 private:
  static constexpr std::size_t kWords = 16;  // of U, at most
  static constexpr unsigned kOpen = 16;      // units of 2^-128 below a boundary that two words do not decide

  BinomialTable(std::int64_t trials, Rational p);
  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::int64_t undecided(std::uint64_t word, std::size_t i, Bits& bits) const {
    const std::uint64_t second = bits.word();
    const releases::UInt128 u = (releases::UInt128{word} << 64U) | second;
    const auto boundary = [&](std::size_t at) { return (releases::UInt128{first_[at]} << 64U) | second_[at]; };
    while (i + 1 < first_.size() && u >= boundary(i)) ++i;
    if (u < boundary(i) && boundary(i) - u >= kOpen) return low_ + static_cast<std::int64_t>(i) - 1;
    std::vector<std::uint64_t> words{word, second};
    while (words.size() < kWords) words.push_back(bits.word());
    return invert(words);
  }
  [[nodiscard]] std::int64_t invert(std::span<const std::uint64_t> words) const;

  std::int64_t trials_;
  Rational p_;
  std::int64_t low_ = 0;               // entry i is the T of P[X < low_ + i]; the last one stands for 1
  std::vector<std::uint64_t> first_;   // its upper word
  std::vector<std::uint64_t> second_;  // its lower word
  std::vector<std::uint32_t> guide_;   // where to start for the first bits of a word
  unsigned guide_shift_ = 0;
};

}  // namespace undertone::noise
