#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// Noised totals of x and x x' of records with every |x_j| <= 1, from one release of (x / R, svec(x x') / (sqrt(2)
/// R^2)), R = sqrt(d), with independent Gaussian noise of one standard deviation on every coordinate.
/// Source: spec statistics 3, 8, 9.
struct VectorMoments {
  std::int64_t records = 0;   // n, public
  Eigen::VectorXd first;      // [d] sum x
  Eigen::MatrixXd second;     // [d, d] sum x x', symmetric
  double first_stddev = 0.0;  // s1 = R sigma, of every entry of `first`
  double cross_stddev = 0.0;  // s2 = R^2 sigma, of entries off the diagonal of `second`; sqrt(2) s2 on it

  [[nodiscard]] Eigen::Index dimension() const noexcept { return first.size(); }
};
/// @param released [d + d (d + 1) / 2] totals: x / R, then the upper triangle of svec row by row (1,1), (1,2), ..
/// @param noise_stddev of each of them, > 0
/// @return an error where the size fits no d, a number is not finite or records < 1
[[nodiscard]] Result<VectorMoments> unpack_moments(const Eigen::VectorXd& released, std::int64_t records,
                                                   double noise_stddev);
/// d of that many released numbers, 0 where none.
[[nodiscard]] Eigen::Index moments_dimension(Eigen::Index released) noexcept;

}  // namespace undertone::statistics
