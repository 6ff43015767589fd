#pragma once

#include <functional>

#include "shared/accounting/accountant.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// Which accountant says what a noise costs.
enum class CalibrationMethod : std::uint8_t { Numeric, Analytic, Classical, Zcdp, Renyi };

/// The smallest noise multiplier (noise standard deviation / sensitivity) whose cost is at most a target, to 1e-4 and
/// rounded up: what it returns was evaluated and meets the target.
/// @param cost of a multiplier, decreasing
/// @return an error where no multiplier in [1e-4, 1e9] serves, or the cost of one cannot be computed
[[nodiscard]] Result<double> smallest_multiplier(const std::function<Result<double>(double multiplier)>& cost,
                                                 double target);

/// The smallest noise multiplier of `steps` equal Gaussian releases for (epsilon, delta), by the named method.
/// @param event the release at a multiplier
/// @return an error where the method does not cover the release: analytic and classical are for unsampled Gaussians,
/// classical for one release below epsilon 1
[[nodiscard]] Result<double> calibrate_gaussian(CalibrationMethod method, std::uint64_t steps,
                                                releases::Epsilon epsilon, releases::Delta delta,
                                                const std::function<Result<PrivacyEvent>(double multiplier)>& event);

}  // namespace undertone::accounting
