#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "tests/support/small_federation.hpp"

namespace undertone::tests {

/// Every question that the first silo was asked, in order, and the outcome, of a run without faults.
struct Trace {
  std::vector<queries::Query> asked;
  algorithms::Outcome outcome;
  RunId run;
};

[[nodiscard]] inline Trace trace_of(const SmallFederation& federation, lab::SimulatedNoise noise,
                                    std::uint64_t seed = 1) {
  lab::SimulatedFederation world({federation.job(), "small", federation.cohort(), seed, std::nullopt, noise, {}});
  Trace trace;
  Result<algorithms::Outcome> outcome = world.run([&](const coordinator::RunMachine::Action& action) {
    const auto* send = std::get_if<coordinator::RunMachine::Send>(&action);
    if (send == nullptr || send->silo.name() != "silo-0") return;
    wire::Decoder decoder{wire::Limits{}};
    for (const wire::Message& message : decoder.feed(*send->bytes).value()) {
      if (const auto* query = std::get_if<wire::QueryMessage>(&message)) trace.asked.push_back(query->query);
    }
  });
  EXPECT_TRUE(world.violations().empty()) << world.violations().front();
  EXPECT_TRUE(outcome) << outcome.error().message;
  if (outcome) trace.outcome = *std::move(outcome);
  trace.run = world.run_id();
  return trace;
}

}  // namespace undertone::tests
