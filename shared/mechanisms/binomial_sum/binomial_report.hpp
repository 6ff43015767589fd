#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/mechanisms/binomial_sum/binomial_sum.hpp"
#include "shared/mechanisms/lattice.hpp"
#include "shared/noise/binomial_table.hpp"

namespace undertone::mechanisms {

/// A grid step in lattice units: rounding compares 32 random bits with the 32 bits below the grid, so that the chance
/// of the upper neighbour is the fraction itself, exactly.
inline constexpr int kRoundingBits = 32;

/// Records of a silo times g: their exact sum, shifted, is then at most 2^61.
inline constexpr std::int64_t kRoundedRecordsMax = std::int64_t{1} << 29U;

/// Bits of a coordinate that an estimate is made of, records times (g + b): no product of it then leaves 126 bits.
inline constexpr std::int64_t kEstimatedBitsMax = std::int64_t{1} << 40U;

/// The lattice that records are clipped on before they are rounded: Lambda = g 2^31 stands for the clip norm, so that
/// (x + Lambda) / 2^32 is x shifted by L on the grid {0 .. g}, with the range 2 L.
/// Source: spec heavy-tailed 3.1, corrections E1 and E2.
[[nodiscard]] Lattice binomial_lattice(const BinomialParameters& parameters, releases::ClipNorm clip);

/// A silo's counts from the exact integer sum of its records, rounded once: every coordinate is shifted by L of each
/// record and rounded up with the probability of its fraction, without bias. The guarantee is that of records rounded
/// one by one, since what a record moves is the silo's vector on the grid either way (`binomial_shift`), and the
/// variance is less, at most 1/4 of all its records together. Only for counts that are added up inside the silo; bits
/// of single records need the one below.
/// @param sum [dimension] of `records` records that were clipped on `binomial_lattice`
/// @param counts [dimension] grows by 0 .. records g
template <crypto::NoiseBits Bits>
void add_rounded_sum(std::span<const std::int64_t> sum, std::int64_t records, const BinomialParameters& parameters,
                     Bits& bits, std::span<std::int64_t> counts) {
  UNDERTONE_CHECK(sum.size() == counts.size());
  UNDERTONE_CHECK(records >= 1 && records <= kRoundedRecordsMax / parameters.grid());
  const std::uint64_t clip = static_cast<std::uint64_t>(parameters.grid() * records) << (kRoundingBits - 1);
  const std::size_t size = sum.size();
  std::uint64_t largest = 0;
  const auto add = [&](std::size_t j, std::uint64_t random) {
    const std::uint64_t place = static_cast<std::uint64_t>(sum[j]) + clip;  // what is below the range wraps to the top
    largest = std::max(largest, place);
    counts[j] += static_cast<std::int64_t>((place + random) >> kRoundingBits);
  };
  std::size_t j = 0;
  for (; j + 2 <= size; j += 2) {
    const std::uint64_t word = bits.word();
    add(j, word >> kRoundingBits);
    add(j + 1, word & 0xffffffffU);
  }
  if (j < size) add(j, bits.word() >> kRoundingBits);
  UNDERTONE_CHECK(largest <= 2 * clip);  // else the sensitivity g would not hold
}

/// Adds one record's grid integers to a silo's counts: the same of a single record.
/// @param units [dimension] what `add_clipped` made of the record alone on `binomial_lattice`: in -Lambda .. Lambda
/// @param counts [dimension] grows by 0 .. g
template <crypto::NoiseBits Bits>
void add_rounded_record(std::span<const std::int64_t> units, const BinomialParameters& parameters, Bits& bits,
                        std::span<std::int64_t> counts) {
  add_rounded_sum(units, 1, parameters, bits, counts);
}

/// The local randomiser up to its coins: clips a record's vector, shifts it, rounds it. One that is not finite counts
/// as the zero vector.
/// @param vector [dimension] in real units; used as scratch @param units [dimension] scratch
/// @param counts [dimension] grows by 0 .. g
template <crypto::NoiseBits Bits>
void add_record(Eigen::VectorXd& vector, const BinomialParameters& parameters, releases::ClipNorm clip, Bits& bits,
                std::span<std::int64_t> units, std::span<std::int64_t> counts) {
  std::fill(units.begin(), units.end(), 0);
  add_clipped(vector, binomial_lattice(parameters, clip), units);
  add_rounded_record(units, parameters, bits, counts);
}

/// The coins of a silo's records: b of each record, drawn together, since independent binomial counts add up to one.
/// @param coins of (records b, p) @see binomial_coins
template <crypto::NoiseBits Bits>
void add_coins(const noise::BinomialTable& coins, Bits& bits, std::span<std::int64_t> counts) {
  for (std::int64_t& count : counts) count += coins.sample(bits);
}

/// The table of a silo's coins in a coordinate. @return an error where records b is more than a table is for
[[nodiscard]] Result<noise::BinomialTable> binomial_coins(const BinomialParameters& parameters, std::int64_t records);

/// One record's report, bit by bit: `ones` ones among g + b bits, in any order, since they are to be permuted.
/// @param ones in 0 .. g + b
[[nodiscard]] std::vector<bool> report_bits(const BinomialParameters& parameters, std::int64_t ones);

/// What the analyzer makes of a round's total counts.
struct BinomialEstimate {
  Eigen::VectorXd sum;   // of the clipped vectors, without bias: (2L/g) (ones - p b s) - s L
  Eigen::VectorXd mean;  // the same by s
};

/// Computed as one exact integer a coordinate and one rounding.
/// @param ones [dimension] of the total @param vectors s: how many records' bits they are among
/// @return an error for a count outside 0 .. s (g + b), or more records than can be counted
/// Source: spec heavy-tailed 3.1, corrections E1 and E2.
[[nodiscard]] Result<BinomialEstimate> estimate_of(std::span<const std::int64_t> ones,
                                                   const BinomialParameters& parameters, releases::ClipNorm clip,
                                                   std::int64_t vectors);

/// Variance of a coordinate of the estimated sum: (2L/g)^2 (rounding + s b p (1 - p)), exactly.
/// @param rounding sum of fraction (1 - fraction) over what was rounded in this coordinate: at most 1/4 of each record,
/// or of each silo that rounds once
[[nodiscard]] double binomial_sum_variance(const BinomialParameters& parameters, releases::ClipNorm clip,
                                           std::int64_t vectors, double rounding);

}  // namespace undertone::mechanisms
