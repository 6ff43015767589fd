#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Methods whose noise is matched to the constraint set. Every round reads all records; the noise is planned for.

/// Mirror descent with the domain's own potential: Theorem 3.2 of Talwar, Thakurta and Zhang 2014 with the values of
/// its proof. With B = L^2 ||Q||^2 + s_T^2 (G_Q^2 + ||Q||^2), s_T^2 the noise variance of a coordinate at T rounds,
///   T = the most rounds with s_T^2 (G_Q^2 + ||Q||^2) <= L^2 ||Q||^2, at most 1,000,000,
///   eta = sqrt(W mu/(T B)),  bound 2 sqrt(W B/(mu T)).
/// Source: spec constraint-geometry 2.1, F2, 4.1.
[[nodiscard]] Result<TheoremChoice> choose_constrained_mirror_convex(const TheoremConditions& conditions);

/// Its strongly convex form: Theorem A.1, with the Euclidean potential, whose relative strong convexity is the ordinary
/// one: steps 1/(mu t), the same T, bound B (1 + ln T)/(mu T). Source: spec constraint-geometry 2.2, F4.
[[nodiscard]] Result<TheoremChoice> choose_constrained_mirror_strongly_convex(const TheoremConditions& conditions);

/// Frank-Wolfe over the domain: Theorem B.2. Gamma = beta D^2, T the least point in 2 .. 1,000,001 of its bound
///   2 Gamma/(T+1) + s_T G_C,
/// up to rounding (4 Gamma/(s_1 G_C))^(2/3), s_T of T-1 rounds. Nothing is known of it where not all silos answer.
/// Source: spec constraint-geometry 2.6.
[[nodiscard]] Result<TheoremChoice> choose_constrained_frank_wolfe(const TheoremConditions& conditions);

}  // namespace undertone::theorems
