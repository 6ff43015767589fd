#pragma once

#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// Closed forms for k adaptive releases, each (epsilon_0, delta_0)-DP. They reproduce published figures and bound the
/// numeric accountant from above; nothing is charged by them.

/// epsilon_0 sqrt(2 k ln(1/delta')) + k epsilon_0 (e^epsilon_0 - 1), at delta k delta_0 + delta'.
/// Source: Dwork, Rothblum, Vadhan 2010, Theorem III.3.
[[nodiscard]] double advanced_composition(releases::Epsilon each, std::uint64_t times, releases::Delta delta_prime);
/// The same with the mean k epsilon_0 (e^epsilon_0 - 1) / (e^epsilon_0 + 1). Source: Kairouz, Oh, Viswanath 2015.
[[nodiscard]] double advanced_composition_tanh(releases::Epsilon each, std::uint64_t times,
                                               releases::Delta delta_prime);
/// The smallest epsilon of k (epsilon_0, 0)-DP releases at delta, exactly (to 1e-10). @param times at most 10^6
/// Source: Kairouz, Oh, Viswanath 2015, Theorem 3.3; Murtagh and Vadhan 2016.
[[nodiscard]] Result<double> optimal_composition(releases::Epsilon each, std::uint64_t times, releases::Delta delta);

/// sigma / sensitivity of the classical Gaussian mechanism, sqrt(2 ln(1.25/delta)) / epsilon. Only below epsilon 1,
/// where it is private; kept to reproduce published figures. Source: Dwork and Roth 2014, Theorem A.1.
[[nodiscard]] Result<double> classical_noise_multiplier(releases::Epsilon epsilon, releases::Delta delta);

}  // namespace undertone::accounting
