#pragma once

#include <optional>

#include "shared/algorithms/mirror/poly_frank_wolfe.hpp"
#include "shared/algorithms/mirror/tree_frank_wolfe.hpp"

/// What one pass of Frank-Wolfe with noised vectors promises in the setup of l_1.
namespace undertone::algorithms {

/// What is public of a run's first gradient, over all silos with weights p_a. Every message of a silo has the same
/// noise multiplier, since none of its records is in two.
struct OnePassFacts {
  double lipschitz = 0.0;       // L: no coordinate of a record's gradient is larger
  double noise_variance = 0.0;  // v: of a coordinate of the weighted mean, sum p_a^2 sigma_a^2
  double records = 0.0;         // b: 1 / sum p_a^2/b_a, b_a the records of silo a that it is of; > 0
};

/// A bound on E F(output) - min F over the population whose independent draws the records are, for convex losses, with
/// D the set's l1 diameter and beta the smoothness, where neither L nor beta is passed (so that nothing is clipped),
/// and silos' records have one law:
///   2 beta D^2/2^(T+1) + D sqrt(2 ln(2d) P),
///   P = v (1 + sum_j r_j^2) + (L^2/b) (1 + sum_j 2^-j r_j^2),  r_j = min(2^(j+1), 2 beta D/L),  j = 1 .. T.
/// Proof: between a parent and its right child at depth j x moves by 2 D 2^-j at most, so that a record's difference is
/// at most C_j = min(2 L, 2 beta D 2^-j) = L 2^-j r_j, over 2^-j of the root's records: its noise has standard
/// deviation sqrt(v) r_j, and its sampling error is sub-Gaussian with proxy C_j^2 2^j/b (Hoeffding; given the past, so
/// that proxies add up). A leaf adds up a root and at most T such. E max over 2d signed coordinates is at most sqrt(2
/// ln(2d) P). Steps 2/(k+1), k = 1 .. 2^(T+1) - 2, are those of `frank_wolfe_risk`, with Gamma = beta D^2. Rounding by
/// lattices, far below the noise, is not counted.
/// @return nothing where the set is not in the setup of l_1
/// Source: spec non-euclidean A3 and 3.3; Asi, Feldman, Koren and Talwar 2021, Theorem 6, whose constants it gives.
[[nodiscard]] std::optional<RiskBound> one_pass_risk(const TreeFrankWolfeSettings& settings, const OnePassFacts& facts);

/// The same for the recursive method of W rounds and step eta:
///   (1 - eta)^(W+1) L D + sum_t (1 - eta)^(W-t) (eta D sqrt(2 ln(2d) P_t) + eta^2 beta D^2/2), t = 0 .. W,
///   P_0 = v + L^2/b,  P_t = (1 - eta)^2 (P_(t-1) + c^2 Q) + eta^2 Q,
///   Q = (2W)^2 v + 2W L^2/b,  c = min(2, beta eta D/L).
/// Proof: d_t - grad F(x_t) = (1 - eta) (that of t-1 + D's error) + eta G's error; a part has 1/(2W) of the first
/// gradient's records, a step is at most eta D long, and F(x_0) - min F at most L D.
/// Source: spec non-euclidean B1 and 3.3; Bassily, Guzman and Nandi 2021, Lemma 6, with constants that are proven here.
[[nodiscard]] std::optional<RiskBound> one_pass_risk(const PolyFrankWolfeSettings& settings, const OnePassFacts& facts);

/// Of whichever of the two the method is. @return nothing of others
[[nodiscard]] std::optional<RiskBound> one_pass_risk(const Method& method, const OnePassFacts& facts);

}  // namespace undertone::algorithms
