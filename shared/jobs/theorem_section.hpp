#pragma once

#include <optional>

#include "shared/config/section.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::jobs {

/// An `algorithm` that names a theorem instead of a kind: the theorem chooses the kind and all of its numbers.
/// @param facts what the rest of the job says: sizes, targets, the clip norm and the domain's diameter
/// @return nothing where a condition of the theorem fails, which is noted
[[nodiscard]] std::optional<theorems::TheoremChoice> parse_theorem(config::Section& section,
                                                                   const algorithms::Problem& problem,
                                                                   theorems::TheoremFacts facts,
                                                                   theorems::PlannedNoise noise);

}  // namespace undertone::jobs
