#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "shared/config/job.hpp"
#include "shared/privacy/plan.hpp"

namespace undertone::lab {

/// What the shuffler of a job is worth to a silo: epsilon of its own noise ("epsilon_local", null where that has no
/// bound), epsilon with the shuffler, their ratio, and where a plan of reports gains nothing, what it would take
/// ("needs", else null). Null for a job that is not shuffled.
[[nodiscard]] nlohmann::ordered_json shuffler_worth(const config::Job& job, const privacy::Plan& plan,
                                                    const privacy::SiloFacts& facts);

/// The same as a line to print; empty where it is null.
[[nodiscard]] std::string describe_worth(const nlohmann::ordered_json& worth);

}  // namespace undertone::lab
