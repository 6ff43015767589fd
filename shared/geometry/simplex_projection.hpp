#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// The curvatures a_i of a separable quadratic: `weight` for i < `head`, 1 for the coordinates after them.
struct HeadWeight {
  Eigen::Index head = 0;
  double weight = 1.0;  // >= 1
};

/// argmin of sum_i (a_i/2 y_i^2 - x_i y_i) over {y >= 0, sum y = scale}, exact up to rounding in the largest x_i, in
/// O(d log d).
/// With a = 1 it is the Euclidean projection of x.
/// @param point [d], x in and y out; d > 0, finite @param scale in (0, kParameterMax]
/// Source: Held, Wolfe and Crowder 1974, for a = 1.
void project_onto_simplex(double scale, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature = {});

/// The same over {||y||_1 <= radius}.
/// Source: Duchi, Shalev-Shwartz, Singer and Chandra 2008, Section 4, for a = 1.
void project_onto_l1_ball(double radius, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature = {});

}  // namespace undertone::geometry
