#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Minibatch SGD whose silos each report one noised gradient a round, mixed unread: Theorems 38, 135, convex, with M
/// for the source's N wherever N credits the choice of silos. K = 1,
///   R = ceil(max{n^2 M eps^2, 1, min{n, eps^2 n^2 M/d}, (beta D/L) min{sqrt(nM), eps n M/sqrt d}}),
///   eta = min{1/beta, (D sqrt M/(L R)) min{sqrt n, eps n M/sqrt(d M ln(RM/delta) ln(R/delta) ln(1/delta))}},
/// for eps <= ln(2/delta) and M >= 16 ln(18 R M/delta). The noise is the accountant's: the source's constant is
/// unknown. Source: federated-core 3.7.
[[nodiscard]] Result<TheoremChoice> choose_shuffled_minibatch(const TheoremConditions& conditions);

}  // namespace undertone::theorems
