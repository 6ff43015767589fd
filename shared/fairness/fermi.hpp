#pragma once

#include <cstdint>

#include "shared/fairness/fair_objective.hpp"

namespace undertone::fairness {

/// How gradient descent-ascent goes.
struct FermiSettings {
  std::uint64_t steps = 1500;
  double step_size = 0.15;         // of the model, > 0
  double weights_step_size = 0.4;  // of W, in (0, 1 / (2 lambda)]: what is larger does not settle
  std::size_t batch = 0;           // records of a step, drawn uniformly and without replacement; 0: all
  std::uint64_t seed = 1;          // of the draws
};

/// FERMI by stochastic gradient descent-ascent, Algorithm 9 of the thesis: both players step from the same point, and W
/// is projected. It runs exactly `steps` steps and returns the last iterate. NOT PRIVATE.
/// @return an error where a setting is out of range, or where the iterates leave the finite numbers
[[nodiscard]] Result<FairObjective::Point> fermi(const FairObjective& objective, const FermiSettings& settings);

}  // namespace undertone::fairness
