#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// A noised table over some of a job's axes. Cells in row-major order: the last axis varies fastest.
struct Table {
  std::vector<std::size_t> axes;   // ascending indices of axes; none: the total alone
  std::vector<std::size_t> sizes;  // of those axes, >= 1 each
  Eigen::VectorXd cells;           // [product of sizes]
  double cell_variance = 0.0;      // of the noise on each cell, > 0
};
/// The table's sums over the axes that are not named. @param axes a subset of the table's, ascending
[[nodiscard]] Result<Table> marginal(const Table& table, const std::vector<std::size_t>& axes);

/// Tables that agree on every sub-margin they share and on the total n: the smallest sub-margins first, each table's
/// version of one is replaced by the mean weighted by inverse variances, the difference spread evenly. Exact least
/// squares for equal cell noise; unbiased. Noise variances of the cells are not those before.
/// @param tables 1 .. 256, together at most 2^22 cells and 12 axes each
/// @return an error where two give an axis different sizes, or cells are too few, too many or not finite
/// Source: spec statistics 7; Barak et al. 2007; Hay et al. 2010.
[[nodiscard]] Result<std::vector<Table>> consistent(std::vector<Table> tables, std::int64_t records);

struct ProjectedCells {
  Eigen::VectorXd cells;
};
/// argmin ||x - cells||_2 over {x >= 0, sum x = records}: for a report alone, never before intervals, sums, tests or
/// fits: it moves empty cells up and large ones down.
/// @param cells [k >= 1], finite @param records >= 1
[[nodiscard]] Result<ProjectedCells> non_negative(const Eigen::VectorXd& cells, std::int64_t records);

}  // namespace undertone::statistics
