#pragma once

#include <Eigen/Core>

#include "shared/data/split.hpp"

namespace undertone::data {

/// An affine map of a record's features to fewer numbers. It is applied to each record alone, so that a mechanism after
/// it protects records as it does without; whoever computes a map from private records releases something of them.
struct Projection {
  Eigen::VectorXd origin;      // [d]
  Eigen::MatrixXd directions;  // [d, k]

  /// @param features [d, n] @param scores [k, n], the coordinates along the directions, from the origin
  void project(const Eigen::Ref<const Eigen::MatrixXd>& features, Eigen::Ref<Eigen::MatrixXd> scores) const;
  /// The same records with their scores for features. @param dataset of d features, or without records
  [[nodiscard]] Dataset project(const Dataset& dataset) const;
  /// The point of the affine span of orthonormal directions that has these scores.
  /// @param scores [k, n] @param features [d, n]
  void reconstruct(const Eigen::Ref<const Eigen::MatrixXd>& scores, Eigen::Ref<Eigen::MatrixXd> features) const;
};

}  // namespace undertone::data
