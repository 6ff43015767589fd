#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "shared/base/random_source.hpp"
#include "shared/base/result.hpp"

namespace undertone::statistics {

/// Losses f(t), t = y <w, x> in [-1, 1] with y = +-1: convex, 1-Lipschitz, smoothed so that a polynomial comes near f'.
enum class MarginLoss : std::uint8_t {
  Hinge,    // [1/2 - t]_+
  Logistic  // ln(1 + e^(-t)) at four times the margin, over 4
};
/// "hinge", "logistic"
[[nodiscard]] std::string_view to_string(MarginLoss loss) noexcept;
/// f'(t) of the smoothed loss. @param smoothing b > 0: of the hinge 1/2 (-1 + (t - 1/2) / sqrt((t - 1/2)^2 + b^2)).
/// Source: spec noninteractive-ldp 2.6 (a).
[[nodiscard]] double slope_of(MarginLoss loss, double smoothing, double margin);
/// The largest |f''|.
[[nodiscard]] double curvature_of(MarginLoss loss, double smoothing);

/// A polynomial near a loss's slope on [-1, 1], and how near: |P - f'| <= error there.
struct SlopePolynomial {
  Eigen::VectorXd coefficients;  // [degree + 1]: of powers of t, or of Bernstein's basis at s = (1 + t) / 2
  double error = 0.0;
};
/// Chebyshev's, in powers of t. Source: spec noninteractive-ldp 2.6 (b).
[[nodiscard]] SlopePolynomial chebyshev_slope(MarginLoss loss, double smoothing, std::size_t degree);
/// Bernstein's, whose coefficients are the slope at 2 j / degree - 1. Source: the same, F4.
[[nodiscard]] SlopePolynomial bernstein_slope(MarginLoss loss, double smoothing, std::size_t degree);

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
