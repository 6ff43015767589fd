#pragma once

#include <optional>
#include <vector>

#include "shared/algorithms/problem.hpp"
#include "shared/data/schema.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/theorem_section.hpp"
#include "shared/models/model.hpp"

namespace undertone::jobs {

/// What theorems may use of a job; what is the job's author to say is left at zero.
/// @param bound of a record's gradient, in the norm of the job's algorithm
[[nodiscard]] theorems::TheoremFacts facts_of(const std::vector<CohortMember>& cohort,
                                              const algorithms::Problem& problem, double bound,
                                              const std::optional<Shuffle>& shuffle);

/// With what the model and the schema prove: of projected records nothing.
[[nodiscard]] TheoremContext context_of(theorems::TheoremFacts facts, theorems::PlannedNoise noise,
                                        const models::Model& model, const data::Schema& schema, bool projected);

/// The model with the envelope that a theorem chose for its loss.
[[nodiscard]] models::Model smoothed(const models::LinearModel& linear, double smoothing);

}  // namespace undertone::jobs
