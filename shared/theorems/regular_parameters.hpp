#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Methods of setups whose dual is kappa-regular, with p of the domain: 1 of the l1 ball and the simplex, 2 of the l2
/// ball, where kappa = 1 and noise and steps are those of Gaussian noise and SGD. Other domains name no norm; a ball of
/// l_p is the method's own and in no theorem's facts, so that its numbers are by hand.
/// L is the clip norm in l_q, 1/p + 1/q = 1, to which a squared l2 regulariser adds in steps and bounds but not in the
/// noise; D is the set's diameter in l_p, not the l2 diameter of the facts; kappa is that of geometry::regular_norm, l1
/// = ln(1/delta), w the rho of (epsilon, delta), (sqrt(l1 + eps) - sqrt(l1))^2.

/// Noisy mirror descent. With V the most that D_Phi is from the start, at most kappa D^2/2, and a of
/// RegularNorm::sum_growth over M silos:
///   printed:  T = floor((eps n)^2/(16 d kappa l1)) >= 1, batches of max{n sqrt(eps/(4T)), 1} records,
///             eta = (D/L) sqrt(kappa/(2T)); eps <= 1, delta < 1/n, and the noise is `theorem_noise`, a misprint
///   planned:  all records; T = the most rounds with B_T <= L, at most 1,000,000, eta = sqrt(2V/T)/(L + B_T), where
///             B_T^2 = T (a/M) d kappa (2L/n)^2/(2w) is E ||noise||_q^2 at most of T releases of w/T-zCDP each;
///             in l2 that of the exact Gaussian noise, and L^2 + B_T^2 for (L + B_T)^2
/// Bound, of the risk over the records: V/(eta T) + eta (L + B_T)^2/2. With planned noise it is sqrt(2V) (L/sqrt T +
/// B_1) at the best eta of any T, which falls as T grows: B_T = L is where the source's own T stands, and more rounds
/// would at most halve the bound.
/// Rate, of the risk over the population: L D max{sqrt x, x/eps} with x = (kappa/n) sqrt(a d l1/M). At an epsilon above
/// sqrt x the source's proof runs the method at sqrt x, for generalisation.
/// Source: Bassily, Guzman and Nandi 2021, Algorithm 2 and Theorem 10, of M = 1; spec non-euclidean B2, 3.3, 5.14.
[[nodiscard]] Result<TheoremChoice> choose_noisy_mirror_convex(const TheoremConditions& conditions);

/// Noisy stochastic Frank-Wolfe, with beta from l_1 to l_inf where the facts have it and p = 1, else that of l2: no
/// loss has a larger one from l_p to l_q.
///   printed:  W = floor(sqrt n), eta = ln n/(2 sqrt n) <= 1
///   planned:  W = (2/b)^(2/3), the least point of 1/W + b sqrt W with b = sqrt(kappa d l1/M)/(n eps), rounded and
///             between 2, n/2 and 3,999; eta = ln W/W
/// Rate, of the risk over the population: beta D^2 (ln W)/W + (L D kappa + beta D^2 sqrt(kappa) ln W)/sqrt(n M)
///   + D (L + beta D sqrt(W) ln W) sqrt(kappa d l1/M)/(n eps),
/// which for the printed W = sqrt n has ln n as printed, and of M = 1 is that of Theorem 12 with sqrt(kappa) of
/// Gaussian noise in kappa's place and two terms that its proof has and its statement drops: L D sqrt(kappa d l1)/(n
/// eps), and what the differences vary by with the records, W times a step over n/(2 W) of them, whatever W is. No
/// bound with constants is stated. Source: Bassily, Guzman and Nandi 2021, Algorithm 3, Theorems 11 and 12; spec
/// non-euclidean B3, 3.3.
[[nodiscard]] Result<TheoremChoice> choose_noisy_frank_wolfe_convex(const TheoremConditions& conditions);

/// Whichever of the two has the smaller rate, by public numbers alone; the other where its conditions fail. Of many
/// records it is Frank-Wolfe, whose rate has no dimension in its leading term, unless the losses are steep.
/// Source: Bassily, Guzman and Nandi 2021, Theorem 9.
[[nodiscard]] Result<TheoremChoice> choose_regular_convex(const TheoremConditions& conditions);

}  // namespace undertone::theorems
