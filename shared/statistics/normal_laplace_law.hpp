#pragma once

#include <vector>

namespace undertone::statistics {

/// The law of N(0, variance) + sum_i L_i, L_i continuous Laplace of scale b_i, all independent.
/// One Laplace variable: closed form. Several: the characteristic function exp(-variance t^2 / 2) prod 1 / (1 + b_i^2
/// t^2), which is real and positive, inverted by a trapezoid sum whose aliasing and truncation are bounded and charged.
/// Source: Gil-Pelaez 1951; Abate and Whitt 1992, section 5, for the errors.
class NormalLaplaceLaw {
 public:
  NormalLaplaceLaw() = default;
  /// @param variance >= 0 @param scales each > 0; one of them, or the variance, is there
  NormalLaplaceLaw(double variance, std::vector<double> scales);

  [[nodiscard]] double variance() const noexcept;
  /// The variance of the normal part; the scales of the others.
  [[nodiscard]] double normal_variance() const noexcept { return normal_variance_; }
  [[nodiscard]] const std::vector<double>& scales() const noexcept { return scales_; }

  /// P[|S| > width], rounded up by some 1e-12, but for one Laplace variable. @param width >= 0
  [[nodiscard]] double outside(double width) const;
  /// The least w with P[|S| > w] <= alpha, to 1e-10 relative, on the side that covers. @param alpha in [5e-11, 1)
  [[nodiscard]] double half_width(double alpha) const;

 private:
  double normal_variance_ = 0.0;
  std::vector<double> scales_;  // descending
};

}  // namespace undertone::statistics
