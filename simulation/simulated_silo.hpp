#pragma once

#include <functional>
#include <memory>
#include <string>

#include "shared/data/split.hpp"
#include "silo/agent/hand_over.hpp"
#include "silo/agent/silo_machine.hpp"
#include "simulation/simulated_world.hpp"

namespace undertone::simulation {

/// A silo of the simulation: what its agent would have read from its configuration and its data.
struct SimulatedSilo {
  SiloId id;
  silo::Policy policy;
  silo::DatasetFacts facts;
  data::Dataset dataset;
  /// What it does to shuffled rounds. OtherTerms: says that its replies, which are garbage, were made for terms of its
  /// own. ClaimsHandOver: says that it handed over what it keeps.
  enum class Hostility { None, OtherTerms, ClaimsHandOver };
  Hostility hostility = Hostility::None;
};

enum class SimulatedNoise { Seeded, None };

/// The agent of a silo between its ledger, its owner's desk and its sessions.
class SimulatedSiloProcess final : public SimulatedProcess {
 public:
  /// What leaves the silo with a release in it, just before it does.
  struct Leaving {
    SiloId silo;
    std::string to;  // "coordinator", or a shuffler
    RunId run;
    RoundIndex round;
    std::string_view bytes;
  };
  struct Watch {
    std::function<void(const SiloId&, const wire::Message&)> received;
    std::function<void(const Leaving&)> leaving;
    /// After every event of the silo in which it lived.
    std::function<void(SimulatedSiloProcess&)> rested;
    /// The silo says that a person must look.
    std::function<void(const SiloId&, const Error&)> halted;
  };
  static constexpr const char* kLedger = "ledger.sqlite";

  SimulatedSiloProcess(SimulatedWorld& world, SimulatedSilo spec, std::uint64_t seed, SimulatedNoise noise,
                       std::set<std::string> shufflers, jobs::Planner planner, Watch watch);

  void know(SimulatedProcess& peer) { peers_.emplace(peer.name(), &peer); }

  /// The owner's word, in an event of its own. @return whether it is on disk
  [[nodiscard]] bool set_paused(bool paused);
  [[nodiscard]] bool withdraw(const RunId& run);

  [[nodiscard]] const SiloId& id() const noexcept { return spec_.id; }
  /// Of this life, else null.
  [[nodiscard]] silo::Ledger* ledger() const noexcept { return ledger_.get(); }
  [[nodiscard]] store::Database* database() const noexcept { return database_.get(); }

 protected:
  void boot() override;
  void dispose() override;
  [[nodiscard]] std::optional<wire::Message> greet(SimulatedProcess& /*client*/) override { return std::nullopt; }
  void on_connected(SimulatedProcess& peer, const std::optional<wire::Message>& greeting) override;
  void on_lost(SimulatedProcess& /*peer*/) override {}
  void on_message(SimulatedProcess& peer, wire::Message message) override;

 private:
  class Head;
  void handle(std::vector<silo::Action> actions);
  void handle(const std::vector<silo::HandOver::Action>& actions);
  void tell_coordinator(std::string bytes);
  void rest();

  SimulatedSilo spec_;
  SigningKey key_;
  silo::DatasetIdentity identity_;
  std::set<std::string> shufflers_;
  jobs::Planner planner_;
  Watch watch_;
  std::unique_ptr<silo::ReleaseRandomness> randomness_;
  std::unique_ptr<silo::HeadStore> head_;
  std::map<std::string, SimulatedProcess*> peers_;
  // What dies with the process:
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<store::Database> desk_database_;
  std::unique_ptr<silo::Desk> desk_;
  std::unique_ptr<silo::Ledger> ledger_;
  std::unique_ptr<silo::SiloMachine> machine_;
  silo::HandOver hand_over_;
  wire::Encoder encoder_{wire::Limits{}};
};

}  // namespace undertone::simulation
