#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "shared/jobs/job.hpp"

namespace undertone::preview {

/// This is what a plan says of fair learning beside the silos' releases. Each deviation is that of one number of the
/// weighted mean over all silos, in real units.
struct FairPlan {
  double lambda = 0.0;
  double model_noise = 0.0;            // of the model's gradient, where W begins: at 0 and with equal shares
  double adversary_noise = 0.0;        // of the adversary's, there
  double share_floor = 0.0;            // no group is taken for less of the records
  std::optional<double> shares_noise;  // of a group's share; nothing where the job says the shares
  std::string warning;                 // where the noise of a share hides groups; else empty
};
/// @return nothing of a job that asks for no fair gradient @pre plans of all silos
[[nodiscard]] std::optional<FairPlan> fair_plan(const jobs::Job& job, const std::map<SiloId, planning::Plan>& plans);
[[nodiscard]] nlohmann::ordered_json to_json(const FairPlan& plan);
/// Sentences for people, each with its line end.
[[nodiscard]] std::string describe(const FairPlan& plan);

}  // namespace undertone::preview
