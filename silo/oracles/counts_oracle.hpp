#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "shared/noise/binomial_table.hpp"
#include "silo/oracles/sum_oracle.hpp"

namespace undertone::silo {

/// The laws of a silo's coins, kept because making one takes longer than drawing from it: one for each number of
/// records that a plan's releases read. One object for one thread.
class BinomialCoins {
 public:
  static constexpr std::size_t kKeptMax = 4;

  /// The law of the coins of so many records, valid until the next call.
  /// @pre no more of them than a table is for, which a RoundLayout ensures
  [[nodiscard]] const noise::BinomialTable& of(const mechanisms::BinomialParameters& parameters, std::int64_t records);

 private:
  std::list<noise::BinomialTable> kept_;  // the latest first
};

/// A silo's randomised counts: the exact sum of the drawn records' clipped vectors on the binomial lattice, shifted to
/// the grid {0 .. K g} and rounded there once, and the coins of its K records. The order is that of `answer_question`:
/// the draw before the first look at a record, the coins after the sum.
/// @param planned of a BinomialSum @return [dimension], each in 0 .. K (g + b)
/// Source: spec heavy-tailed 3.1; @see mechanisms::add_rounded_sum
[[nodiscard]] std::vector<std::int64_t> draw_and_count(const queries::Query& query, const planning::Release& planned,
                                                       const OracleData& data, RecordSums& sums, BinomialCoins& coins,
                                                       ReleaseStream& stream);

/// The same for a release that the ledger has granted. @param token granted by the ledger for this very round
/// @param stream opened with that token: it goes on to decide how the counts are encoded
[[nodiscard]] std::vector<std::int64_t> count_question(const queries::Query& query, const planning::Release& planned,
                                                       const SpendToken& token, const OracleData& data,
                                                       RecordSums& sums, BinomialCoins& coins, ReleaseStream& stream);

}  // namespace undertone::silo
