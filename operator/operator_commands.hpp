#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "operator/operator_config.hpp"

/// The operator's verbs: each talks to the coordinator's HTTP service, prints for people or JSON, and returns an exit
/// code (`lab/exit_code.hpp`). RUN is the beginning of a run's id or a job's name.
namespace undertone::operators {

struct OperatorOptions {
  std::filesystem::path config;
  bool json = false;
  std::string run;
};

[[nodiscard]] int submit_job(const OperatorOptions& options, const std::filesystem::path& job, bool again);
[[nodiscard]] int show_status(const OperatorOptions& options);
/// Follows a run to its end, with a line for each round. @return kFailed if the run fails
[[nodiscard]] int watch_run(const OperatorOptions& options);
/// Prints names of runs for a shell that completes `options.run`. It says nothing of what goes wrong.
[[nodiscard]] int complete_runs(const OperatorOptions& options);
[[nodiscard]] int cancel_run(const OperatorOptions& options);
/// Has the coordinator draw a key, and prints what a shuffled job calls it.
[[nodiscard]] int make_sealing_key(const OperatorOptions& options);
/// Writes result.json, model.json, job.json and rounds.csv of a run that has ended into a folder, all of them or none.
/// Of a job's runs it takes the newest that succeeded. A folder that holds another run is refused.
[[nodiscard]] int export_run(const OperatorOptions& options, const std::filesystem::path& out);
/// Runs side by side. @param runs runs of the coordinator, or folders that hold a result.json
[[nodiscard]] int compare_runs(const OperatorOptions& options, const std::vector<std::string>& runs);

}  // namespace undertone::operators
