#pragma once

#include <nlohmann/json.hpp>

#include "shared/algorithms/one_round/statistics.hpp"

namespace undertone::coordinator {

/// Adds to the rows of tables and histograms what is for show alone: `consistent`, where two tables or more share a
/// column (least squares over all of them, so that they agree on what they share), and `non_negative`, the nearest
/// table without negative cells that has as many records. Estimates and intervals are of the cells as they were
/// released. Tables over other silos than the first, in which some record is in no cell, or whose columns stand in
/// another order are left as they are.
/// @param statistics rows of a result, one for each question
void put_shown_tables(const algorithms::StatisticsSettings& settings, nlohmann::ordered_json& statistics);

}  // namespace undertone::coordinator
