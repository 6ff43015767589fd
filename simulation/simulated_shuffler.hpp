#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/sealed/sealing_key.hpp"
#include "shared/wire/codec.hpp"
#include "shuffler/batch/batch_gate.hpp"
#include "shuffler/batch/batch_machine.hpp"
#include "shuffler/batch/batch_store.hpp"
#include "simulation/simulated_world.hpp"

namespace undertone::simulation {

/// A shuffler's machine between its store and its sessions. Its secret order is seeded: nothing here protects anybody.
class SimulatedShuffler final : public SimulatedProcess {
 public:
  struct Watch {
    /// Before an action is carried out.
    std::function<void(const std::string& shuffler, const shuffler::BatchMachine::Action& action)> acts;
    /// When a life begins.
    std::function<void(const std::string& shuffler, const std::vector<shuffler::Batch>& batches)> restored;
  };

  /// @param secret of the key that shares are sealed to, 32 bytes @param watch may be empty
  SimulatedShuffler(SimulatedWorld& world, std::string name, std::string secret, Watch watch);

  /// Silos and the coordinator, by name.
  void know(SimulatedProcess& peer) { peers_.emplace(peer.name(), &peer); }

 protected:
  void boot() override;
  void dispose() override;
  [[nodiscard]] std::optional<wire::Message> greet(SimulatedProcess& client) override;
  void on_connected(SimulatedProcess& /*peer*/, const std::optional<wire::Message>& /*greeting*/) override {}
  void on_lost(SimulatedProcess& /*peer*/) override {}
  void on_message(SimulatedProcess& peer, wire::Message message) override;

 private:
  using Machine = shuffler::BatchMachine;
  void carry_out(std::vector<Machine::Action> actions);
  void tell(const std::string& peer, const wire::Message& message);
  std::string secret_;
  Watch watch_;
  std::map<std::string, SimulatedProcess*> peers_;
  std::unique_ptr<shuffler::Permuter> permuter_;
  std::unique_ptr<shuffler::Adder> adder_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<shuffler::BatchStore> store_;
  std::unique_ptr<shuffler::BatchGate> gate_;
  std::unique_ptr<Machine> machine_;
  wire::Encoder encoder_{wire::Limits{}};
};

}  // namespace undertone::simulation
