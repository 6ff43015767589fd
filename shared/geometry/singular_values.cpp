#include "shared/geometry/singular_values.hpp"

#include <Eigen/SVD>

namespace undertone::geometry {

Eigen::VectorXd SingularValues::columns() const {
  const Eigen::MatrixXd matrix = left * values.asDiagonal() * right.transpose();
  return Eigen::Map<const Eigen::VectorXd>(matrix.data(), matrix.size());
}

SingularValues singular_values(Eigen::Index rows, const Eigen::Ref<const Eigen::VectorXd>& columns) {
  const Eigen::Map<const Eigen::MatrixXd> matrix(columns.data(), rows, columns.size() / rows);
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
  return {svd.matrixU(), svd.singularValues(), svd.matrixV()};
}

}  // namespace undertone::geometry
