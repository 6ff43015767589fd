#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::preview {

/// What the shuffler of a job is worth to a silo: epsilon of its own noise ("epsilon_local", null where that has no
/// bound), epsilon with the shuffler, their ratio, and where a plan of reports gains nothing, what it would take
/// ("needs", else null). Null for a job that is not shuffled.
[[nodiscard]] nlohmann::ordered_json shuffler_worth(const jobs::Job& job, const planning::Plan& plan,
                                                    const releases::SiloFacts& facts);

/// The same as a line to print; empty where it is null.
[[nodiscard]] std::string describe_worth(const nlohmann::ordered_json& worth);

}  // namespace undertone::preview
