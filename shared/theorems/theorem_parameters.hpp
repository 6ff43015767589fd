#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// The theorems whose parameters a job may ask for; theorem_parameters.cpp has a row for each.
enum class TheoremName : std::uint8_t {
  MinibatchConvex,                  // Theorems 34, 106
  MinibatchStronglyConvex,          // Theorems 34, 106
  OnePassConvex,                    // Theorem 124, on the regularised objective
  OnePassConvexDirect,              // the same rate without regularising
  OnePassStronglyConvex,            // Theorem 124, multi-stage
  AcceleratedConvex,                // Theorem 129, on the regularised objective
  AcceleratedConvexDirect,          // the same rate without regularising
  AcceleratedStronglyConvex,        // Theorem 129, multi-stage
  ProximalSgd,                      // Theorem 144: proximal-PL
  ProxSvrg,                         // Theorem 148: proximal-PL, restarts
  Spider,                           // Theorem 149: non-convex
  SpiderAlternate,                  // Algorithm 25, which has no theorem: Theorem 149's rounds at a period of 2
  LocalizedConvex,                  // federated-core 3.8
  LocalizedStronglyConvex,          // federated-core 3.8
  ConstrainedMirrorConvex,          // constraint-geometry 2.1
  ConstrainedMirrorStronglyConvex,  // constraint-geometry 2.2
  ConstrainedFrankWolfe,            // constraint-geometry 2.6
  NoisyMirrorConvex,                // non-euclidean B2
  NoisyFrankWolfeConvex,            // non-euclidean B3
  RegularConvex,                    // the better of both
  LocalizedMirrorConvex,            // non-euclidean A2, FED-A2
  StagedMirrorStronglyConvex,       // non-euclidean A4
  TreeFrankWolfeConvex,             // non-euclidean A3, noised vectors
  PolyFrankWolfeConvex,             // non-euclidean B1, noised vectors
  PrivateTreeFrankWolfeConvex,      // non-euclidean A3, selections
  StagedTreeStronglyConvex,         // non-euclidean A4, selections
  LpSgdConvex,                      // non-euclidean B4
  HeavyTailedConvex,                // Theorem 59
  HeavyTailedStronglyConvex,        // Theorem 61
  HeavyTailedProximal,              // Theorem 63: proximal-PL
  HeavyTailedLocalized,             // Theorem 50
  HeavyTailedStaged,                // Theorem 56
};

/// Every theorem there is, in the order of the reference. Nothing else lists them.
[[nodiscard]] std::vector<TheoremName> theorem_names();

/// "minibatch_convex": as a job names it.
[[nodiscard]] std::string_view to_string(TheoremName name) noexcept;

/// The losses that a theorem is of.
[[nodiscard]] TheoremLosses losses_of(TheoremName name) noexcept;
/// Whether its L bounds every coordinate of a record's gradient where a job says so, rather than the gradient's norm.
[[nodiscard]] bool bounds_coordinates(TheoremName name) noexcept;

/// Returns whether it chooses the clip by a moment of the records' gradients, in place of a bound on each.
[[nodiscard]] bool takes_moments(TheoremName name) noexcept;

/// Rounds, steps, batches, stages, periods and restarts by the formulas of federated-core 3, with its corrections of
/// the source (section 9). What is a rate "up to constants" there is a formula with constant 1 here.
/// @param problem the domain, the regulariser and the dimension of the job; w_0 is its start
/// @return an error that names the theorem, the condition that fails and both of its numbers; more than 1,000,000
///   rounds are refused; an algorithm that cannot run on the domain or the regulariser is refused
[[nodiscard]] Result<TheoremChoice> choose_by_theorem(TheoremName name, const TheoremFacts& facts,
                                                      const algorithms::Problem& problem, PlannedNoise noise);

/// The smoothness beta of the Moreau envelope f_beta on which a theorem's algorithm runs for a loss that is L-Lipschitz
/// and not smooth: f_beta <= f <= f_beta + L^2/(2 beta). In the unit of L/D, or of mu.
///   minibatch:                   (L sqrt M / D) / (1/sqrt n + sqrt(d ln(1/delta))/(eps n))
///   minibatch, strongly convex:  mu M / (1/n + d ln(1/delta)/(eps^2 n^2))
///   accelerated:                 eps n sqrt(M) L / (sqrt(d) D)                                  (Theorem 131)
///   accelerated, strongly convex: mu M eps^2 n^2 / d                                            (Theorem 131)
///   localized:                   (L sqrt M / D) min{sqrt n, eps n/sqrt(d ln(1/delta))}          (3.8 (a))
/// @param facts whose smoothness is not read
/// @return an error for the theorems without such a form. Source: federated-core 3.1, 3.2, 3.8.
[[nodiscard]] Result<double> envelope_smoothness(TheoremName name, const TheoremFacts& facts,
                                                 const algorithms::Problem& problem);

/// The strong convexity of the envelope f_beta of a mu-strongly convex loss: mu beta / (mu + beta).
/// @param strong_convexity mu > 0 @param smoothness beta > 0
[[nodiscard]] double envelope_strong_convexity(double strong_convexity, double smoothness);

}  // namespace undertone::theorems
