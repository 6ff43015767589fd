#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/geometry/domain.hpp"
#include "shared/mechanisms/gaussian_sum/gaussian_sum.hpp"
#include "shared/releases/cost.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// What is public about a minimisation before its noise is drawn.
struct ObjectivePerturbationFacts {
  double record_norm;       // r, enforced: every record's vector is scaled to an l2 norm of at most this
  std::int64_t records;     // n of the silo
  Eigen::Index dimension;   // d
  geometry::Domain domain;  // C: the whole space, an l2 ball, a box, an l1 ball or a simplex
  double start_norm;        // at least ||theta_0||
};

/// One silo's private minimiser of a logistic loss. The ideal release is the minimiser over C of
///   J(theta) = (1/n) sum_i ln(1 + exp(-<v_i, theta>)) + (zeta/2) ||theta - theta_0||^2 + <b, theta>,  b ~ N(0, s^2 I),
/// v_i the record's vector times its label -1 or 1, ||v_i|| <= r. Gradients are at most L = r long, and Hessians are of
/// rank one with norms of at most lambda = r^2/4. What leaves the silo is that minimiser, off by at most rho, on a
/// lattice with Gaussian noise of sensitivity 2 rho. Neighbouring data sets differ in one replaced record; n is public.
///
/// Privacy of the ideal release.
///  (1) With M = theta + nu stand for the minimiser and nu = -(grad F(theta) + b), F the sum of the first two terms.
///      Optimality says that nu is in the normal cone of C at theta: theta is M's projection P(M), nu is M - P(M), and
///        b = b_D(M) = -grad F_D(P(M)) - (M - P(M))
///      is a one-to-one map of R^d to R^d, Lipschitz both ways because F is strongly convex. So M has a density, that
///      of b at b_D(M) times |det(H Q + I - Q)|, H the Hessian of F at theta and Q the derivative of P, which exists
///      almost everywhere and is symmetric, 0 <= Q <= I. We bound the quotient of these densities for neighbours D and
///      D'; theta is post-processing of M, whatever the set is.
///  (2) Determinants: with A the Hessian without the differing record, A >= zeta I, one more record adds (h/n) v v^T,
///      h <= 1/4, and multiplies the determinant by 1 + (h/n) v^T Q (A Q + I - Q)^-1 v. The matrix there is
///      (A + Q^-1 - I)^-1 where Q is regular, else a limit of such, hence between 0 and I / zeta. The factors of the
///      two records are between 1 and 1 + lambda/(n zeta), and so is the larger determinant over the smaller: eps_J =
///      ln(1 + lambda/(n zeta)).
///  (3) Densities of b: b_D'(M) = b_D(M) + Delta, Delta the difference of two records' gradients at theta over n, of a
///      length of at most 2 L/n, in the plane of v and v', which does not depend on b. The logarithm of the quotient is
///      (2 <b, Delta> + ||Delta||^2) / (2 s^2) <= mu t + mu^2/2, mu = 2 L/(n s), t the length of b_D's projection on
///      that plane over s. Under D's own law b_D is the noise that was drawn, and t is at most chi with 2 degrees of
///      freedom, P[t > x] = exp(-x^2/2). With t_0 where the bound is eps_b = mu t_0 + mu^2/2, the release of M is
///      (eps_J + eps_b, delta_0)-DP for
///        delta_0 = E[max(0, 1 - exp(mu (t_0 - t)))] = mu e^eps_b sqrt(2 pi) P[N(0, 1) > t_0 + mu],
///      the hockey-stick divergence being at most that of any bound on the quotient. The same holds with D and D'
///      exchanged. (That the bound fails with probability exp(-t_0^2/2) is true too, some fifty times larger.)
///
/// Privacy of what leaves.
///  (4) Given D, M tells b, and with it everything that the silo computes before the noise of the output. With b cut to
///      a public length, the computed point is within rho of theta: what the iterations leave, rounding, and b's
///      lattice are in it. Given M the two data sets' points are at most 2 rho apart: a Gaussian release that composes
///      adaptively with the release of M. By Kairouz, Oh and Viswanath 2015 the latter is post-processing of one that
///      tells everything with probability delta_0 and is epsilon-DP else.
///  (5) b is longer than s (sqrt d + t_1) with probability below exp(-t_1^2/2) = 2^-80. Where it is not, the vectors
///      of both data sets stay as they are, for the public length is longer than that by 2 L/n. So cutting adds 2^-80
///      to the failure.
/// An accountant composes cost().pure, cost().gaussian, and (0, failure())-DP.
///
/// Accuracy. With a gradient that is off by at most e, the accelerated method below holds a bound on its potential:
///   Phi_k+1 <= (1 - 1/q) Phi_k + e^2 (1/zeta + 1/S),  q = sqrt(3 S/zeta),  S >= lambda + zeta,
///   Phi_k = J(x_k) - J* + (zeta/4) ||q x_k - theta - (q - 1) x_k-1||^2,
/// for Young's inequality makes f(y) - e^2/zeta and the computed gradient a model of f, from below with modulus zeta/2
/// and from above with 3 S/2 and that error (an inexact oracle), and the proof of Beck 2017, Theorem 10.42 needs no
/// more. Then ||x_K - theta||^2 <= (2/zeta) (exp(-K/q) Phi_0 + q e^2 (1/zeta + 1/S)). The start is the projection of
/// theta_0, where the loss is at most l_0 = ln 2 + r ||theta_0||, so that for ||b|| <= B
///   Phi_0 <= l_0 + B^2/zeta  and  ||x_0 - theta|| <= R = B/zeta + sqrt(l_0/zeta);
/// points at which gradients are computed, a convex combination of x_k and what the norm in Phi_k is of, stay within
/// 2 R of theta but for what rounding adds. e bounds every rounding of a step, one of a point or of a projection
/// counting as S times as much of the gradient. K is a function of public numbers, and always so many steps are made.
/// Source: Kifer, Smith and Thakurta 2012; Talwar, Thakurta and Zhang, Algorithm 2, as corrected in spec
/// constraint-geometry 2.3, 4.3 (F5, F6); inexact oracles: Devolder, Glineur and Nesterov 2013.
class ObjectivePerturbation {
 public:
  static constexpr Eigen::Index kDimensionMax = Eigen::Index{1} << 16;
  static constexpr std::int64_t kRecordsMax = std::int64_t{1} << 30;
  static constexpr double kEpsilonMax = 16.0;
  static constexpr std::int64_t kIterationsMax = std::int64_t{1} << 20;
  static constexpr int kNoiseLog2Stddev = 40;  // of b, in lattice units: the finest that the sampler has

