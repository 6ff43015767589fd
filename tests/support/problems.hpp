#pragma once

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "shared/algorithms/problem.hpp"

namespace undertone::tests {

/// What one silo answers for: F_i, the mean of its records' losses, without any regulariser.
struct SiloObjective {
  std::function<double(const Eigen::VectorXd&)> value;
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> gradient;
};

/// F = mean_i F_i + g over W, with its optimum and every constant that a theorem asks for. Written here from the
/// formulas, none of it taken from the product's losses.
struct KnownProblem {
  std::string name;
  algorithms::Problem problem;  // dimension, W and g, as an algorithm is told
  std::vector<SiloObjective> silos;
  double gradient_bound = 0.0;     // L: no record's gradient is longer at any point of W
  double smoothness = 0.0;         // beta of every F_i
  double strong_convexity = 0.0;   // mu of F, zero where it has none
  Eigen::VectorXd minimiser = {};  // w*, a minimiser of F over W
  double minimum = 0.0;            // F* = F(w*)

  /// F(w), g included. @param w a point of W
  [[nodiscard]] double value(const Eigen::VectorXd& w) const;
  /// The mean of the silos' gradients, g left out.
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::VectorXd& w) const;
  /// F(w) - F*.
  [[nodiscard]] double excess(const Eigen::VectorXd& w) const { return value(w) - minimum; }
  /// ||G_eta(w)||^2 of the proximal gradient mapping; ||grad F||^2 where W is everything and there is no g.
  [[nodiscard]] double stationarity(const Eigen::VectorXd& w, double step_size) const;
  /// D: the distance of the starting point to w*.
  [[nodiscard]] double distance() const { return (problem.start() - minimiser).norm(); }
  /// F(w_0) - F*.
  [[nodiscard]] double gap() const { return excess(problem.start()); }
  /// upsilon_X^2 at a point: the mean square distance of the silos' gradients to their mean.
  [[nodiscard]] double heterogeneity(const Eigen::VectorXd& w) const;
};

/// Least squares in six dimensions on four silos of thirty records, in a ball that holds the optimum: the normal
/// equations' solution.
[[nodiscard]] KnownProblem least_squares();

/// Logistic loss with an l2 regulariser in five dimensions on three silos: Newton's method from 0, until the gradient
/// is shorter than 1e-13.
[[nodiscard]] KnownProblem regularised_logistic();

/// Least squares of an orthogonal design with an l1 regulariser, in eight dimensions on four silos: every coordinate is
/// the least squares solution, thresholded.
[[nodiscard]] KnownProblem lasso();

/// A strongly convex quadratic in five dimensions on four silos over the unit ball, its optimum on the sphere, where
/// the gradient points inwards and is no multiple of a coordinate.
[[nodiscard]] KnownProblem boundary_quadratic();

/// sum_j (w_j - c_j)^2 / (1 + (w_j - c_j)^2) in four dimensions on four silos, each of which adds a linear function, in
/// all of space: smooth, not convex, minimum 0 at c.
[[nodiscard]] KnownProblem nonconvex_valley();

/// Five silos whose quadratics share their curvature, from 1/4 to 1, but whose own optima lie some ten times as far
/// apart as the common optimum from 0.
[[nodiscard]] KnownProblem far_apart_silos();

/// The table: all of the above.
[[nodiscard]] const std::vector<KnownProblem>& known_problems();

/// A quadratic of curvature 1/10 over the unit ball whose unconstrained optimum is ten radii away, so that its gradient
/// is between 0.9 and 1.1 long everywhere: what it loses to noise is what a linear function loses.
[[nodiscard]] KnownProblem far_quadratic(Eigen::Index dimension, std::size_t silos);

/// A quadratic whose curvatures lie evenly, on a logarithmic scale, between 1 and 1e-6, its optimum equally far in
/// each: the hard case of first-order methods, on which gradient descent's risk falls like 1/R.
[[nodiscard]] KnownProblem ill_conditioned_quadratic();

}  // namespace undertone::tests
