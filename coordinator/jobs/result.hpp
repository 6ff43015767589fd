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

/// The contents of a run's files.
struct ResultTexts {
  std::string result;  // of result.json
  std::string model;   // of model.json; empty where the run failed or has no model
};

/// Plans for the whole cohort: never on a thread that serves sessions.
[[nodiscard]] Result<ResultTexts> result_texts(const RunReport& report);

/// Writes result.json, and model.json where the run succeeded, each replaced whole. @see result_texts
[[nodiscard]] Status write_results(const std::filesystem::path& folder, const RunReport& report);

}  // namespace undertone::coordinator
