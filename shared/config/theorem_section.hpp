#pragma once

#include <optional>

#include "shared/algorithms/theorem_parameters.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::config {

/// An `algorithm` that names a theorem instead of a kind: the theorem chooses the kind and all of its numbers.
/// @param facts what the rest of the job says: sizes, targets, the clip norm and the domain's diameter
/// @return nothing where a condition of the theorem fails, which is noted
[[nodiscard]] std::optional<algorithms::TheoremChoice> parse_theorem(Section& section,
                                                                     const algorithms::Problem& problem,
                                                                     algorithms::TheoremFacts facts,
                                                                     algorithms::PlannedNoise noise);

}  // namespace undertone::config
