#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::report {

/// The runs of a sweep that were given the same values, one for each seed.
struct SweptSetting {
  std::map<std::string, std::string> set;              // by JSON pointer into the job, as JSON
  std::size_t runs = 0;                                // that ended well
  std::size_t failed = 0;                              //
  std::map<std::string, std::vector<double>> numbers;  // epsilon and the metrics, of the runs that ended well
};

/// What `undertone sweep` left in a folder.
struct ReportedSweep {
  std::string note;                    // what the sweep itself says of privacy
  std::string job_sha256;              //
  std::vector<SweptSetting> settings;  // in the order of the sweep
  nlohmann::ordered_json selection;    // selection.json, null where there is none
};

/// Reads sweep.jsonl and, where it is there, selection.json. @return an error that names file and line
[[nodiscard]] Result<ReportedSweep> load_sweep(const std::filesystem::path& folder);

/// One HTML page that needs nothing else: a table of all settings, the best first, with mean and 90 % interval over the
/// seeds, and each metric by each value that was varied and is a number. The best are those of the selection's score;
/// without one of the largest accuracy, or else of the least loss.
[[nodiscard]] std::string sweep_page(const ReportedSweep& sweep, const std::string& name);

}  // namespace undertone::report
