#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/simulated_coordinator.hpp"
#include "simulation/simulated_shuffler.hpp"
#include "simulation/simulated_silo.hpp"

namespace undertone::simulation {

/// What must hold in a federation after every event, whatever failed, found again by other ways than the programs':
///   1. nothing leaves a silo that its ledger does not hold, nor while its owner has paused it or after he withdrew;
///   2. no two replies of a silo to one round of a run differ;
///   3. a ledger says what a recount of its entries says, and no entry ever goes;
///   4. after every round the algorithm stands where another one stands that was given the sum of the accepted replies,
///      each once, as they left the silos;
///   5. a shuffler forwards one batch of a round, ever.
class FederationAudit {
 public:
  /// @param shuffler_secrets of the keys that shares are sealed to, by name
  /// @param public_folder of the public records of jobs, if anywhere
  FederationAudit(std::map<std::string, std::string> shuffler_secrets, std::string sealing_secret,
                  jobs::Planner planner, std::optional<std::filesystem::path> public_folder)
      : shuffler_secrets_(std::move(shuffler_secrets)),
        sealing_secret_(std::move(sealing_secret)),
        planner_(std::move(planner)),
        public_folder_(std::move(public_folder)) {}

  void submitted(const RunId& run, const std::string& job);
  void leaving(const SimulatedSiloProcess::Leaving& leaving, SimulatedSiloProcess& silo);
  void rested(SimulatedSiloProcess& silo);
  void acts(const std::string& shuffler, const shuffler::BatchMachine::Action& action);
  void restored(const std::string& shuffler, const std::vector<shuffler::Batch>& batches);
  /// A run closed a round, or may have. @param store the coordinator's
  void check_rounds(const RunId& run, coordinator::RunStore& store);
  /// The owner's word is on disk.
  void paused(const SiloId& silo, bool is_paused);
  void withdrawn(const SiloId& silo, const RunId& run) { withdrawn_.insert({silo, run}); }

  /// What a run without faults would have come to, given the same accepted replies; nothing before the last round.
  [[nodiscard]] const std::optional<algorithms::Outcome>& expected(const RunId& run) const;
  void violate(std::string what);
  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }

 private:
  /// One run in a silo's ledger, recounted.
  struct Account {
    releases::EpsilonAmount epsilon;
    releases::DeltaAmount delta;
    std::map<std::string, releases::Cost> spent;   // by block
    std::map<std::uint64_t, std::string> replies;  // by round: digest of the stored bytes, hexadecimal
    bool ended = false;
    bool returned = false;
  };
  struct Books {
    std::uint64_t entries = 0;
    std::string head;  // hash of the last one
    std::map<RunId, Account> accounts;
  };
  /// A run as another algorithm goes through it.
  struct Shadow {
    jobs::Job job;
    std::unique_ptr<algorithms::FederatedAlgorithm> algorithm;
    planning::Schedule schedule;
    std::optional<planning::Plan> plan;              // of every silo of a shuffled job
    std::optional<jobs::PlausibleCohort> plausible;  // where an algorithm looks at the noise
    std::optional<algorithms::Outcome> outcome;
  };
  using Key = std::pair<RunId, std::uint64_t>;  // run and round

  void recount(SimulatedSiloProcess& silo);
  void enter(const SiloId& silo, Books& books, const std::string& body);
  void compare(const SiloId& silo, const Books& books, const silo::Ledger& ledger);
  [[nodiscard]] Result<folds::Gathered> gather(Shadow& shadow, const RunId& run, const queries::Query& query,
                                               const coordinator::RoundRecord& record, coordinator::RunStore& store);
  [[nodiscard]] Result<folds::Gathered> gather_shuffled(Shadow& shadow, const RunId& run, const queries::Query& query,
                                                        const planning::Release& release,
                                                        const coordinator::RoundRecord& record,
                                                        coordinator::RunStore& store);
  /// The reply as it left for one receiver. @return an error where none did
  [[nodiscard]] Result<wire::Message> left_for(const std::string& to, const SiloId& silo, const Key& key) const;

  std::map<std::string, std::string> shuffler_secrets_;
  std::string sealing_secret_;
  jobs::Planner planner_;
  std::optional<std::filesystem::path> public_folder_;
  std::map<SiloId, Books> books_;
  std::map<std::tuple<std::string, SiloId, RunId, std::uint64_t>, std::string> left_;  // receiver, silo, run, round
  std::map<RunId, Shadow> shadows_;
  std::map<std::pair<std::string, RunId>, shuffler::Batch> collecting_;  // without what was received
  std::map<std::pair<std::string, Key>, std::set<SiloId>> mixed_;
  std::map<std::pair<std::string, Key>, Digest> forwarded_;
  std::map<std::pair<std::string, RunId>, std::uint64_t> batch_round_;
  std::set<SiloId> paused_;
  std::set<std::pair<SiloId, RunId>> withdrawn_;
  std::vector<std::string> violations_;
};

}  // namespace undertone::simulation
