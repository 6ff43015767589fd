#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// The coefficients c_v of sum_v c_v prod_j cos(v_j theta_j), u_j = cos theta_j, that is nearest to a function f of u
/// in
/// [-1, 1]^p in the least squares of Chebyshev's nodes: v in {0 .. t-1}^p, the first variable fastest, v = 0 first.
struct CosineSeries {
  Eigen::VectorXd coefficients;  // [t^p]
  /// The largest distance from f that was found at so many points between the nodes: measured, not proved.
  double error = 0.0;
};
/// @param variables p >= 1 @param terms t >= 1 of each variable
/// @return an error where max(48, 4 t)^p nodes are more than 2^24
/// Source: spec noninteractive-ldp 2.8 (coefficients by a discrete cosine transform).
[[nodiscard]] Result<CosineSeries> cosine_series(const std::function<double(const Eigen::VectorXd&)>& function,
                                                 std::size_t variables, std::size_t terms);

}  // namespace undertone::statistics
