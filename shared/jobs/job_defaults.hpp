#pragma once

#include <nlohmann/json.hpp>

#include "shared/models/model.hpp"

namespace undertone::jobs {

// What a job says that leaves it out. None is of privacy: epsilon, delta, the unit, the mode, the clip norm, the noise
// and what is held out, public or not, have to be said. These stand in the place of what is not written in files whose
// bytes are a job's identity, so no value here ever changes: a better one needs a format of its own.

/// A model of moments has one good form; of others nothing is known but the loss.
/// @param unconstrained whether its algorithm minimises the loss alone. @see algorithms::is_unconstrained
[[nodiscard]] nlohmann::json default_domain(const models::Model& model, bool unconstrained);
[[nodiscard]] nlohmann::json default_regulariser(const models::Model& model, bool unconstrained);

/// Steps that become small, so that one that is too large at first does no harm. @return null where there is no default
[[nodiscard]] nlohmann::json default_algorithm(const models::Model& model);

}  // namespace undertone::jobs
