#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/means.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// The variance of u in [-1, 1] (population, n - 1) within silos: sum_i c_i V_i, V_i = (M2_i - m_i^2 + v1_i) n_i /
/// (n_i - 1), where v1_i takes out the square of the mean's own noise. BOX where the noise of a mean is above 0.06,
/// else VSCORE. In the unit of a column: times half_range^2.
/// Silos folded into one have the variance of all, which differences between silos are in.
/// @param silos with u^2 and two records each
/// Source: spec statistics 5.
[[nodiscard]] Result<Stated> state_variance(const std::vector<SiloMoments>& silos, Confidence confidence,
                                            bool sampling);
/// The square root of it all, the low end at least 0.
[[nodiscard]] Stated standard_deviation_of(const Stated& variance);

/// Noised means of u, u^2, u^3, u^4 over n records; Gaussian noise, independent.
struct FourMoments {
  std::int64_t records = 0;  // >= 2
  std::array<double, 4> moments{};
  std::array<double, 4> noise_variances{};
};
/// The variance with a spread that is estimated instead of bounded; flagged where n V < 100.
[[nodiscard]] Result<Stated> state_variance_by_four_moments(const FourMoments& moments, Confidence confidence,
                                                            bool sampling);

}  // namespace undertone::statistics
