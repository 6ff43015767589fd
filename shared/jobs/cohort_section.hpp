#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "shared/jobs/cohort_weights.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

inline constexpr std::size_t kSilosMax = 10'000;

struct ParsedCohort {
  std::vector<CohortMember> members;  // at most kSilosMax, in SiloId order
  std::optional<WeightRule> weights;  // where a rule made them
};

/// The section "cohort" of a job. An entry is one silo, or with a `count` as many alike ones: in the name of these
/// stands the first one's number in braces, and the others count on from it. "clinic-{001}" with count 3 is clinic-001,
/// clinic-002 and clinic-003; numbers that need more digits have them.
/// With the key "weights" a rule says how much each silo counts, else its own `weight`. @see WeightRule
/// @param unit what the job protects: silos say how many persons they have, or how many records
[[nodiscard]] ParsedCohort parse_cohort(config::Section& root, releases::Unit unit);

/// The members' facts, in their order.
[[nodiscard]] std::vector<releases::SiloFacts> silo_facts(const std::vector<CohortMember>& cohort);

}  // namespace undertone::jobs
