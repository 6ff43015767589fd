#pragma once

#include <vector>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/jobs/statistic_columns.hpp"

namespace undertone::jobs {

/// One of a job's "questions", about columns of its schema by their names: a release, or several of selected quantiles.
/// @return nothing where a problem was noted, or nothing is read but what keys there are
[[nodiscard]] std::vector<algorithms::StatisticAsked> parse_question(config::Section& section,
                                                                     const ColumnIndex& known);

}  // namespace undertone::jobs
