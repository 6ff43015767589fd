#pragma once

#include "shared/jobs/stated_statistics.hpp"

namespace undertone::jobs {

/// What silos chose by the exponential mechanism. Numbers of candidates do not add up: of several silos a chosen cell
/// is each one's own and nothing together; chosen parameters have a mean, weighted by records, that no interval is
/// known of. An end of a quantile's interval, the outer edge of the chosen
/// cell, is an interval to one side.
/// @param silos one or more, each with the number of a candidate
/// @return an error where a number is none
/// Source: spec statistics 6, public-data 4.
[[nodiscard]] Result<StatedQuestion> state_choice(const algorithms::StatisticAsked& asked,
                                                  const std::vector<SiloTotals>& silos,
                                                  statistics::Confidence confidence);

}  // namespace undertone::jobs
