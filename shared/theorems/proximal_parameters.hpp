#pragma once

#include "shared/algorithms/proximal/prox_svrg.hpp"
#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// The proximal-PL constant at a step 1/alpha of a sum with modulus mu, of which the proximal step takes l2:
/// alpha mu/(alpha + l2). Along the line from w to w*, at t = mu/(alpha + l2) of the way, what strong convexity gives
/// pays for the squared distance.
[[nodiscard]] double proximal_modulus(double mu, double l2, double step_size);

/// Every round a part of the records of its own, K = floor(n/R): Theorems 40, 144, for a composite F with the
/// proximal-PL constant mu. R = ceil(2 kappa ln((mu Delta/L^2) min{Mn, eps^2 n^2 M/(d ln(1/delta))})); shuffled,
/// Theorem 40.2, with M^2 for M in its second argument and delta < 1/2, epsilon <= 15 alone.
[[nodiscard]] Result<TheoremChoice> choose_proximal_sgd(const TheoremConditions& conditions);

/// FedProx-PL-SVRG: Theorems 42, 148, with R = 48 kappa steps a restart, which provably halve the gap (misprint M7),
/// and E = ceil(R/Q) epochs: at least the source's ceil(RK/n), since Q = floor(n/K). The noise of differences is that
/// of a clip to 2L, so the settings name no smoothness.
[[nodiscard]] Result<TheoremChoice> choose_prox_svrg(const TheoremConditions& conditions);
/// Its bound where all silos answer, at any noise: what the accountant finds for draws of records is known once plans
/// are calibrated. Of silos that are drawn in every round none is known: the source draws them once an epoch.
/// @param noise_variance s_1^2 + s_2^2 of anchors and of differences, per coordinate of the mean over silos
/// @see prox_svrg_risk
[[nodiscard]] double prox_svrg_bound(const algorithms::ProxSvrgSettings& settings, const TheoremFacts& facts,
                                     double noise_variance);

/// FedProx-SPIDER: Theorems 44, 149. The period is lowered until q <= 1/(eta^2 tau_2^2) with doubled noise (misprint
/// M8): for M = N, q R <= eps^2 n^2 M / (64 d ln(1/delta)).
[[nodiscard]] Result<TheoremChoice> choose_spider(const TheoremConditions& conditions);
/// Algorithm 24 and Theorem 45, SPIDER on binomial sums, with M for the source's N, which credits the choice of silos:
///   R = ceil((eps n M/L) sqrt(Delta beta/(d ln^3(d n M/delta))) sqrt q),
///   q = floor(min{(eps n M L/sqrt(Delta beta d ln^3(R d/delta)))^(2/3), M n if M < N}/2), eta = 1/(2 beta),
/// the largest such q, since R grows with it; M >= eps N/(4 sqrt(2 R ln(1/delta))). Source: federated-core 3.7.
[[nodiscard]] Result<TheoremChoice> choose_shuffled_spider(const TheoremConditions& conditions);
/// Algorithm 25: no theorem of its own, so no bound.
[[nodiscard]] Result<TheoremChoice> choose_spider_alternate(const TheoremConditions& conditions);

}  // namespace undertone::theorems