  /// Splits epsilon = eps_J + eps_b so that d s^2 + (zeta W)^2 is least, the squares of the noise's and of the
  /// regulariser's pull at a distance W from theta_0: the diameter of C, at most 32/r.
  /// The output's noise is a sixteenth of s/S, which is the least deviation that b can give the minimiser in an
  /// unconstrained direction; it is more where doubles are not accurate enough for that. In what unit theta is measured
  /// does not matter: r scales it.
  /// @param facts record_norm in [2^-20, 2^20], records in 1 .. kRecordsMax, dimension in 1 .. kDimensionMax,
  /// start_norm in [0, 2^40]
  /// @param epsilon of the ideal release, in [2^-20, kEpsilonMax] @param failure delta_0, below 1/2
  /// @param output_shift mu_o of the output's noise, at most 1
  /// @return an error for a value out of range, for a set whose projection's rounding has no bound here, and where
  /// doubles are too coarse (the output would need more noise than s/S) or more than kIterationsMax steps are needed:
  /// fewer records, a smaller set or a larger output_shift are the remedy
  [[nodiscard]] static Result<ObjectivePerturbation> create(const ObjectivePerturbationFacts& facts,
                                                            releases::Epsilon epsilon, releases::Delta failure,
                                                            releases::GaussianShift output_shift);

  [[nodiscard]] const ObjectivePerturbationFacts& facts() const noexcept { return facts_; }
  /// pure: epsilon of the ideal release, never above the one asked for; gaussian: mu^2 of the output's noise.
  [[nodiscard]] releases::Cost cost() const;
  /// delta_0 + 2^-80, rounded up: it comes off the account's delta.
  [[nodiscard]] releases::DeltaAmount failure() const noexcept { return failure_; }

