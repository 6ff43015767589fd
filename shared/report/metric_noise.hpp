#pragma once

#include <cstdint>
#include <set>

#include "shared/jobs/job.hpp"
#include "shared/report/run_result.hpp"

namespace undertone::report {

/// Fills `noise_stddevs` of every evaluation from public facts: the metrics are means over the silos that answered,
/// weighted with their holdout records w, of answers with independent noise of standard deviation s, so a metric's
/// noise has scale * sqrt(sum w^2 s^2) / sum w. Nothing is filled in where nothing was noised, nor for shuffled jobs,
/// whose replies name no silo.
/// @param job the run's, by its digest @param evaluating the rounds of the evaluations, as many as these, in order
void add_metric_noise(RunResult& result, const jobs::Job& job, const std::set<std::uint64_t>& evaluating);

}  // namespace undertone::report
