#pragma once

#include <vector>

#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// What a pass would take if its records came to their parts so.
struct PlannedParts {
  releases::Slice::Assignment assignment = releases::Slice::Assignment::Permutation;
  /// The largest, over silos, of how many times as large the largest standard deviation of the noise on a silo's mean
  /// of a part is as with parts of a permutation that is told.
  double noise = 1.0;
  bool of_job = false;
};

/// Every assignment that the job could name and has a plan for, the least noise first; each is told at the accountant's
/// noise. Public facts alone. Empty where the method reads no parts of the records, or the noise was chosen.
[[nodiscard]] std::vector<PlannedParts> compare_parts(const Job& job);

}  // namespace undertone::jobs
