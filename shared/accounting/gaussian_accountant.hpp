#pragma once

#include <span>

#include "shared/base/result.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// ln delta of the Gaussian mechanism with shift mu at epsilon >= 0, rounded up:
///   delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu).
/// Evaluated as the integral over s > eps/mu - mu/2 of phi(s) (1 - exp(-mu (s - (eps/mu - mu/2)))) ds, the same number
/// with nothing to cancel: relative error below 1e-11, then inflated by 1e-10.
/// Holds for any adaptive sequence of Gaussian releases with shifts mu_r and mu = sqrt(sum mu_r^2) fixed in advance.
/// Source: Balle and Wang 2018, Theorem 8; composition: Dong, Roth, Su 2022, Cor. 3.3.
[[nodiscard]] double log_delta_of_gaussian(double epsilon, releases::GaussianShift shift);

/// The smallest epsilon >= 0 (to 1e-10 relative, rounded up) with which a shift meets delta.
[[nodiscard]] double epsilon_of_gaussian(releases::GaussianShift shift, releases::Delta delta);

/// The largest shift (to 1e-10 relative, rounded down) that is (epsilon, delta)-DP: calibration.
[[nodiscard]] releases::GaussianShift gaussian_shift_for(releases::Epsilon epsilon, releases::Delta delta);

/// The shift of several blocks released together, each with a sensitivity and noise of its own and independent of the
/// others: the root of the sum of their squares, rounded up; the noise has no direction, so a record that changes every
/// block by its sensitivity is one Gaussian's. Holds for a sampled release too: one draw serves all blocks.
/// @param shifts at least one @return an error where the sum is above 10^4
[[nodiscard]] Result<releases::GaussianShift> joint_shift(std::span<const releases::GaussianShift> shifts);

/// The shift of all releases together, rounded up. @param shift_squared > 0
[[nodiscard]] releases::GaussianShift total_shift(releases::ShiftSquaredAmount shift_squared);

}  // namespace undertone::accounting
