#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/small_federation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace undertone::tests {

/// Plans by the job's name and the silo's: jobs of one process that have a name have a plan.
/// Thousands of worlds whose processes start again and again need each plan many times.
class KnownPlans {
 public:
  [[nodiscard]] jobs::Planner planner();

 private:
  std::map<std::pair<std::string, SiloId>, Result<planning::Plan>> plans_;
};

/// Whole federations under faults, each a function of its seed: calm and wild, of one to three jobs, with and without
/// shufflers and public records, with owners who change their minds, with algorithms that take long, and with silos
/// that lie to shufflers and about them.
class FaultWorlds {
 public:
  FaultWorlds();
  [[nodiscard]] simulation::SimulatedFederation::Setup world(std::uint64_t seed);
  /// A job's name is a digest of the rest of it.
  [[nodiscard]] static std::string named(SmallFederation federation);
  [[nodiscard]] jobs::Planner planner() { return plans_.planner(); }

  /// Keys, the same in every world.
  [[nodiscard]] static std::vector<simulation::SimulatedFederation::Shuffler> shufflers();
  [[nodiscard]] static std::string sealing_secret();
  /// The section of a shuffled job: "counts", "shares" or "reports".
  [[nodiscard]] static std::string shuffle(const std::string& form);

 private:
  /// Jobs of one kind of data.
  struct Family {
    std::vector<SmallFederation> jobs;
  };
  TemporaryFolder open_;  // of public records that jobs bring
  KnownPlans plans_;
  std::vector<Family> families_;
};

/// How badly a world behaves, from hardly to wildly: a function of the seed.
[[nodiscard]] simulation::FaultRates fault_rates(std::uint64_t seed);

}  // namespace undertone::tests
