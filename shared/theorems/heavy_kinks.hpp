#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// These theorems are for convex losses that may have kinks and whose records' subgradients have a bounded moment, the
/// largest over the domain of each record: E sup_w |g|^(2k) <= r^(2k). The job's order is 2k, which has to be above 2.
/// Phase j of K reads n_j records of its own, of half as many as the phase before, and makes T_j = max{2, T/2^(j-1)}
/// steps on
///   the mean loss + lambda_j/2 |w - c|^2,  lambda_j = q^(j-1) lambda_1, c where the phase before ended.
/// No regulariser: the phases are on the silos' losses alone. The noise sigma_j^2 is that of T rounds on n_j records.
///
/// What is chosen has the least bound, of T = 2, 4, .., 2^15 (the first within a tenth of the least), of K and of q =
/// 2, 4, .., 32; with T_j for T:
///   C_j = r (4/((k-1) a_j))^(1/(2k)), a_j = 4 l d sigma_j^2/(T C^2), l = max{1, ln T}; eta_j = 2 l/(lambda_j T)
///   Q_j = r^2 e^-l + 4 B_j^2 + (4 l/T)(4 r^2 + d sigma_j^2),  B_j = r^k/((k-1) C_j^(k-1))
///   bound = lambda_1 D^2/2 + sum_j 2 r^2/(lambda_j n_j M) + sum_(j>=2) lambda_j Q_(j-1)/(2 lambda_(j-1)^2)
///           + r sqrt(Q_K)/lambda_K
/// with D the distance of the start to the optimum, and lambda_1 the least point of that.
/// Proof: let y_j be the least point of phase j over W. (1) For every y that does not depend on the phase's records, E
/// F(y_j) - F(y) <= 2 r^2/(lambda_j n_j M) + lambda_j/2 E |y - c|^2 (Propositions 160 to 162). With y the optimum at
/// first, then y_(j-1), the sum telescopes; what is left is E F(w) - F(y_K) <= r E |w - y_K| for the output w. (2) E
/// |w - y_j|^2 <= Q_j/lambda_j^2 where phase j ends: with x = eta lambda <= 1 a step is (1 - x)(w_t - y) - eta (g +
/// lambda (y - c)), and <v + lambda (y - c), w_t - y> >= 0 for the mean subgradient v at w_t, since y is the least
/// point. What clipping takes away is at most B in the mean square (Lemma 158, with the 2k-th moment), and costs x/2 of
/// the distance and 2 eta B^2/lambda. Hence E |w_(t+1) - y|^2 <= (1 - x/2) E |w_t - y|^2 + 2 eta B^2/lambda + eta^2 (4
/// r^2 + d sigma^2): the objective is lambda-strongly convex with the least point y, so that lambda |y - c|^2 <= <v_c,
/// c
/// - y> for the mean subgradient v_c at c, and E |lambda (y - c)|^2 <= r^2, at the start, too.
/// The source has T_j = 2 n_j^p ln(4 n_j^p) rounds and balls of radius 2 L/lambda_j, for a worst-case constant L; none
/// is needed here. Source: Theorems 50, 163; spec heavy-tailed 5.1, 5.2, E6.
/// @pre facts().moment; facts().lipschitz is 1, so that noise is that of a clip of 1
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_localized(const TheoremConditions& conditions);

/// Stages of such phases for strongly convex losses, on blocks of records of which each has twice as many as the one
/// before: stage i >= 2 has D_i^2 = min{diameter^2, 2 bound_(i-1)/mu}. Of 1 to ceil(log2 log2 n) stages, the number
/// with the least bound of the last. Source: Theorems 56, 165; spec heavy-tailed 5.3.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_staged(const TheoremConditions& conditions);

}  // namespace undertone::theorems
