#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Methods of non-Euclidean setups that step as mirror descent does. Their losses may have kinks.
/// Of phases and stages the domain is the l1 ball: p = 1, D = 2 radius, L is the clip norm in l_inf, and with d numbers
/// f = max{1, log2 d}, l1 = ln(1/delta). N of the formulas is M, the silos that answer, and n the least silo's records.

/// Localised mirror descent. Phase i = 1, 2, .. reads n_i = floor(n/2^i) >= 2 records, and with eta = (D/L) min{
/// sqrt(f/(n M)), eps/sqrt(M d f l1)} and eta_i = 2^-4i eta it has
///   T_i = min{f n_i M, M n_i^2 eps^2/d} rounds, at least 1,  lambda_i = 2/(eta_i n_i M),  R_i = 2 L eta_i n_i M/f.
/// Rounds are cut at one number where all phases have more than 1,000,000; then eta is D sqrt(T_1)/(L n M) at most.
/// Every phase has (eps, delta) whole and reads all of its records, where the source has 2^-i eps and draws.
/// Bound, over the population: B of algorithms::choose_mirror_phases, where that is below L D.
/// Rate: L D (sqrt(f/(n M)) + f sqrt(d f l1)/(n eps sqrt M)), and L D f/sqrt(T_1) where rounds are cut; L D at most.
/// Printed noise is refused: it is of batches that are another share of the records in every phase.
/// Source: Asi, Feldman, Koren and Talwar 2021, Algorithm 2 and Theorem 4; spec non-euclidean A2, FED-A2 in 3.3.
[[nodiscard]] Result<TheoremChoice> choose_localized_mirror_convex(const TheoremConditions& conditions);

/// The same in stages, of objectives that are mu-strongly convex in l2, and so lambda-strongly convex in l1 with lambda
/// = mu/d, since ||x||_1^2 <= d ||x||_2^2. Stages, phases and the bound are those of algorithms::choose_mirror_stages,
/// whose next stage begins as near to the optimum as the bound proves.
/// Rate: (L^2/lambda) (f/(n M) + d f^3 l1/((n eps)^2 M)), and (L^2/lambda) f^2/T of the last stage's first phase where
/// that is cut; L D at most.
/// Source: the same, Section 5 and Theorem 8; spec non-euclidean A4, 5.12.
[[nodiscard]] Result<TheoremChoice> choose_staged_mirror_strongly_convex(const TheoremConditions& conditions);

/// SGD over the box from -R to R, which is the ball of l_inf; L is the clip norm in l2, to which a squared l2
/// regulariser adds in steps but not in the noise. D = 2 R sqrt d.
///   printed:  those of algorithms::lp_sgd_theorem, T = (n M)^2, with batches of one record; eps <= 1
///   planned:  all records; T = the most rounds with d v <= L^2, at most 1,000,000, v the variance of a coordinate of
///             the mean, eta = D/sqrt(T (L^2 + d v)), at which the bound is least
/// Bound, of the risk over the records: D^2/(2 eta T) + eta (L^2 + d v)/2, without a regulariser.
/// Rate: printed D L (1/sqrt(n M) + sqrt(d l1)/(n eps sqrt M)) of the risk over the population; planned D L (1/sqrt T +
/// sqrt(d l1)/(n eps sqrt M)) of that over the records, since so few long steps are not stable along a kink.
/// Source: Bassily, Guzman and Nandi 2021, Proposition 13 and Corollary 14; spec non-euclidean B4, 3.3.
[[nodiscard]] Result<TheoremChoice> choose_lp_sgd_convex(const TheoremConditions& conditions);

}  // namespace undertone::theorems
