#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// A polynomial on the cube [0, 1]^p in Bernstein's basis, of one degree k in every variable: the iterated Bernstein
/// operator B_k^(h) = I - (I - B_k)^h of values on the grid {0 .. k}^p / k, the first variable fastest.
/// Source: Wang, Gaboardi, Smith and Xu, Definitions 4 to 10; spec noninteractive-ldp 2.2.
class BernsteinPolynomial {
 public:
  static constexpr std::size_t kVariablesMax = 3;
  static constexpr std::size_t kOrderMax = 6;  // h: as it grows the operator tends to equispaced interpolation

  /// @param grid (k + 1)^p values @param variables p in 1 .. kVariablesMax @param degree k >= 1
  /// @param order h in 1 .. kOrderMax
  [[nodiscard]] static Result<BernsteinPolynomial> create(const Eigen::VectorXd& grid, std::size_t variables,
                                                          std::size_t degree, std::size_t order);

  [[nodiscard]] std::size_t variables() const noexcept { return variables_; }
  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  /// In the basis C(k, u) x^u (1 - x)^(k - u): [(k + 1)^p].
  [[nodiscard]] const Eigen::VectorXd& coefficients() const noexcept { return coefficients_; }
  /// @param point [p], in [0, 1] each
  [[nodiscard]] double value(const Eigen::VectorXd& point) const;
  /// @return [p]
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::VectorXd& point) const;

  struct Minimum {
    Eigen::VectorXd point;  // [p]
    double value = 0.0;
  };
  /// The best of descents by projected gradients, with Armijo's steps, from the 2 p + 1 best points of the grid and the
  /// cube's centre: the polynomial need not be convex, so that it is no more than that. Post-processing.
  /// Source: spec noninteractive-ldp 2.5 (2).
  [[nodiscard]] Minimum minimum() const;

 private:
  BernsteinPolynomial(Eigen::VectorXd coefficients, std::size_t variables, std::size_t degree)
      : coefficients_(std::move(coefficients)), variables_(variables), degree_(degree) {}
  [[nodiscard]] Minimum descend(Eigen::VectorXd from) const;
  Eigen::VectorXd coefficients_;
  std::size_t variables_;
  std::size_t degree_;
};

/// What a polynomial of one variable weighs each of its k + 1 values with at a point: of several variables these are
/// products. @param x in [0, 1]
[[nodiscard]] Eigen::VectorXd bernstein_weights(std::size_t degree, std::size_t order, double x);

/// The largest sum over the grid of |b^(h)_v(x)| over x in [0, 1], of one variable, on a grid of 64 points between
/// neighbouring knots: how much louder noise of the values may be between them. Of p variables its p-th power.
[[nodiscard]] double bernstein_amplification(std::size_t degree, std::size_t order);

}  // namespace undertone::statistics
