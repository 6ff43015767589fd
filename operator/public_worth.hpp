#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::operators {

/// What a job's public records are worth beside its silos': their weight, where the run starts, and what the mean
/// gradient of each side, and of both, is off by. Null of a job without public records.
/// @param folder that the file may be in; where it is not there, or is another, "missing" says so
[[nodiscard]] nlohmann::ordered_json public_worth(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans,
                                                  const std::filesystem::path& folder);
/// For people: lines, or nothing.
[[nodiscard]] std::string describe_public_worth(const nlohmann::ordered_json& worth);

}  // namespace undertone::operators
