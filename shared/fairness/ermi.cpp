#include "shared/fairness/ermi.hpp"

#include <cmath>

#include "shared/base/result.hpp"

namespace undertone::fairness {

double ermi(const JointShares& joint) {
  const Eigen::VectorXd classes = joint.rowwise().sum();
  const Eigen::RowVectorXd groups = joint.colwise().sum();
  double sum = 0.0;
  for (Eigen::Index r = 0; r < joint.cols(); ++r) {
    for (Eigen::Index j = 0; j < joint.rows(); ++j) {
      const double product = classes[j] * groups[r];
      if (product > 0.0) sum += (joint(j, r) - product) * (joint(j, r) - product) / product;
    }
  }
  return sum;
}

double min_max_value(const Eigen::MatrixXd& weights, const JointShares& joint, const Eigen::VectorXd& shares) {
  UNDERTONE_CHECK(weights.rows() == joint.cols() && weights.cols() == joint.rows() && shares.size() == joint.cols());
  const Eigen::VectorXd classes = joint.rowwise().sum();
  const Eigen::VectorXd lengths = weights.colwise().squaredNorm();
  const Eigen::MatrixXd scaled = joint * shares.cwiseSqrt().cwiseInverse().asDiagonal();  // [classes, groups]
  return -lengths.dot(classes) + 2.0 * weights.transpose().cwiseProduct(scaled).sum() - 1.0;
}

Eigen::MatrixXd best_weights(const JointShares& joint, const Eigen::VectorXd& shares) {
  UNDERTONE_CHECK(shares.size() == joint.cols());
  const Eigen::VectorXd classes = joint.rowwise().sum();
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(joint.cols(), joint.rows());
  for (Eigen::Index j = 0; j < joint.rows(); ++j) {
    if (!(classes[j] > 0.0)) continue;
    for (Eigen::Index r = 0; r < joint.cols(); ++r) out(r, j) = joint(j, r) / (classes[j] * std::sqrt(shares[r]));
  }
  return out;
}

double weights_radius(Eigen::Index classes, double share_min) {
  UNDERTONE_CHECK(classes >= 1 && share_min > 0.0 && share_min <= 1.0);
  return std::sqrt(static_cast<double>(classes) / share_min);
}

Eigen::VectorXd class_coefficients(const Eigen::MatrixXd& weights, const Eigen::VectorXd& shares, Eigen::Index group) {
  UNDERTONE_CHECK(shares.size() == weights.rows() && group >= 0 && group < weights.rows());
  return -weights.colwise().squaredNorm().transpose() + 2.0 / std::sqrt(shares[group]) * weights.row(group).transpose();
}

}  // namespace undertone::fairness
