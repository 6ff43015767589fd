#pragma once

#include <optional>

#include "shared/config/section.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::jobs {

/// A rule that gives every silo its public weight p_i in the mean, instead of a number for each.
enum class WeightRule : std::uint8_t {
  Records,      // p_i in proportion to n_i: every record counts alike
  Equal,        // every silo counts alike
  NoiseOptimal  // p_i in proportion to 1/sigma_i^2, so that the mean has the least noise of all weights
};

/// The key "weights" of a job; nothing where it is not there, and each silo's own `weight` counts.
[[nodiscard]] std::optional<WeightRule> parse_weight_rule(config::Section& root);

/// Gives every silo its weight by the rule, from public facts alone: n_i and what is promised.
/// NoiseOptimal: sigma_i is in proportion to 1/(n_i mu_i), mu_i the Gaussian shift of silo i's promise, as of rounds
/// that read all records; under a pure promise to 1/(n_i epsilon_i). The weights that minimise sum p_i^2 sigma_i^2
/// with sum p_i = 1 are then p_i ~ (n_i mu_i)^2 (Lagrange), rounded to whole numbers of which the largest is 2^20, none
/// below 1. The objective becomes sum p_i F_i: where silos differ it is another one than of records that count alike.
/// @param members each with its facts
/// @return an error where some promises are pure and some are not, whose noises have no common unit, and where more
/// than 256 promises differ
[[nodiscard]] Status set_weights(WeightRule rule, std::vector<CohortMember>& members);

}  // namespace undertone::jobs
