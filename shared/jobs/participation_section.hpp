#pragma once

#include <vector>

#include "shared/config/json_section.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// A job's "participation", which may be left out. A quorum above the cohort is noted.
[[nodiscard]] Participation parse_participation(config::Section& root, const std::vector<CohortMember>& cohort,
                                                config::Problems& problems);

}  // namespace undertone::jobs
