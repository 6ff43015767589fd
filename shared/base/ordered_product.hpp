#pragma once

#include <Eigen/Core>

#include "shared/base/vector_units.hpp"

namespace undertone {

/// Numbers in memory that are read as a matrix: element (i, j) stands at data[i * row_step + j * column_step].
struct MatrixView {
  const double* data = nullptr;
  Eigen::Index rows = 0;
  Eigen::Index columns = 0;
  Eigen::Index row_step = 1;
  Eigen::Index column_step = 0;

  MatrixView() = default;
  MatrixView(const double* numbers, Eigen::Index rows_, Eigen::Index columns_, Eigen::Index row, Eigen::Index column)
      : data(numbers), rows(rows_), columns(columns_), row_step(row), column_step(column) {}
  /// Of a matrix, a block, a map or the transpose of one: of what lies in memory and outlives the view.
  template <class Matrix>
  explicit MatrixView(const Eigen::DenseBase<Matrix>& matrix)
      : MatrixView(matrix.derived().data(), matrix.rows(), matrix.cols(), matrix.derived().rowStride(),
                   matrix.derived().colStride()) {}

  [[nodiscard]] MatrixView transposed() const noexcept { return {data, columns, rows, column_step, row_step}; }
};

/// Where a product is written to: element (i, j) to data[i * row_step + j * column_step].
struct MatrixTarget {
  double* data = nullptr;
  Eigen::Index row_step = 1;
  Eigen::Index column_step = 0;

  MatrixTarget(double* numbers, Eigen::Index row, Eigen::Index column)
      : data(numbers), row_step(row), column_step(column) {}
  template <class Matrix>
  explicit MatrixTarget(Eigen::DenseBase<Matrix>& matrix)
      : MatrixTarget(matrix.derived().data(), matrix.derived().rowStride(), matrix.derived().colStride()) {}
};

/// out(i, j) = a(i, 0) b(0, j) + a(i, 1) b(1, j) + ..., every product rounded, then added to the sum so far. So an
/// element is a function of row i of a and column j of b alone: of no other row or column, nor of how many there are,
/// where they lie in memory, the processor's caches and vector units. No multiplication is fused with an addition.
/// Allocates nothing. Underlies docs/privacy.md 2: a record's arithmetic depends on that record alone.
/// @param out [a.rows, b.columns]; apart from a and b
void ordered_product(const MatrixView& a, const MatrixView& b, const MatrixTarget& out,
                     VectorUnits units = VectorUnits::Widest);

/// The same, begun at what is in `out` instead of at zero.
void add_ordered_product(const MatrixView& a, const MatrixView& b, const MatrixTarget& out,
                         VectorUnits units = VectorUnits::Widest);

}  // namespace undertone
