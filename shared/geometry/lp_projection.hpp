#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// The nearest point in l2 of {x : ||x||_p <= radius}, 2 < p <= infinity, in place; a point of the ball stays as it is.
/// Deterministic, feasible up to a relative 1e-12, and free of overflow whatever the ratio of the point to the radius.
/// For p = infinity it clamps every coordinate. Else a search for one number, in each of whose steps every coordinate
/// is found by Newton's method: some ten times five powers a coordinate.
/// @param exponent p @param radius finite and > 0 @param point [d], finite
/// Source: the optimality condition x_j + lambda p x_j^(p-1) = |y_j| of the projection of y.
void project_onto_lp_ball(double exponent, double radius, Eigen::Ref<Eigen::VectorXd> point);

}  // namespace undertone::geometry
