#pragma once

#include <string>

#include "shared/mechanisms/objective_perturbation/objective_perturbation.hpp"

namespace undertone::mechanisms {

/// Objective perturbation as plans charge it: everything that it releases together is (epsilon, failure)-DP for
/// replacement of one record, epsilon as of a pure release and the failure off delta, by basic composition of the ideal
/// minimiser and the noise on what is computed for it. @see ObjectivePerturbation
struct PerturbedObjective {
  ObjectivePerturbation ideal;
  releases::EpsilonAmount epsilon;
  releases::DeltaAmount failure;
};
/// A sixteenth of epsilon and half of the failure are for the output's noise.
/// @return an error as `ObjectivePerturbation::create`
[[nodiscard]] Result<PerturbedObjective> perturbed_objective(const ObjectivePerturbationFacts& facts,
                                                             releases::Epsilon epsilon, releases::Delta failure);

/// Every number of it, to the last bit: what makes it one that no other is taken for. Digests are of it, so it never
/// changes.
[[nodiscard]] std::string canonical_text(const PerturbedObjective& objective);

}  // namespace undertone::mechanisms
