#pragma once

#include "shared/base/result.hpp"
#include "shared/jobs/job.hpp"
#include "shared/report/run_result.hpp"

namespace undertone::report {

/// Fills `epsilon_spent` and `noise_stddevs` of every evaluation. The first is the largest, over the cohort, of what a
/// silo's accepted replies so far add up to at the delta it was promised, by the plan that silo and coordinator
/// computed. An odometer: the guarantee is the promised epsilon. At most `kEvaluationsAccounted` of them, spread
/// evenly, the last included: the rest stay unknown.
/// @param job the run's, by its digest
/// @return an error where a member cannot be planned or the result's rounds are not the job's
[[nodiscard]] Status add_epsilon_spent(RunResult& result, const jobs::Job& job);

inline constexpr std::size_t kEvaluationsAccounted = 100;

/// Roughly how many milliseconds that takes: much longer where silos draw subsets, whose losses are composed
/// numerically.
[[nodiscard]] std::uint64_t accounting_ms(const RunResult& result, const jobs::Job& job);

}  // namespace undertone::report
