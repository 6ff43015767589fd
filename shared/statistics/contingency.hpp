#pragma once

#include <cstdint>

#include "shared/statistics/survival/log_rank.hpp"
#include "shared/statistics/survival/table_functional.hpp"

namespace undertone::statistics {

/// The four raw cells of two groups and an event: a and b with the event and without it in the first group, c and d in
/// the second one. Of all four noises are independent.
enum class Ratio : std::uint8_t {
  Odds,  // (a / b) / (c / d)
  Risk   // (a / (a + b)) / (c / (c + d))
};
/// A ratio with the interval of all values psi that G(psi) does not reject: G is a d - psi b c, or a (c + d) -
/// psi c (a + b), which has mean 0 at the true psi whatever the noise, since no cell is multiplied by itself. It needs
/// no logarithm and no division, so cells may be small or below 0. An interval may have no upper end.
/// @param table raw, of four cells @return no value where a cell is within four deviations of its noise
/// Source: spec survival 7.2.
[[nodiscard]] Stated state_ratio(const NoisedTable& table, Ratio ratio, Confidence confidence, bool sampling);

/// Whether two columns are independent: Pearson's statistic with the noise in its denominator. Its law is not known, so
/// tables are drawn from the fitted margins, with noise of the very law, and the statistic is computed again. The
/// p-value is (1 + how many are as large) / (1 + draws).
/// @param table raw, of rows x columns cells, the last index fastest @param law of the noise on each cell
/// @param seed of the public draws @param draws >= 99
/// @return an error where an expected cell is below a deviation of the noise: the test would have no power
/// Source: Gaboardi et al. 1602.03090; spec survival 7.1.
[[nodiscard]] Result<TestOutcome> independence_test(const NoisedTable& table, const NoiseLaw& law, std::int64_t rows,
                                                    std::int64_t columns, std::uint64_t seed, int draws);

}  // namespace undertone::statistics
