#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// p of the l1 setup in dimension d, 1 + 1/max(1, log2 d): in (1, 2], with d^(1 - 1/p) < 2.
/// Source: Asi, Feldman, Koren and Talwar 2021, Section 2; the logarithm is the binary one, in which the constant
/// holds.
[[nodiscard]] double l1_setup_exponent(Eigen::Index dimension);

/// p/(p - 1) of p > 1, a whole number where it is one but for rounding; infinity for p = 1, 1 for p = infinity.
[[nodiscard]] double conjugate_exponent(double exponent);

/// ||x||_p for p in [1, infinity], by powers of the coordinates relative to the largest: no overflow where the result
/// is a double.
[[nodiscard]] double lp_norm(const Eigen::Ref<const Eigen::VectorXd>& x, double exponent);

/// In place the duality map J_p(u)_j = sign(u_j) |u_j|^(p-1) ||u||_p^(2-p), the gradient of 1/2 ||.||_p^2; J_p(0) = 0.
/// Its inverse is that of the conjugate exponent, ||J_p(u)||_q = ||u||_p, and it is homogeneous of degree 1. Powers are
/// of coordinates relative to the largest.
/// @param exponent p in (1, infinity) @param u [d], finite
void apply_duality_map(double exponent, Eigen::Ref<Eigen::VectorXd> u);

}  // namespace undertone::geometry
