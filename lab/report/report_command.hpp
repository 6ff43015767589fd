#pragma once

#include <filesystem>

namespace undertone::report {

/// What `undertone report` was asked.
struct ReportRequest {
  std::filesystem::path folder;  // of one run's results, or of several such folders
  std::filesystem::path out;     // empty: report.html in the folder
};

/// Writes the page and prints its path. @return the exit code
[[nodiscard]] int run_report(const ReportRequest& request);

}  // namespace undertone::report
