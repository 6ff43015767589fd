#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"

namespace undertone::statistics {

/// A convex loss f(t) with |f'| <= 1: of a margin t = y <w, x>, or of a residual t = <w, x> - y. Its slope is constant
/// between kinks, but for the logistic one's. Every convex loss with such slopes is a limit of those with kinks.
/// Source: spec noninteractive-ldp 2.6 (a), (g) ([003] Lemma 32).
class LipschitzLoss {
 public:
  static constexpr std::size_t kKinksMax = 64;
  static constexpr double kJumpMin = 1e-6;

  /// [1/2 - t]_+, of a margin.
  [[nodiscard]] static LipschitzLoss hinge();
  /// ln(1 + e^(-4 t)) / 4, of a margin.
  [[nodiscard]] static LipschitzLoss logistic();
  /// |t|, of a residual.
  [[nodiscard]] static LipschitzLoss absolute();
  /// max{-p t, (1 - p) t}, of a residual: <w, x> is then near the p-quantile of y. @param probability p in [0, 1]
  [[nodiscard]] static LipschitzLoss quantile(double probability);
  /// @param kinks where the slope rises: 1 to kKinksMax, finite, ascending @param slopes one more, in [-1, 1], each
  /// kJumpMin or more above the one before
  [[nodiscard]] static Result<LipschitzLoss> piecewise(std::vector<double> kinks, std::vector<double> slopes);

  /// f'(t) of the smoothed loss: at each kink s the slope rises by its jump times 1/2 (1 + (t - s) / sqrt((t - s)^2 +
  /// b^2)). The logistic loss is smooth as it is. @param smoothing b > 0
  [[nodiscard]] double slope(double smoothing, double t) const;
  /// No |f''| is larger.
  [[nodiscard]] double curvature(double smoothing) const;
  /// f(t) / unit as a function of t / unit. @param unit > 0 @pre it has kinks
  [[nodiscard]] LipschitzLoss in_unit(double unit) const;

 private:
  LipschitzLoss(std::vector<double> kinks, std::vector<double> slopes)
      : kinks_(std::move(kinks)), slopes_(std::move(slopes)) {}

  std::vector<double> kinks_;  // none: logistic
  std::vector<double> slopes_;
};

/// A polynomial near a loss's slope on [-reach, reach], and how near: |P(t / reach) - f'(t)| <= error there.
struct SlopePolynomial {
  Eigen::VectorXd coefficients;  // [degree + 1]: of powers of u = t / reach, or of Bernstein's basis at (1 + u) / 2
  double error = 0.0;
};
/// Chebyshev's, in powers. @param reach > 0: no |t| is larger. Source: spec noninteractive-ldp 2.6 (b).
[[nodiscard]] SlopePolynomial chebyshev_slope(const LipschitzLoss& loss, double smoothing, std::size_t degree,
                                              double reach = 1.0);
/// Bernstein's, whose coefficients are the slope at reach (2 j / degree - 1). Source: the same, F4.
[[nodiscard]] SlopePolynomial bernstein_slope(const LipschitzLoss& loss, double smoothing, std::size_t degree,
                                              double reach = 1.0);

/// The largest odd degree up to 5 at which the oracle's noise stays small, else 1: sigma^(D + 1) sqrt(D!) < 0.02
/// sqrt(n). Source: spec noninteractive-ldp 2.6 (h).
[[nodiscard]] std::size_t hermite_degree(double noise_stddev, std::int64_t records);
/// Of noised vectors u~ = u + N(0, sigma^2 I) the mean of an oracle that is P(<w, u>) u in expectation, for P in
/// powers: sum_j c_j (H_j u~ - j sigma^2 H_(j-1) w), H_(j+1) = <w, u~> H_j - j sigma^2 |w|^2 H_(j-1). Source: spec
/// noninteractive-ldp 2.6 (h).
[[nodiscard]] Eigen::VectorXd hermite_gradient(const Eigen::Ref<const Eigen::MatrixXd>& noised, double noise_variance,
                                               const SlopePolynomial& slope,
                                               const Eigen::Ref<const Eigen::VectorXd>& point);

/// Of one record's D (D + 1) + 1 noised copies, [p, copies], an oracle that is P(<w, u>) u in expectation, for P in
/// Bernstein's basis: each copy is in one product alone. Source: spec noninteractive-ldp 2.6 (d), F4, F6.
[[nodiscard]] Eigen::VectorXd copies_gradient(const Eigen::Ref<const Eigen::MatrixXd>& copies,
                                              const SlopePolynomial& slope,
                                              const Eigen::Ref<const Eigen::VectorXd>& point);
/// Copies that an oracle of this degree takes.
[[nodiscard]] constexpr std::size_t copies_of(std::size_t degree) noexcept { return degree * (degree + 1) + 1; }

/// The least point of a ball about 0 by projected descent along a gradient that stays the same; the mean of the last
/// half of the points. @param curvature > 0 of what is minimised, noise aside
[[nodiscard]] Eigen::VectorXd least_in_ball(
    const std::function<Eigen::VectorXd(const Eigen::Ref<const Eigen::VectorXd>&)>& gradient, Eigen::Index dimension,
    double radius, double curvature, int steps);

/// What stochastic intermediate gradient descent needs to know, q = 1.
struct IntermediateGradient {
  double radius = 1.0;           // R of the ball
  double curvature = 1.0;        // Lambda
  double gradient_stddev = 1.0;  // sigma of the oracle
  std::uint64_t steps = 1;
};
/// y_T of SIGM: E f(y) - min <= Lambda R^2 / T + sigma R / sqrt(T) + what the oracle is biased by, constants aside.
/// @param oracle called once a step, with the point
/// Source: spec noninteractive-ldp 2.6 (e) (Algorithm 9, Lemma 47).
[[nodiscard]] Eigen::VectorXd intermediate_gradient_descent(
    const std::function<Eigen::VectorXd(const Eigen::Ref<const Eigen::VectorXd>&)>& oracle, Eigen::Index dimension,
    const IntermediateGradient& how);

}  // namespace undertone::statistics
