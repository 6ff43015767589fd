#pragma once

#include <filesystem>

#include "shared/fairness/fair_objective.hpp"

namespace undertone::lab {

/// Census income with gender as the group: label 1 is an income above 50,000, group 1 is female. Features are six
/// numbers, indicators of every text of five columns, and the constant 1; neither gender, race nor country is among
/// them. Numbers and indicators have mean 0 and variance 1 over the training records and are cut to [-8, 8]: that looks
/// at records and is NOT PRIVATE, as in the source.
struct CensusRecords {
  fairness::GroupedRecords train;
  fairness::GroupedRecords test;
};

/// @param data the folder of adult.data and adult.test, CSV files with a header
/// @param records_max of each file the first so many are read; 0: all
/// @return an error where a file or a column is missing, or a cell is not what it has to be
[[nodiscard]] Result<CensusRecords> census_records(const std::filesystem::path& data, std::size_t records_max = 0);

}  // namespace undertone::lab
