#pragma once

#include <optional>

#include "shared/jobs/job.hpp"
#include "shared/planning/joint_promise.hpp"

namespace undertone::jobs {

/// What the silos of the job promise together to a person who is at `privacy.silos_per_person` of them at most: a
/// function of public facts, which everybody who reads the job computes alike. It plans every silo that is unlike the
/// others, within as many operations as one plan may take; where that is not enough, or their plans would have more
/// than 2^20 entries together, it is what the dearest promises add up to.
/// @return nothing of a job of records, or beyond an epsilon of 30
[[nodiscard]] std::optional<planning::JointPromise> joint_promise_of(const Job& job);

/// "epsilon 1.46, delta 1e-06 for a person at 2 silos of this job at most, if all of them keep their promises".
/// @param joint of the job @pre the unit is a person
[[nodiscard]] std::string describe(const Job& job, const std::optional<planning::JointPromise>& joint);

}  // namespace undertone::jobs
