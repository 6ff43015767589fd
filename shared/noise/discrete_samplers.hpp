#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"

namespace undertone::noise {

/// A rational number >= 0 in integers. Samplers take nothing else: no probability is ever a floating-point number.
struct Rational {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;  // >= 1
};

namespace detail {

/// The upper 128 of the 192 bits of a product.
[[nodiscard]] inline releases::UInt128 product_above_word(std::uint64_t a, releases::UInt128 b) {
  const auto low = static_cast<std::uint64_t>(b);
  const auto high = static_cast<std::uint64_t>(b >> 64U);
  return releases::UInt128{a} * high + ((releases::UInt128{a} * low) >> 64U);
}

/// True with probability a / c, exactly: a uniform of [0, 1) is compared with a / c word by word until they differ.
/// @param c in 1 .. 2^126 @param a at most c
template <crypto::NoiseBits Bits>
[[nodiscard]] bool bernoulli(releases::UInt128 a, releases::UInt128 c, Bits& bits) {
  if (a == 0) return false;
  const releases::UInt128 slack = (c >> 64U) + 2;
  while (true) {
    const std::uint64_t word = bits.word();
    const releases::UInt128 passed = product_above_word(word, c);  // floor(word c / 2^64)
    if (passed >= a) return false;
    if (passed + slack <= a) return true;
    // 0 < left = a 2^64 - word c: the rest of the uniform, times c, must stay below it.
    const releases::UInt128 left = (a << 64U) - releases::UInt128{word} * c;
    if (left >= c) return true;
    a = left;
  }
}

/// True with probability exp(-a/b), for a <= b: the parity of a run whose k-th step has probability a / (b k).
/// Source: Canonne, Kamath, Steinke 2020, Algorithm 1.
template <crypto::NoiseBits Bits>
[[nodiscard]] bool bernoulli_exp_below_one(releases::UInt128 a, releases::UInt128 b, Bits& bits) {
  std::uint64_t k = 1;
  while (bernoulli(a, b * k, bits)) {
    ++k;
    UNDERTONE_CHECK(k < 4096);  // P < 1/4096!
  }
  return (k & 1U) != 0;
}

/// True with probability exp(-a/b), for any a. @param b at most 2^112
template <crypto::NoiseBits Bits>
[[nodiscard]] bool bernoulli_exp(releases::UInt128 a, releases::UInt128 b, Bits& bits) {
  UNDERTONE_CHECK(b > 0 && b <= (releases::UInt128{1} << 112U));
  while (a > b) {
    if (!bernoulli_exp_below_one(1, 1, bits)) return false;
    a -= b;
  }
  return bernoulli_exp_below_one(a, b, bits);
}

}  // namespace detail

/// Discrete Laplace: P[x] proportional to exp(-|x| / scale), exactly. With integer l1 sensitivity D it is
/// (D / scale)-DP. @param scale in (0, 2^40], denominator at most 2^20
/// Source: Canonne, Kamath, Steinke 2020, Algorithm 2.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t sample_discrete_laplace(Rational scale, Bits& bits) {
  const std::uint64_t t = scale.numerator;
  const std::uint64_t s = scale.denominator;
  UNDERTONE_CHECK(t > 0 && t <= (std::uint64_t{1} << 40U) && s > 0 && s <= (std::uint64_t{1} << 20U));
  while (true) {
    const std::uint64_t low = crypto::uniform_below(bits, t);
    if (!detail::bernoulli_exp_below_one(low, t, bits)) continue;
    std::uint64_t high = 0;
    while (detail::bernoulli_exp_below_one(1, 1, bits)) ++high;
    const std::uint64_t magnitude = (low + t * high) / s;
    const bool negative = (bits.word() & 1U) != 0;
    if (negative && magnitude == 0) continue;
    return negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  }
}

