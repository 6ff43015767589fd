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

/// This makes the cells of `records_per_person`, which end at what a person may have, and does nothing to other
/// questions. @param person nothing: the unit is a record @return an error where the unit is not a person, or edges are
/// not whole numbers from 0 to records_max
[[nodiscard]] Status settle_record_cells(algorithms::StatisticAsked& asked,
                                         const std::optional<releases::PersonContribution>& person);

}  // namespace undertone::jobs
