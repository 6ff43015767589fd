#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/simulation/simulated_federation.hpp"
#include "shared/config/job.hpp"

namespace undertone::tests {

/// A federation small enough to run hundreds of times: three to five silos of unequal size, epsilon, delta and weight,
/// some with private holdouts, four features.
struct SmallFederation {
  models::Loss loss = models::Loss::Logistic;
  int silos = 5;
  int rounds = 6;
  int evaluation_every = 3;
  double draw_fraction = 1.0;
  double step_size = 0.5;
  double clip_norm = 1.0;
  std::string averaging = "uniform";
  std::string points = "f64";
  std::string noise = "test";
  int quorum = 2;
  int round_deadline_ms = 4000;
  int join_deadline_ms = 8000;

  [[nodiscard]] std::string job() const;
  /// Silos as the job counts on them, with synthetic records that are a function of `data_seed`.
  [[nodiscard]] std::vector<lab::SimulatedSilo> cohort(std::uint64_t data_seed = 1) const;
};

/// What a test's federation may spend: more than it will.
[[nodiscard]] silo::Policy generous_policy();

}  // namespace undertone::tests
