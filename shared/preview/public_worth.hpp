#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::preview {

/// This says what a job's public records are worth beside its silos' records: their weight, where the run starts, and
/// what the mean gradient of each side, and of both, is off by. It is null where a job has no public records.
/// @param folder that the file may be in; where it is not there, or is another, "missing" says so
[[nodiscard]] nlohmann::ordered_json public_worth(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans,
                                                  const std::filesystem::path& folder);
/// Returns lines for people, or an empty text.
[[nodiscard]] std::string describe_public_worth(const nlohmann::ordered_json& worth);

}  // namespace undertone::preview
