#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

namespace undertone::preview {

/// Standard deviation of the noise on a coordinate of the weighted mean gradient under four choices of weights: the
/// job's own ("job"), in proportion to records ("records"), all alike ("equal"), and the least of any weights ("least",
/// 1/sqrt(sum 1/sigma_i^2)). Of the first planned gradient of each silo, and with all silos answering. Null where every
/// silo's noise, records and weight are alike, and where answers are no mean of gradients.
[[nodiscard]] nlohmann::ordered_json weight_noise(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans);

/// The same as a line to print; empty where it is null.
[[nodiscard]] std::string describe_weight_noise(const nlohmann::ordered_json& noise);

}  // namespace undertone::preview
