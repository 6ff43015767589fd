#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/federation_audit.hpp"
#include "simulation/simulated_coordinator.hpp"
#include "simulation/simulated_shuffler.hpp"
#include "simulation/simulated_silo.hpp"
#include "simulation/simulated_world.hpp"

namespace undertone::simulation {

/// The nonce of a simulated run that is given none.
[[nodiscard]] Nonce simulated_nonce(std::uint64_t seed);

/// A coordinator, its silos and shufflers in one thread and virtual time, made of the very objects that run over TCP,
/// talking in the very bytes. A function of its seed. What must always hold is checked after every event and noted in
/// `violations()`. @see FaultRates, FederationAudit
class SimulatedFederation {
 public:
  struct Job {
    std::string text;
    std::string file;
    std::optional<Nonce> nonce = std::nullopt;  // of the run; drawn from the seed if not given
    std::chrono::milliseconds submitted{0};
    std::optional<std::chrono::milliseconds> cancelled = std::nullopt;
  };
  struct Shuffler {
    std::string name;
    std::string secret;  // 32 bytes, of the key that shares are sealed to
  };
  /// What a silo's owner does. Leaving: the agent never comes back.
  struct OwnersAct {
    enum class What { Pause, Resume, Withdraw, Leave };
    std::chrono::milliseconds at{0};
    SiloId silo;
    What what = What::Pause;
    std::size_t job = 0;  // that is withdrawn from
  };
  struct Watch {
    std::function<void(const coordinator::JobService::OfRun&)> of_run;
    std::function<void(const SiloId&, const wire::Message&)> received;  // by a silo
    std::function<void(const SimulatedSiloProcess::Leaving&)> leaving;
  };
  struct Setup {
    std::vector<Job> jobs;
    std::vector<SimulatedSilo> silos;
    std::vector<Shuffler> shufflers = {};
    std::string sealing_secret = {};                         // of the coordinator's key for mixed replies; may be empty
    std::map<SiloId, std::chrono::milliseconds> joins = {};  // when a silo's agent is started first, if not at once
    std::vector<OwnersAct> acts = {};
    std::uint64_t seed = 0;
    SimulatedNoise noise = SimulatedNoise::Seeded;
    FaultRates faults = {};
    std::chrono::milliseconds time_max = std::chrono::hours(48);
    jobs::Planner planner = jobs::plan_of;
    std::optional<std::filesystem::path> public_folder = {};  // where the public records of jobs are
    std::function<bool()> stop = {};           // asked after every event whether the rest is not wanted; empty: never
    jobs::AlgorithmMaker make_algorithm = {};  // of the coordinator; empty: the jobs' own, as the audit has them
  };
  explicit SimulatedFederation(Setup setup);
  ~SimulatedFederation();
  SimulatedFederation(const SimulatedFederation&) = delete;
  SimulatedFederation& operator=(const SimulatedFederation&) = delete;

  /// Runs until every job has ended, then a while without faults, in which everybody hears of it.
  void run(Watch watch = {});
  /// Of one job: what the coordinator's host would write, once `run` is over.
  [[nodiscard]] Result<algorithms::Outcome> outcome(std::size_t job = 0);

  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return audit_.violations(); }
  [[nodiscard]] const SimulatedWorld& world() const noexcept { return world_; }
  /// @pre the job was submitted
  [[nodiscard]] RunId run_id(std::size_t job = 0) const { return runs_.at(job).value(); }
  /// The coordinator's store, once `run` is over.
  [[nodiscard]] coordinator::RunStore& store() { return *coordinator_->store(); }

 private:
  void submit(std::size_t job);
  void cancel(std::size_t job);
  void act(const OwnersAct& act);
  [[nodiscard]] bool all_ended();
  void check_ends();
  [[nodiscard]] std::string where_it_stands(std::size_t job) const;

  Setup setup_;
  SimulatedWorld world_;
  FederationAudit audit_;
  Watch watch_;
  std::unique_ptr<SimulatedCoordinator> coordinator_;
  std::vector<std::unique_ptr<SimulatedShuffler>> shufflers_;
  std::map<SiloId, std::unique_ptr<SimulatedSiloProcess>> silos_;
  std::set<SiloId> left_;
  std::vector<std::optional<RunId>> runs_;     // by job
  std::vector<std::optional<Error>> refused_;  // by job
};

}  // namespace undertone::simulation
