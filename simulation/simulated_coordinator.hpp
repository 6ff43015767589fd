#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "coordinator/jobs/job_service.hpp"
#include "simulation/simulated_world.hpp"

namespace undertone::simulation {

/// The coordinator's service between its store and its sessions.
class SimulatedCoordinator final : public SimulatedProcess {
 public:
  using Watch = std::function<void(const coordinator::JobService::OfRun&)>;
  static constexpr const char* kStore = "coordinator.sqlite";

  struct Setup {
    std::set<std::string> shufflers;  // that it dials, by name
    std::string sealing_secret;       // 32 bytes of a key that jobs' replies can be sealed to; may be empty
    jobs::Planner planner;
    jobs::AlgorithmMaker make_algorithm;
    std::optional<std::filesystem::path> public_folder;  // of the public records of jobs
    Watch watch;                                         // hears what the runs' machines say; may be empty
  };
  SimulatedCoordinator(SimulatedWorld& world, Setup setup)
      : SimulatedProcess(world, "coordinator"), setup_(std::move(setup)) {}

  /// Silos and shufflers, by name.
  void know(SimulatedProcess& peer) { peers_.emplace(peer.name(), &peer); }

  /// An operator's submission, within an event of this process.
  /// @return the run, or nothing where the store failed; an error where the job is refused
  [[nodiscard]] Result<std::optional<RunId>> submit(const std::string& job, const std::string& file,
                                                    const Nonce& nonce);
  /// @return whether the run is known to have ended or been cancelled
  [[nodiscard]] bool cancel(const RunId& run);

  /// Of this life, else null.
  [[nodiscard]] coordinator::JobService* service() const noexcept { return service_.get(); }
  [[nodiscard]] coordinator::RunStore* store() const noexcept { return store_.get(); }
  [[nodiscard]] store::Database* database() const noexcept { return database_.get(); }

 protected:
  void boot() override;
  void dispose() override;
  [[nodiscard]] std::optional<wire::Message> greet(SimulatedProcess& client) override;
  void on_connected(SimulatedProcess& peer, const std::optional<wire::Message>& greeting) override;
  void on_lost(SimulatedProcess& peer) override;
  void on_message(SimulatedProcess& peer, wire::Message message) override;

 private:
  void handle(Result<coordinator::JobService::Actions> actions);
  [[nodiscard]] bool is_shuffler(const SimulatedProcess& peer) const { return setup_.shufflers.contains(peer.name()); }
  Setup setup_;
  std::map<std::string, SimulatedProcess*> peers_;
  std::unique_ptr<store::Database> database_;
  std::unique_ptr<coordinator::RunStore> store_;
  std::unique_ptr<coordinator::JobService> service_;
  std::uint64_t timer_ = 0;
};

}  // namespace undertone::simulation
