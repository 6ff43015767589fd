#pragma once

#include <string>
#include <vector>

#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// What a step of private Frank-Wolfe would err by if its vertices were chosen so.
struct PlannedChoice {
  std::string choice;       // as a job names it
  double step_error = 0.0;  // @see algorithms::VertexChoice::step_error
  bool of_job = false;
};

/// Every choice that the cohort's promises leave a noise for, at the accountant's noise, with the job's own bound on
/// every coordinate of a record's gradient; the least error first. Public facts alone. Empty of other algorithms.
[[nodiscard]] std::vector<PlannedChoice> compare_vertex_choices(const Job& job);

}  // namespace undertone::jobs
