#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Frank-Wolfe methods of one pass in the setup of l_1, over the l1 ball or the simplex: D is the set's diameter in
/// l_1, L bounds every coordinate of a record's gradient, beta is that from l_1 to l_inf where the facts have it, else
/// that of l2, which is no less. Every silo's records have one law. Logarithms of rates are at least 1, M silos answer,
/// and l1 = ln(1/delta).

/// Trees of noised vectors, T phases. A root has b = 2^T floor(n/(2^T (T + T (T+1)/4))) records; a node's vector leaves
/// once, with noise for the whole (eps, delta), of variance v = d (2L/(b shift))^2/M a coordinate of the root's mean.
///   T = the least point in 1 .. 10 of the bound, algorithms::one_pass_risk.
/// Rate: D (L + beta D) (sqrt(ln d/(n M)) + sqrt(d ln d l1)/(n eps sqrt M)) + beta D^2/2^T.
/// Printed noise is refused: the source's is of selections.
/// Source: spec non-euclidean A3, 3.3, 3.4, after Asi, Feldman, Koren and Talwar 2021, Algorithm 3.
[[nodiscard]] Result<TheoremChoice> choose_tree_frank_wolfe_convex(const TheoremConditions& conditions);

/// Recursive gradients of noised vectors. W differences and W gradients read parts of half of the records, steps are
/// eta = ln W/W.
///   W = the least point of the bound, algorithms::one_pass_risk, among 2, 3, .. that grow by a sixteenth, at most n/4
///       and 1,999. The bound's constants count: the order alone, W^(3/2) = 2 beta D sqrt M n eps/((L + beta D) sqrt(d
///       ln d l1)), has several times as many.
/// Rate: D (L + beta D) (sqrt(ln d/(n M)) + sqrt W sqrt(d ln d l1)/(n eps sqrt M)) + beta D^2 (ln W)/W.
/// Printed noise is refused: the source's is of selections.
/// Source: spec non-euclidean B1, 3.3, after Bassily, Guzman and Nandi 2021, Algorithm 1.
[[nodiscard]] Result<TheoremChoice> choose_poly_frank_wolfe_convex(const TheoremConditions& conditions);

/// Trees whose leaves select a vertex of m; L is the bound on every coordinate. With b(T) as above and w the rho of
/// (eps, delta), (sqrt(l1 + eps) - sqrt(l1))^2,
///   T = the least point in 1 .. 8 of beta D^2/2^T + s_T ln m + D (L + beta D) sqrt(2 ln(2d)/b(T)),
///   s_T = D 2^(T/2) max{L/sqrt 2, beta D}/(b(T) sqrt w).
/// It is of one silo: of several each step errs by the mean of theirs. The bound is of the silos' plans: @see
/// algorithms::PrivateTreeFrankWolfeSettings::planned_risk.
/// Rate: D (L + beta D) sqrt(ln d/n) ln n + (sqrt(beta) (L + beta D) D^2 sqrt(l1) ln m ln^2 n/(n eps))^(2/3).
/// Printed noise is refused: it rests on a shuffling of the nodes that has too few of them, and has no constants.
/// Source: spec non-euclidean A3, 5.16; Asi, Feldman, Koren and Talwar 2021, Theorem 7.
[[nodiscard]] Result<TheoremChoice> choose_private_tree_frank_wolfe_convex(const TheoremConditions& conditions);

/// Stages of such trees for strongly convex objectives, lambda = mu/d in l_1. Of k stages, stage i has n_i = 2^(i-1)
/// n/(2^k - 1) records and the ball of radius D_i about where it begins, D_1 = R + |w_0|_1 over the ball of radius R;
/// with B_i(T) the B(T) above at n_i and the diameter 2 D_i,
///   T_i = the least point of B_i in 1 .. 8,  D_{i+1} = min{D_i, sqrt(2 B_i(T_i)/lambda)},
///   k = the least point of B_k(T_k) in 1 .. ceil(log2 log2 n); from 0, k = 1 is the theorem above over the ball.
/// B_i is of the mean over runs, and a ball has to hold the optimum of one run: no bound is proven. Printed noise is
/// refused as above.
/// Rate: (L + beta D)^2/lambda (ln d ln^2 n/n + (sqrt(l1) ln m ln^2 n/(n eps))^(4/3)).
/// Source: spec non-euclidean A4; Asi, Feldman, Koren and Talwar 2021, Theorem 9.
[[nodiscard]] Result<TheoremChoice> choose_staged_tree_frank_wolfe_strongly_convex(const TheoremConditions& conditions);

}  // namespace undertone::theorems
