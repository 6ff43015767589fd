#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// c sum_j s_j^a over magnitudes s >= 0 with sum s <= 1: what the potentials of norms of groups and of singular values
/// are made of.
struct PowerPotential {
  double coefficient;  // c > 0
  double exponent;     // a in (1, 2]

  /// c a s^(a-1), the derivative in one magnitude s >= 0.
  [[nodiscard]] double slope(double magnitude) const;
  /// The s with that derivative. @param slope >= 0
  [[nodiscard]] double magnitude(double slope) const;
  /// @param magnitudes >= 0
  [[nodiscard]] double value(const Eigen::Ref<const Eigen::VectorXd>& magnitudes) const;

  /// argmin of c sum s^a - <slopes, s> over {s >= 0, sum s <= 1}, as its slopes: each becomes max(0, slope - tau) with
  /// the least tau >= 0 that keeps the magnitudes' sum at 1.
  /// @param slopes >= 0, finite; in place
  void project(Eigen::Ref<Eigen::VectorXd> slopes) const;
};

}  // namespace undertone::geometry
