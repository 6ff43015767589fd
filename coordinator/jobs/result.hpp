#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/planner.hpp"

namespace undertone::coordinator {

/// Everything a result says; docs/result.md describes the files.
struct RunReport {
  const jobs::Job& job;
  RunId run;
  std::string mode;  // "tcp", or "simulation": its noise is seeded or absent
  bool noise_absent = false;
  Result<algorithms::Outcome> outcome;
  std::vector<RoundRecord> rounds;
  std::map<SiloId, std::optional<wire::Refusal>> answers;
  jobs::Planner planner = jobs::plan_of;  // of each silo of the cohort, alike ones once
};

/// Plans for the whole cohort: never on a thread that serves sessions. Writes result.json, and model.json where the run
/// succeeded, each replaced whole.
[[nodiscard]] Status write_results(const std::filesystem::path& folder, const RunReport& report);

}  // namespace undertone::coordinator
