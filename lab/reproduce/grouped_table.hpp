#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/fairness/fair_objective.hpp"

namespace undertone::lab {

/// A column that divides records in two.
struct DividingColumn {
  std::string name;
  std::string one;   // the value of label or group 1
  std::string zero;  // that of 0; empty: every other value
};

/// A data set with a label and a group, both of two values, as the figures of fair learning read it.
struct GroupedTable {
  std::string name;                  // "census income"
  std::string train;                 // CSV file with a header
  std::string test;                  // another; empty: a fourth of the records, dealt from a public seed
  std::vector<std::string> numbers;  // columns that become a feature
  std::vector<std::string> texts;    // columns of which every text becomes an indicator
  DividingColumn label;
  DividingColumn group;
};

/// Income above 50,000 by gender. Neither gender, race nor country is a feature.
[[nodiscard]] GroupedTable census_table();
/// Arrested again within two years, by whether somebody is African-American. Race is no feature, and neither is what
/// the court's program said.
[[nodiscard]] GroupedTable compas_table();

/// The last feature is the constant 1. All others have mean 0 and variance 1 over the training records and are cut to
/// [-8, 8]: that looks at records and is NOT PRIVATE, as in the source.
struct GroupedSplit {
  fairness::GroupedRecords train;
  fairness::GroupedRecords test;
};

/// @param data the folder of the table's files @param seed of the deal where there is no file of test records
/// @param records_max of each file the first so many are read; 0: all
/// @return an error where a file or a column is missing, or a cell is not what it has to be
[[nodiscard]] Result<GroupedSplit> grouped_split(const GroupedTable& table, const std::filesystem::path& data,
                                                 std::uint64_t seed = 1, std::size_t records_max = 0);

}  // namespace undertone::lab
