#pragma once

#include <cstdint>
#include <span>

#include "shared/statistics/survival/log_rank.hpp"
#include "shared/statistics/survival/table_functional.hpp"

namespace undertone::statistics {

/// Of the four raw cells of two groups and an event: a and b with the event and without it in the first group, c and d
/// in the second one. Of all four noises are independent.
enum class Ratio : std::uint8_t {
  Odds,  // (a / b) / (c / d)
  Risk   // (a / (a + b)) / (c / (c + d))
};
/// A ratio that strata have in common, with the interval of all values psi that G(psi) does not reject. G is the sum
/// over strata of (a d - psi b c) / n, or of (a (c + d) - psi c (a + b)) / n (Mantel and Haenszel). It has mean 0 at
/// the true psi whatever the noise, since no cell is multiplied by itself. It needs no logarithm and no division by
/// cells, so cells may be small or below 0. An interval may have no upper end.
/// @param strata raw, of four cells each, one or more, with independent noises
/// @return no value where a sum of cells over the strata is within four deviations of its noise
/// Source: Mantel and Haenszel 1959; spec survival 7.2, which has one stratum.
[[nodiscard]] Stated state_ratio(std::span<const NoisedTable> strata, Ratio ratio, Confidence confidence,
                                 bool sampling);

/// A table of one stratum, and the law of the noise on each of its cells.
struct Stratum {
  NoisedTable table;  // raw, of rows x columns cells, the last index fastest
  NoiseLaw law;
};
/// Whether two columns are independent in every stratum: the sum of Pearson's statistics with the noise in their
/// denominators. Its law is not known, so tables are drawn from the fitted margins of each stratum, with noise of the
/// very law, and the statistic is computed again. The p-value is (1 + how many are as large) / (1 + draws).
/// @param strata one or more, with independent noises
/// @param seed of the public draws @param draws >= 99
/// @return an error where an expected cell is below a deviation of the noise: the test would have no power
/// Source: Gaboardi et al. 1602.03090; spec survival 7.1.
[[nodiscard]] Result<TestOutcome> independence_test(std::span<const Stratum> strata, std::int64_t rows,
                                                    std::int64_t columns, std::uint64_t seed, int draws);

}  // namespace undertone::statistics
