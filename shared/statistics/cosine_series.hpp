#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>

namespace undertone::statistics {

/// The coefficients c_v of sum_v c_v prod_j cos(v_j theta_j), u_j = cos theta_j, near a function f of u in [-1, 1]^p
/// with |f| <= 1: v in {0 .. t-1}^p, the first variable fastest, v = 0 first.
struct CosineSeries {
  Eigen::VectorXd coefficients;  // [t^p]
  double error = 0.0;            // no u is farther from f: proved
};

/// Of one variable, by the least squares of Chebyshev's nodes. Between neighbours of a fine grid of theta neither f nor
/// the series moves by more than half a step times lipschitz and sum_v v |c_v|: that much is added to the largest
/// distance on the grid.
/// @param function of u, |f| <= 1 @param lipschitz |f(a) - f(b)| <= lipschitz |a - b|, finite and > 0
/// @param terms t >= 1
/// Source: spec noninteractive-ldp 2.8 (coefficients by a discrete cosine transform).
[[nodiscard]] CosineSeries cosine_series(const std::function<double(double)>& function, double lipschitz,
                                         std::size_t terms);

/// Of the kernel exp(-(u - centre)^2 / (2 width^2)). @param centre in [-1, 1] @param width finite and > 0
[[nodiscard]] CosineSeries gaussian_series(double centre, double width, std::size_t terms);

/// The product of functions, each of a variable of its own. As |f_j| <= 1 its error is prod_j (1 + e_j) - 1 at most.
/// @param factors one or more
[[nodiscard]] CosineSeries product_of(std::span<const CosineSeries> factors);

}  // namespace undertone::statistics
