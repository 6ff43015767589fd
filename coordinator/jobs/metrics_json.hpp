#pragma once

#include <nlohmann/json_fwd.hpp>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::coordinator {

/// An evaluation as results and the service say it (docs/result.md): `after_steps`, `silos`, a number for each of
/// jobs::metric_values, and where there is noise `noise_stddev` of each.
[[nodiscard]] nlohmann::ordered_json metrics_json(const jobs::JobTerms& job, const algorithms::MetricsRow& row);

/// Puts what is said of the newest evaluation alone: `verdicts`, and where it is detailed `confusion`.
void put_verdicts(const jobs::JobTerms& job, const algorithms::MetricsRow& row, nlohmann::ordered_json& out);

}  // namespace undertone::coordinator
