#pragma once

#include <optional>
#include <string>

#include "shared/config/section.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::jobs {

/// What the rest of a job says to a theorem.
struct TheoremContext {
  theorems::TheoremFacts facts;  // sizes, targets, the bound on gradients and the domain's diameter
  theorems::PlannedNoise noise = theorems::PlannedNoise::Accountant;
  std::optional<double> proven_smoothness = {};  // beta, from the model and its public bounds; nothing is known of some
  std::optional<double> proven_lipschitz = {};   // L, likewise
  bool kinked = false;                           // a loss that has a kink and is not smoothed
  bool by_coordinate = false;                    // the bound is one on every coordinate
  std::string refusal = {};                      // why no theorem is for the job, if so
};

/// An `algorithm` that names a theorem instead of a kind: the theorem chooses the kind and all of its numbers; for a
/// loss with a kink also the smoothness of the envelope that stands for it, where the theorem needs one.
/// @return nothing where a condition of the theorem fails, which is noted
[[nodiscard]] std::optional<theorems::TheoremChoice> parse_theorem(config::Section& section,
                                                                   const algorithms::Problem& problem,
                                                                   const TheoremContext& context);

}  // namespace undertone::jobs