/// Discrete Gaussian: P[x] proportional to exp(-x^2 / (2 variance)), exactly. With integer l2 sensitivity D it is
/// D^2 / (2 variance)-zCDP; the Gaussian profile is no bound for it. Its variance is a little below the parameter.
/// @param variance in (0, 2^40], denominator at most 2^15
/// Source: Canonne, Kamath, Steinke 2020, Algorithm 3.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t sample_discrete_gaussian(Rational variance, Bits& bits) {
  const std::uint64_t p = variance.numerator;
  const std::uint64_t q = variance.denominator;
  UNDERTONE_CHECK(q > 0 && q <= (std::uint64_t{1} << 15U) && p > 0 && (p - 1) / q < (std::uint64_t{1} << 40U));
  std::uint64_t root = 0;  // floor of the standard deviation
  for (std::uint64_t bit = std::uint64_t{1} << 20U; bit > 0; bit >>= 1U)
    if ((root + bit) * (root + bit) <= p / q) root += bit;
  const std::uint64_t t = root + 1;
  // exp(-(|y| - variance/t)^2 / (2 variance)) = exp(-(|y| t q - p)^2 / (2 p q t^2)).
  const releases::UInt128 below = releases::UInt128{2} * p * q * t * t;
  while (true) {
    const std::int64_t y = sample_discrete_laplace({t, 1}, bits);
    const auto magnitude = static_cast<std::uint64_t>(y < 0 ? -y : y);
    const releases::UInt128 first = releases::UInt128{magnitude} * t * q;
    const releases::UInt128 off = first > p ? first - p : p - first;
    if (off >> 63U != 0) continue;  // more than 100 standard deviations away: accepted with probability below 2^-5000
    if (detail::bernoulli_exp(off * off, below, bits)) return y;
  }
}

/// One of the candidates, with probability proportional to exp(rate score), exactly: the exponential mechanism, which
/// is also the law of the largest score after Gumbel noise of scale 1 / rate. With scores that change by at most D
/// each it is (2 rate D)-DP, with losses in a range of that length.
/// @param scores [1 .. 2^20], each of magnitude below 2^40 @param rate per unit of score
/// Source: McSherry and Talwar 2007; rejection from a uniform candidate.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::size_t sample_exponential_mechanism(std::span<const std::int64_t> scores, Rational rate,
                                                       Bits& bits) {
  UNDERTONE_CHECK(!scores.empty() && scores.size() <= (std::size_t{1} << 20U));
  UNDERTONE_CHECK(rate.denominator > 0 && rate.denominator <= (std::uint64_t{1} << 40U) &&
                  rate.numerator <= (std::uint64_t{1} << 40U));
  std::int64_t best = scores.front();
  for (const std::int64_t score : scores) best = score > best ? score : best;
  while (true) {
    const auto candidate = static_cast<std::size_t>(crypto::uniform_below(bits, scores.size()));
    const auto behind = static_cast<releases::UInt128>(best - scores[candidate]);
    if (detail::bernoulli_exp(behind * rate.numerator, rate.denominator, bits)) return candidate;
  }
}

/// How many of `trials` independent events of probability p happen, exactly: as many uniforms as there are trials are
/// compared with p digit by digit, those that are still equal to it counted together.
/// @param trials at most 2^40 @param p at most 1
template <crypto::NoiseBits Bits>
[[nodiscard]] std::int64_t sample_binomial(std::int64_t trials, Rational p, Bits& bits) {
  UNDERTONE_CHECK(trials >= 0 && trials <= (std::int64_t{1} << 40U) && p.denominator > 0 &&
                  p.numerator <= p.denominator && p.denominator <= (std::uint64_t{1} << 62U));
  if (p.numerator == p.denominator) return trials;
  const auto heads = [&bits](std::int64_t coins) {
    std::int64_t sum = 0;
    for (; coins >= 64; coins -= 64) sum += std::popcount(bits.word());
    return coins == 0 ? sum : sum + std::popcount(bits.word() >> static_cast<unsigned>(64 - coins));
  };
  std::int64_t below = 0;
  std::int64_t equal = trials;  // so far the digits of this many agree with p's
  std::uint64_t rest = p.numerator;
  while (equal > 0 && rest > 0) {
    rest *= 2;
    const bool digit = rest >= p.denominator;
    if (digit) rest -= p.denominator;
    const std::int64_t ones = heads(equal);
    if (digit) below += equal - ones;  // their digit is 0 where p's is 1
    equal = digit ? ones : equal - ones;
  }
  return below;  // equal to all digits of p is not below it
}

/// A secret order of 0 .. size-1, every order equally likely. Source: Fisher and Yates; Durstenfeld 1964.
template <crypto::NoiseBits Bits>
[[nodiscard]] std::vector<std::int64_t> sample_permutation(std::int64_t size, Bits& bits) {
  UNDERTONE_CHECK(size >= 0);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(crypto::uniform_below(bits, i))]);
  return order;
}

/// `draws` independent uniform elements of 0 .. population-1, as drawn. @param population >= 1
template <crypto::NoiseBits Bits>
[[nodiscard]] std::vector<std::int64_t> sample_with_replacement(std::int64_t population, std::int64_t draws,
                                                                Bits& bits) {
  UNDERTONE_CHECK(population >= 1 && draws >= 0);
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(draws));
  for (std::int64_t& one : drawn)
    one = static_cast<std::int64_t>(crypto::uniform_below(bits, static_cast<std::uint64_t>(population)));
  return drawn;
}

}  // namespace undertone::noise
