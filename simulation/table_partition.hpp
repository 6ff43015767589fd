#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/partition.hpp"

namespace undertone::simulation {

/// How a public table becomes the files of many silos, for experiments.
struct TablePartition {
  enum class By : std::uint8_t { Iid, Label, LabelPair, Sorted, Dirichlet };
  By by = By::Iid;
  std::string column;          // the class (Label, LabelPair, Dirichlet) or a number (Sorted)
  std::size_t silos = 0;       // of Label: as many as there are classes, of LabelPair: 25, whatever is asked
  bool disjoint = false;       // of LabelPair: a fifth of a class to each of its five silos, not the same to all five
  double concentration = 1.0;  // of Dirichlet: the less, the less alike
  std::uint64_t seed = 0;
  std::filesystem::path idx_labels;  // of a table that is a file of IDX images; empty for others
  bool cifar = false;                // the table is a binary batch of CIFAR-10
};

/// Deals rows by what one of their columns holds. @param cells of every row, as texts; not read where the rows are
/// dealt whatever they are. @return of each silo its rows; an error where a silo would get nothing or `partition` is
/// not good
[[nodiscard]] Result<data::Partition> deal_rows(std::size_t rows, const std::vector<std::string>& cells,
                                                const TablePartition& partition);

/// Writes silo-1.csv, silo-2.csv, ... with the table's header. @return the files; an error where the column is missing
/// or holds no numbers, a silo would get nothing, or a file cannot be written
[[nodiscard]] Result<std::vector<std::filesystem::path>> partition_table(const std::filesystem::path& file,
                                                                         const TablePartition& partition,
                                                                         const std::filesystem::path& out);

}  // namespace undertone::simulation
