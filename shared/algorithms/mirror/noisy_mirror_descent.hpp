#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/algorithms/mirror/mirror_descent.hpp"
#include "shared/geometry/regular_norm.hpp"

namespace undertone::algorithms {

struct NoisyMirrorDescent;

struct NoisyMirrorDescentSettings {
  using Algorithm = NoisyMirrorDescent;
  Problem problem;
  geometry::MirrorMap map;   // h with Phi = h/mu, mu the strong convexity of h in l_p: @see NoisyMirrorDescent
  std::uint64_t rounds = 0;  // T
  double step_size = 0.0;    // eta, of Phi

  /// q of the dual norm l_q, 1/p + 1/q = 1: in [2, infinity].
  [[nodiscard]] double dual_exponent() const;
  /// l_r, beside l_q: the norm that noise of generalised Gaussian law is of; the Gaussian law for r = 2.
  [[nodiscard]] geometry::RegularNorm noise_norm() const;
  /// E ||noise||_q^2 at most, of the weighted mean over at most so many silos with noise of their own, whether it is
  /// Gaussian or of the generalised law in l_r: a job may ask for either. Of z_i of that law
  ///   E ||sum w_i z_i||_q^2 <= E ||sum w_i z_i||_r^2 <= a sum w_i^2 E ||z_i||_r^2 = (a/c) variance
  /// with a of `sum_growth` and c of `coordinate_share`; of the Gaussian law it is `noise_norm_squared`. For r = 2 the
  /// two laws are one. @param variance of one coordinate of the weighted mean @param silos N >= 1
  [[nodiscard]] double noise_squared(double variance, double silos) const;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] std::string source() const;
  /// With p as "norm", r as "noise_norm" and kappa(r) as "regularity".
  [[nodiscard]] MethodNumbers numbers() const;
  [[nodiscard]] Extent extent() const { return {rounds, 1}; }
  [[nodiscard]] MethodTraits traits() const;
  /// sigma^2 = 8 kappa L^2 ln(1/delta)/(eps n)^2 of a mean over K records, eps <= 1 and delta < 1/n, as Algorithm 2
  /// prints it: of the density exp(-||z||_r^2/(2 sigma^2)), whose release is rho-zCDP with rho = kappa (2L/K)^2/
  /// (2 sigma^2). As a shift, sqrt(2 rho) = sqrt(kappa) 2L/(K sigma) = eps n/(K sqrt(2 ln(1/delta))).
  /// It is a misprint: T rounds need T times the variance, which is what the proof of Theorem 10 reckons with. With the
  /// T and K of that theorem rho is eps T/ln(1/delta) for one round alone, before any credit for the draw.
  /// Source: Bassily, Guzman and Nandi 2021, Algorithm 2; spec non-euclidean 5.14.
  [[nodiscard]] Result<NoiseShifts> theorem_noise(const NoiseFacts& facts) const;
  /// With V the most that D_Phi is from the start, G the longest gradient in l_q, the regulariser's included, and B^2
  /// of `noise_squared`:
  ///   V/(eta T) + eta (G + B)^2/2, in l2 eta (G^2 + B^2)/2.
  /// @return nothing where the set is not bounded, nor beside a regulariser where the domain is not
  /// Source: the proof of Theorem 10; Asi, Feldman, Koren and Talwar 2021, Lemma 3.1.
  [[nodiscard]] std::optional<RiskBound> predicted_risk(releases::ClipNorm clip, double noise_variance,
                                                        bool modulus_known) const;
};

/// The bound of `predicted_risk`. @param longest G > 0, finite @param noise_squared B^2 >= 0
/// @pre the set is bounded
[[nodiscard]] double noisy_mirror_risk(const NoisyMirrorDescentSettings& settings, double longest,
                                       double noise_squared);

/// Noisy mirror descent in the setup of l_p, 1 <= p < 2, with the potential that matches its noise,
/// Phi(x) = (kappa/2) ||x||_{r*}^2, 1-strongly convex in l_p:
///   x^1 = argmin over X of Phi
///   for t = 1 .. T:  ask every silo for its noised mean gradient at x^t, each record's clipped in l_q
///                    x^{t+1} = argmin over x in X of <g, x> + D_Phi(x, x^t)/eta
///   output the mean of x^1 .. x^T
/// This is MirrorDescent with h = ||x||_{r*}^2/(2 (r* - 1)) = mu Phi and steps mu eta. That it starts at the least
/// point takes the place of a potential with its centre where a run starts. Losses need not be smooth.
/// Source: Bassily, Guzman and Nandi 2021, Algorithm 2, Theorem 10; spec non-euclidean 1.4 and B2, with 5.4 and 5.14.
struct NoisyMirrorDescent {
  static constexpr std::string_view kName = "noisy_mirror_descent";
  /// h over the domain, whose power is r* = r/(r - 1) as it is: below the 1 + 1/log2 d that other potentials of l_1
  /// stop at. @param norm p in [1, 2)
  /// @param radius of the ball of l_p around 0 that the model lies in, with the domain whole_space: where r = q alone,
  /// so that r* = p and the potential's own ball is that of l_p
  /// @return an error where p or the radius is out of range, or the domain has no exact step
  [[nodiscard]] static Result<geometry::MirrorMap> potential(const Problem& problem, double norm,
                                                             std::optional<double> radius);
  [[nodiscard]] static ParsedMethod parse(config::Section& section, const Problem& problem);
  /// @return an error where there is no round, the step is no step, or the problem is none of mirror descent
  /// @see check_mirror_problem
  [[nodiscard]] static Result<std::unique_ptr<MirrorDescent>> create(const NoisyMirrorDescentSettings& settings);
  /// What it asks, in order: T gradient sums over the training block.
  [[nodiscard]] static planning::Schedule schedule(const NoisyMirrorDescentSettings& settings,
                                                   const GradientShape& shape);
};

}  // namespace undertone::algorithms
