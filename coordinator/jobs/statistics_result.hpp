#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::coordinator {

/// This is the error of a stored run in which a silo answered that its job does not have, or a round that it has not.
[[nodiscard]] Error damaged_run(const SiloId& silo);

/// This finds what a silo's plan has a round release. It is an error beyond the plan.
using ReleaseOf = std::function<Result<const planning::Release*>(const SiloId& silo, RoundIndex round)>;

/// What a result says of one question of a job without a model whose silos' answers were kept: estimates with their
/// intervals over all silos that answered, and those of each silo, which published them itself.
/// Adds to an entry that has a name, silos and records.
[[nodiscard]] Status put_answers(const jobs::Job& job, const algorithms::Estimate& estimate,
                                 const std::vector<algorithms::Estimate>& estimates, const ReleaseOf& release_of,
                                 nlohmann::ordered_json& out);

/// Returns the row of a result's statistics for the regression that a run of scores found.
[[nodiscard]] nlohmann::ordered_json regression_row(const jobs::Job& job, const algorithms::FoundRegression& found);

}  // namespace undertone::coordinator