  [[nodiscard]] double jacobian_epsilon() const noexcept { return jacobian_epsilon_; }  // eps_J
  [[nodiscard]] double noise_shift() const noexcept { return noise_shift_; }            // mu = 2 L/(n s)
  [[nodiscard]] double regularisation() const noexcept { return regularisation_; }      // zeta
  [[nodiscard]] double smoothness() const noexcept { return smoothness_; }              // S of J
  /// s, of each coordinate of b, in the unit of a gradient.
  [[nodiscard]] double noise_stddev() const noexcept { return std::ldexp(noise_step_, kNoiseLog2Stddev); }
  /// The length that b is cut to.
  [[nodiscard]] double noise_norm_max() const noexcept { return noise_norm_max_; }
  /// rho: what is rounded to the output's lattice is within this of the ideal minimiser, in the unit of theta.
  [[nodiscard]] double accuracy() const noexcept { return accuracy_; }
  /// K gradients over all records, projections of which each step is made, x = P(y - step_size grad J(y)), and
  /// y = x + momentum (x - the x before).
  [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }
  [[nodiscard]] double step_size() const noexcept { return 1.0 / (1.5 * smoothness_); }
  [[nodiscard]] double momentum() const noexcept;
  /// Of the output: units of `lattice.step`, noise of deviation 2^log2_stddev units. Its clip is rho and rounding to
  /// the lattice, in units.
  [[nodiscard]] const GaussianLattice& output() const noexcept { return output_; }

  /// b of drawn integers, cut. @param drawn [d], rounded Gaussians of deviation 2^kNoiseLog2Stddev
  [[nodiscard]] Eigen::VectorXd noise_vector(std::span<const std::int64_t> drawn) const;
  /// A computed minimiser in units of the output's lattice, rounded to nearest. Its noise is still to be added.
  /// @param point [d], what the iterations end at @return [d]
  [[nodiscard]] std::vector<std::int64_t> output_units(const Eigen::Ref<const Eigen::VectorXd>& point) const;

 private:
  explicit ObjectivePerturbation(const ObjectivePerturbationFacts& facts) : facts_(facts) {}
  ObjectivePerturbationFacts facts_;
  releases::EpsilonAmount epsilon_;
  releases::DeltaAmount failure_;
  double jacobian_epsilon_ = 0.0;
  double noise_shift_ = 0.0;
  double regularisation_ = 0.0;
  double smoothness_ = 0.0;
  double noise_step_ = 0.0;
  double noise_norm_max_ = 0.0;
  double accuracy_ = 0.0;
  std::int64_t iterations_ = 0;
  GaussianLattice output_;
};

/// Standard deviation of b, as printed: L sqrt(2 ln(1/delta)) / (n epsilon). It is NOT private under replacement of a
/// record, and only compared with. @see printed_objective_delta
/// @param lipschitz L > 0 @param records n >= 1 @return in the unit of L. Source: Talwar, Thakurta, Zhang, Algorithm 2.
[[nodiscard]] double printed_objective_stddev(releases::Epsilon epsilon, releases::Delta delta, double lipschitz,
                                              std::int64_t records);
/// The same of Kifer, Smith and Thakurta 2012, doubled for replacement: 2 L sqrt(8 ln(2/delta) + 4 epsilon)/(n
/// epsilon). It needs zeta >= 2 lambda/(n epsilon). Source: spec constraint-geometry 2.3 (F5).
[[nodiscard]] double corrected_objective_stddev(releases::Epsilon epsilon, releases::Delta delta, double lipschitz,
                                                std::int64_t records);
/// The delta that the printed noise has at epsilon where (epsilon, delta) was asked of it, on losses d theta +
/// (a/2) theta^2, d in [-1, 1], a towards 0: that of a Gaussian release of shift sqrt(2) epsilon / sqrt(ln(1/delta)).
/// Source: spec constraint-geometry 5, T4.
[[nodiscard]] double printed_objective_delta(releases::Epsilon epsilon, releases::Delta delta);

}  // namespace undertone::mechanisms
