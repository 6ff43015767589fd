#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// A count over one silo or several. Noise interval: closed and of integers where the noise is, within 0 .. records.
/// Population: records x the exact interval of the share.
/// @param total the noised count, whole records @param records public, >= 1 @param noise on the total
/// @param sampling whether the interval for the population is asked for
[[nodiscard]] Result<Stated> state_count(double total, std::int64_t records, const NoiseLaw& noise,
                                         Confidence confidence, bool sampling);
/// The share count / records, by the same intervals.
[[nodiscard]] Result<Stated> state_share(double total, std::int64_t records, const NoiseLaw& noise,
                                         Confidence confidence, bool sampling);

/// EXACT: all p that a binomial count plus the noise does not reject at alpha / 2 on either side. Honest at every n, p
/// and noise; over silos with unequal shares too (their sum is less spread than a binomial one: Hoeffding 1956).
/// @param noise on the total. @pre finite total, 1 <= records <= 2^40
/// Source: Kao and Reiter 2511.02227; Awan and Slavkovic; spec statistics 4.1.
[[nodiscard]] Interval exact_share(double total, std::int64_t records, const NoiseLaw& noise, double alpha);
/// The noise-Wilson interval of a share with normal noise of that variance: asymptotic, for comparison and plans.
/// Source: spec statistics 4.1.
[[nodiscard]] Interval wilson_share(double share, double records, double noise_variance, double z);

/// The cells of a partition of all records: each as a count, on its raw cell.
/// @param cells noised [k >= 1] @param noise on one cell @param simultaneous all intervals hold at once: alpha / k each
[[nodiscard]] Result<std::vector<Stated>> state_cells(const std::vector<double>& cells, std::int64_t records,
                                                      const NoiseLaw& noise, Confidence confidence, bool sampling,
                                                      bool simultaneous);

}  // namespace undertone::statistics
