#pragma once

#include <Eigen/Core>

/// Exponential Renyi mutual information (ERMI) of a prediction and a sensitive attribute, and its min-max form.
/// Source: spec fair-learning 1 and 2.1; thesis Definitions 64 and 73, Proposition 65, Corollary 66.
namespace undertone::fairness {

/// How likely each class is predicted together with each group: [classes, groups], each >= 0, together 1. Matrices of
/// weights are [groups, classes], the other way round, as the source has them.
using JointShares = Eigen::MatrixXd;

/// D_R = sum of (p(j, r) - p(j) p(r))^2 / (p(j) p(r)): 0 where the prediction does not depend on the group, and only
/// there. A class that is never predicted and a group without records count nothing.
[[nodiscard]] double ermi(const JointShares& joint);

/// Psi(W) = -tr(W diag(p_y) W^T) + 2 tr(W joint diag(p_s)^(-1/2)) - 1, which is concave in W.
/// @param weights [groups, classes] @param shares [groups] > 0: of the groups, exact or as somebody told them
[[nodiscard]] double min_max_value(const Eigen::MatrixXd& weights, const JointShares& joint,
                                   const Eigen::VectorXd& shares);

/// The W at which Psi is largest: p(j, r) / (p(j) sqrt(share of r)), and 0 for a class that is never predicted. There
/// Psi is the ERMI, where the shares are the joint table's own. @return [groups, classes]
[[nodiscard]] Eigen::MatrixXd best_weights(const JointShares& joint, const Eigen::VectorXd& shares);

/// sqrt(classes / share): no best W is longer in Frobenius norm, whatever the model is.
/// @param share_min > 0: no group's share is smaller
[[nodiscard]] double weights_radius(Eigen::Index classes, double share_min);

/// c_j = -sum_r W_rj^2 + 2 W_sj / sqrt(share of s) of a record of group s: its part of Psi is <F, c> - 1, where F are
/// the probabilities that the model gives its classes. @return [classes]
[[nodiscard]] Eigen::VectorXd class_coefficients(const Eigen::MatrixXd& weights, const Eigen::VectorXd& shares,
                                                 Eigen::Index group);

}  // namespace undertone::fairness
