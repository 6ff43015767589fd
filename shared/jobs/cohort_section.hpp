#pragma once

#include <cstddef>
#include <vector>

#include "shared/jobs/job.hpp"

namespace undertone::jobs {

inline constexpr std::size_t kSilosMax = 10'000;

/// The section "cohort" of a job. An entry is one silo, or with a `count` as many alike ones: in the name of these
/// stands the first one's number in braces, and the others count on from it. "clinic-{001}" with count 3 is clinic-001,
/// clinic-002 and clinic-003; numbers that need more digits have them.
/// @return at most kSilosMax members, in SiloId order
[[nodiscard]] std::vector<CohortMember> parse_cohort(config::Section& root);

}  // namespace undertone::jobs
