#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "simulation/direct_cohort.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::tests {

/// Every question that the first silo was asked, in order, and the outcome, of a run without faults.
struct Trace {
  std::vector<queries::Query> asked;
  algorithms::Outcome outcome;
  RunId run;
};

[[nodiscard]] inline Trace trace_of(simulation::SimulatedFederation::Setup setup) {
  simulation::SimulatedFederation world(std::move(setup));
  Trace trace;
  simulation::SimulatedFederation::Watch watch;
  watch.received = [&](const SiloId& silo, const wire::Message& message) {
    const auto* query = std::get_if<wire::QueryMessage>(&message);
    if (query != nullptr && silo.name() == "silo-0") trace.asked.push_back(query->query);
  };
  world.run(watch);
  EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  Result<algorithms::Outcome> outcome = world.outcome();
  EXPECT_TRUE(outcome) << outcome.error().message;
  if (outcome) trace.outcome = *std::move(outcome);
  trace.run = world.run_id();
  return trace;
}

[[nodiscard]] inline Trace trace_of(const SmallFederation& federation, simulation::SimulatedNoise noise,
                                    std::uint64_t seed = 1) {
  return trace_of({.jobs = {{federation.job(), "small"}}, .silos = federation.cohort(), .seed = seed, .noise = noise});
}

/// The same run without messages and ledgers. @param answering silos of each round, 0: all
[[nodiscard]] inline Result<simulation::DirectCohort> direct(const jobs::Job& job,
                                                             const std::vector<simulation::SimulatedSilo>& silos,
                                                             const RunId& run, std::uint64_t seed,
                                                             std::size_t answering, std::size_t threads) {
  return simulation::DirectCohort::create({*job.model, job.reply_lattice, run, seed, simulation::SimulatedNoise::Seeded,
                                           answering, threads, job.aggregation},
                                          simulation::plan_cohort(job, silos).value().members);
}

}  // namespace undertone::tests
