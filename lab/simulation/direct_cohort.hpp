#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lab/simulation/simulated_federation.hpp"
#include "shared/config/job.hpp"

namespace undertone::lab {

/// The silos of a simulation that answer by function calls: the product's own plans, clipping, draws and noise, without
/// messages, ledgers or processes. For sweeps and for thousands of silos; a federation with all of these is
/// SimulatedFederation, which gives the same model for the same seed and run, bit for bit.
class DirectCohort {
 public:
  struct Setup {
    const config::Job& job;
    const std::vector<SimulatedSilo>& silos;  // of the job's cohort, any order; outlives the cohort
    RunId run;
    std::uint64_t seed = 0;
    SimulatedNoise noise = SimulatedNoise::Seeded;
    std::size_t answering = 0;  // silos that answer a round, drawn uniformly for each; 0: all
    std::size_t threads = 1;    // the result is the same for any number
  };
  /// Makes every silo's plan. @return an error where one cannot be made, or a silo has other records than the job says
  [[nodiscard]] static Result<DirectCohort> create(const Setup& setup);

  /// Called after each round with its number and the algorithm's. May be empty.
  using Watch = std::function<void(std::uint64_t round)>;
  /// Drives the algorithm to its end.
  [[nodiscard]] Result<algorithms::Outcome> train(algorithms::FederatedAlgorithm& algorithm, const Watch& watch = {});

  [[nodiscard]] const privacy::Plan& plan(std::size_t silo) const { return members_[silo].plan; }

 private:
  struct Member {
    const SimulatedSilo* silo;
    privacy::Plan plan;
    std::uint64_t weight;
    std::uint64_t holdout_weight;
    std::vector<std::int64_t> permutation;  // empty unless the plan reads slices
  };
  explicit DirectCohort(const Setup& setup) : setup_(setup) {}
  [[nodiscard]] Result<queries::Gathered> ask(const queries::Query& query);
  [[nodiscard]] std::vector<std::size_t> answering(RoundIndex round) const;
  [[nodiscard]] std::vector<std::int64_t> answer(const queries::Query& query, const Member& member) const;

  Setup setup_;
  std::vector<Member> members_;
};

}  // namespace undertone::lab
