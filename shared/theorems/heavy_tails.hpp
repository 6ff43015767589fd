#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// These theorems are for losses whose worst-case Lipschitz constant is useless, but whose records' gradients have a
/// bounded moment. They choose the clip, too, and read every record once. The source prints rounds and a clip that
/// attain its rate. Here the rounds and the clip are those with which the source's own bound is least, at the noise
/// that the accountant plans.
/// @pre facts().moment; facts().lipschitz is 1, so that noise is that of a clip of 1

/// Whether the facts have a moment that a clip can follow from, of silos that all answer with the accountant's noise,
/// or with the coins of binomial sums.
[[nodiscard]] Status check_moment(const TheoremConditions& conditions);

/// This is clipped accelerated SGD (AC-SA), for convex and smooth losses on a bounded domain. Source: Theorem 59,
/// Proposition 172; spec heavy-tailed 5.4.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_convex(const TheoremConditions& conditions);
/// This is clipped SGD for smooth and strongly convex losses. Its bound is 32 beta D^2 exp(-T/(4 kappa)) + 72
/// (variance)/(mu T) + 2 bias^2/mu, T = R - 1, with D of the domain, or D^2 = 2 Delta/mu. Source: Theorem 61,
/// Proposition 174; spec heavy-tailed 5.5.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_strongly_convex(const TheoremConditions& conditions);
/// This is clipped proximal SGD, for smooth losses that are proximal-PL and perhaps not convex. Source: Theorem 63,
/// Proposition 177; spec heavy-tailed 5.6.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_proximal(const TheoremConditions& conditions);

}  // namespace undertone::theorems
