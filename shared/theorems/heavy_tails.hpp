#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Theorems of losses without a worst-case Lipschitz constant that is worth anything, of which a moment of the records'
/// gradients is bounded: they choose the clip, too. Every record is read once. The rounds and the clip that the source
/// prints are those of its rate; of all rounds and clips, here those are taken with which the source's own bound is
/// least, at the noise that the accountant plans.
/// @pre facts().moment; facts().lipschitz is 1, so that noise is that of a clip of 1

/// Clipped accelerated SGD (AC-SA): convex and smooth, a bounded domain. Source: Theorem 59, Proposition 172; spec
/// heavy-tailed 5.4.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_convex(const TheoremConditions& conditions);
/// Clipped proximal SGD: smooth, perhaps not convex, proximal-PL. Source: Theorem 63, Proposition 177; spec
/// heavy-tailed 5.6.
[[nodiscard]] Result<TheoremChoice> choose_heavy_tailed_proximal(const TheoremConditions& conditions);

}  // namespace undertone::theorems
