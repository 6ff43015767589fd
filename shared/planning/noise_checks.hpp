#pragma once

#include "shared/base/result.hpp"
#include "shared/releases/ask.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::planning {

/// Whether a private release of this kind has a noise that keeps the target: what no mechanism is known of is not
/// planned, whoever asks for it.
/// @param shuffled whether shufflers are to hide it
/// @return an error that names the silo and what it lacks
[[nodiscard]] Status check_noise(const releases::Ask& ask, const releases::SiloFacts& facts, bool shuffled);

}  // namespace undertone::planning
