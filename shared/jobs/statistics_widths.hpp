#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// How wide a question's noise intervals will be, before anybody answers: a function of public facts alone.
struct PlannedWidth {
  std::string statistic;  // its name
  std::string law;        // "discrete Laplace", "Gaussian"
  double half_width = 0.0;
  std::string of;  // what that is the half-width of, with its unit: "each cell, in records"
  std::vector<std::string> warnings;
  /// Of reports: what the same totals would have as one noised sum of each silo, at the same epsilon, in the same unit.
  std::optional<double> as_sum = {};
  /// Of a function's totals: what reports of single records would have, at the same promise.
  std::optional<double> as_reports = {};
};

/// With all silos of the cohort answering; of reports one for each number that is reported on. @param plans of a job of
/// statistics, one for each member Warns where there are more cells than records, and where an interval is as wide as
/// what the number can be at all.
[[nodiscard]] Result<std::vector<PlannedWidth>> planned_widths(const Job& job,
                                                               const std::map<SiloId, planning::Plan>& plans);

}  // namespace undertone::jobs
