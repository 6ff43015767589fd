#pragma once

#include "shared/theorems/theorem_choice.hpp"

namespace undertone::theorems {

/// Parameters of noisy minibatch SGD for eps <= 2 ln(2/delta) on a domain of diameter D: Theorem 34, and of silos whose
/// records, epsilon or delta differ Theorem 140, whose noise term is d min{Xi/M', xi_max/M} instead of the loudest
/// silo's. No other theorem of the source has a form for silos that differ. Source: federated-core 3.1, B.1.9.
[[nodiscard]] Result<TheoremChoice> choose_minibatch_convex(const TheoremConditions& conditions);
/// mu > 0 of the whole objective.
[[nodiscard]] Result<TheoremChoice> choose_minibatch_strongly_convex(const TheoremConditions& conditions);

}  // namespace undertone::theorems
