#pragma once

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/stated_statistics.hpp"

namespace undertone::jobs {

/// This states what a run of Fisher scoring says of its job's columns. A coefficient of a number is for one unit of the
/// column, one of a list's value compares it with the list's first value, and the intercept is where every list has its
/// first value and every number is in the middle of its bounds. Odds ratios follow the coefficients. Each coefficient
/// has a test of being 0, whose variance is that of its interval. @pre the job's model is logistic
[[nodiscard]] StatedQuestion state_regression(const Job& job, const algorithms::FoundRegression& found,
                                              statistics::Confidence confidence);

}  // namespace undertone::jobs
