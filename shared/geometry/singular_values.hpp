#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// X = sum_i values_i u_i v_i^T, values >= 0 and falling.
struct SingularValues {
  Eigen::MatrixXd left;    // u_i, [rows, k], k the shorter side
  Eigen::VectorXd values;  // [k]
  Eigen::MatrixXd right;   // v_i, [columns, k]

  /// The matrix again, as the vector of its columns: [rows columns].
  [[nodiscard]] Eigen::VectorXd columns() const;
};

/// @param columns of the matrix, one after another: [rows columns], finite
[[nodiscard]] SingularValues singular_values(Eigen::Index rows, const Eigen::Ref<const Eigen::VectorXd>& columns);

}  // namespace undertone::geometry
