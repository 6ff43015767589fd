#pragma once

#include <cstdint>
#include <vector>

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/config/section.hpp"
#include "shared/data/schema.hpp"
#include "shared/jobs/statistics_noise.hpp"

namespace undertone::jobs {

/// A job's "statistics" as its file says them, before anybody has chosen their noise for its cohort.
struct AskedStatistics {
  algorithms::StatisticsSettings settings;
  StatisticsNoise noise;
};
/// Questions about the columns of a job's schema, by their names. Where a problem was noted, the settings may lack
/// questions.
[[nodiscard]] AskedStatistics parse_statistics(config::Section section, const data::Schema& schema);

}  // namespace undertone::jobs
