#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/sweep/sweep_plan.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::lab {

/// What the best of a selection's runs costs, where it alone is published.
struct SelectionPrice {
  double epsilon = 0.0;
  double delta = 0.0;
  double base_epsilon = 0.0;  // of one run: the largest that any combination promises
  double base_delta = 0.0;
  double runs_mean = 0.0;
  std::string bound;  // which one it is by
};

/// For the silo that pays most. @param jobs of every combination of the sweep: a run may draw any of them
/// @return an error where nothing finite can be said
[[nodiscard]] Result<SelectionPrice> price_of(const lab::RunsRule& rule, const std::vector<jobs::Job>& jobs);

/// The cells that a selection runs: as many as the rule says, each drawn uniformly, each with noise of its own.
[[nodiscard]] std::vector<SweepCell> drawn_cells(const SweepPlan& plan);

}  // namespace undertone::lab
