#pragma once

#include <map>
#include <optional>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"

/// What is known of a job's result before it runs, from public numbers and the silos' plans.
namespace undertone::preview {

/// Noise variance of a coordinate of the weighted mean of all silos' answers of a kind: sum p_i^2 sigma_i^2.
[[nodiscard]] double mean_noise_variance(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans,
                                         releases::QuestionKind kind);
/// Whether every silo has the same weight.
[[nodiscard]] bool weighed_alike(const jobs::Job& job);
/// The bound on the excess risk that holds at the planned noise: the method's own, else that of one pass, else the
/// theorem's, what its envelope is below the loss included. Nothing where none is known to hold.
[[nodiscard]] std::optional<algorithms::RiskBound> predicted_excess(const jobs::Job& job,
                                                                    const std::map<SiloId, planning::Plan>& plans);

}  // namespace undertone::preview
