#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "shared/config/json_section.hpp"
#include "shared/folds/aggregation.hpp"
#include "shared/jobs/algorithm_section.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

inline constexpr double kHeldValuesMax = 0x1p22;  // of a run's answers where they are held: a second's work

/// The section "aggregation", before it is known what the whole cohort is.
struct AskedAggregation {
  folds::Aggregation aggregation;
  std::optional<bool> scaled;  // of the mean, where the job says
};

[[nodiscard]] AskedAggregation parse_aggregation(config::Section section);

/// The weights that a mean is scaled to. Nothing where they are equal: both means are then the same.
[[nodiscard]] std::optional<folds::WholeCohort> whole_cohort(const std::vector<CohortMember>& cohort);

/// Whether a round's mean is scaled to the whole cohort. The theorems' estimator is: silo i's loss times N p_i, then
/// the plain mean of the M that answer, which is (N/M) sum_i p_i g_i.
[[nodiscard]] bool is_scaled(const AskedAggregation& asked, const AlgorithmChoice& algorithm,
                             const models::Model& model, config::Problems& problems);

/// What a coordinator that withstands liars needs: answers one by one, means, and room for them all.
/// @param groups of records, of whose means a median is taken
void check_robust(const folds::Aggregation& aggregation, const AlgorithmChoice& algorithm, const models::Model& model,
                  bool shuffled, std::uint32_t groups, std::size_t silos, config::Problems& problems);

}  // namespace undertone::jobs
