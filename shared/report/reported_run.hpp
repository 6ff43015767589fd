#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/report/run_result.hpp"

namespace undertone::report {

/// A silo's privacy statement, as it was written.
struct StatementText {
  std::string file;  // below the report's folder
  std::string text;
};

/// One run with everything that its report shows.
struct ReportedRun {
  std::string name;  // its folder below the report's, or the job's name where it is the only run
  RunResult result;
  std::string job;       // job.json, if the folder has it; else empty
  std::string job_note;  // why there is none, or why epsilon by round is not known; may be empty
  std::vector<StatementText> statements;

  /// As of the result; a statement that says VOID is enough.
  [[nodiscard]] bool is_void() const;
};

inline constexpr std::size_t kRunsMax = 1000;
inline constexpr std::size_t kAllResultsBytesMax = std::size_t{512} << 20U;

/// The run of a folder that holds a result.json, or else all runs of folders up to four levels below it, by name.
/// job.json beside a result.json gives the settings in full and epsilon by round. Any RUN.txt below the folder (96
/// hexadecimal digits, as silos name their statements) goes with its run. Links are not followed.
/// @return an error that names file and field; also where no run is found, or more than `kRunsMax`, or where job.json
/// or
///   model.json beside a result.json are another run's
[[nodiscard]] Result<std::vector<ReportedRun>> load_runs(const std::filesystem::path& folder);

}  // namespace undertone::report
