#pragma once

#include <Eigen/Core>

namespace undertone::geometry {

/// A norm l_r beside l_q, 2 <= r <= q, whose square is smooth, so that sums of independent vectors stay short. With
/// kappa_+ = r - 1 and kappa = kappa_+ d^(2 (1/r - 1/q))
///   ||x + y||_r^2 <= ||x||_r^2 + <grad ||x||_r^2, y> + kappa_+ ||y||_r^2,  ||x||_q^2 <= ||x||_r^2 <=
///   (kappa/kappa_+) ||x||_q^2,
/// which makes l_q kappa-regular: E ||x_1 + .. + x_N||_q^2 <= kappa sum E ||x_i||_q^2 of independent x_i of mean 0.
/// Noise of density exp(-||z||_r^2/(2 sigma^2)) is rho-zCDP with rho = kappa s^2/(2 sigma^2), s the sensitivity in l_q.
/// Source: Bassily, Guzman and Nandi 2021, Section 2, whose exponents are corrected by spec non-euclidean 5.4.
struct RegularNorm {
  double exponent = 2.0;    // r
  double smoothness = 1.0;  // kappa_+
  double regularity = 1.0;  // kappa

  /// r* = r/(r - 1) in (1, 2], of the norm dual to l_r: half its square times kappa is the matching potential.
  [[nodiscard]] double dual_exponent() const noexcept;

  /// The least a that is known to have E ||z_1 + .. + z_N||_r^2 <= a sum E ||z_i||_r^2 of independent z_i of mean 0:
  ///   min{N, kappa_+ - (kappa_+ - 1)/N},
  /// the first by the triangle inequality, the second by smoothness with the longest vector first. a/N falls as N
  /// grows, so that of fewer vectors the mean is no longer. @param count N >= 1
  [[nodiscard]] double sum_growth(double count) const noexcept;
};

/// The l_r with the least kappa: r = min{q, ln d + sqrt(ln^2 d - 2 ln d)}, the least point of ln(r - 1) + 2 ln d/r over
/// [2, q] since that falls up to it and rises beyond; 2 where ln d <= 2, which is d < 8.
/// @param exponent q in [2, infinity] @param dimension d >= 1; both checked
/// Source: spec non-euclidean 1.4, which has it of q = infinity.
[[nodiscard]] RegularNorm regular_norm(double exponent, Eigen::Index dimension);

/// E z_j^2 / E ||z||_r^2 of a coordinate of a vector whose direction has the cone measure of l_r and does not depend on
/// its length, as that of generalised Gaussian noise, where E ||z||_r^2 = d sigma^2:
///   Gamma(3/r) Gamma(d/r)/(Gamma(1/r) Gamma((d+2)/r)),
/// since |z_j|^r/||z||_r^r is Beta(1/r, (d-1)/r). 1/d of l_2. @param exponent r >= 1, finite @param dimension d >= 1
/// Source: spec non-euclidean P3.
[[nodiscard]] double coordinate_share(double exponent, Eigen::Index dimension);

}  // namespace undertone::geometry
