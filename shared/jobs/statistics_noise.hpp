#pragma once

#include <cstdint>
#include <vector>

#include "shared/algorithms/one_round/statistics.hpp"
#include "shared/config/section.hpp"
#include "shared/releases/silo_facts.hpp"

namespace undertone::jobs {

/// Which noise statistics have, and how they share what a silo promises. Public, and the same for all silos of a job.
struct StatisticsNoise {
  /// Cheaper: of both laws the one with the less weighted variance over the cohort, at each silo's own promise.
  enum class Law : std::uint8_t { Cheaper, Laplace, Gaussian };
  /// Equal: parts of epsilon, or of mu^2. Weights: the parts that make the weighted variance of all numbers least.
  /// HalfWidths: what each interval over the whole cohort needs to be as wide as was asked for, and no more.
  enum class Budget : std::uint8_t { Equal, Weights, HalfWidths };
  Law law = Law::Laplace;
  Budget budget = Budget::Equal;
};

/// The settings with their noise and their shares for a cohort. Counts and means by Laplace noise in equal parts are
/// left as they are. @param cohort one or more
/// @return an error that says which question has no noise of the law, or which width is none
[[nodiscard]] Result<algorithms::StatisticsSettings> with_noise_for(algorithms::StatisticsSettings settings,
                                                                    const StatisticsNoise& noise,
                                                                    const std::vector<releases::SiloFacts>& cohort);

}  // namespace undertone::jobs
