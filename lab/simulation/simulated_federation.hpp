#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "coordinator/round/run_machine.hpp"
#include "shared/base/random_source.hpp"
#include "shared/data/split.hpp"
#include "silo/agent/silo_machine.hpp"

namespace undertone::lab {

/// How badly the simulated world behaves. All zero: messages arrive at once and nothing dies.
struct FaultRates {
  double loss = 0.0;                            // per message
  double duplication = 0.0;                     // per message
  std::chrono::milliseconds delay_max{0};       // uniform per message, so messages overtake each other
  double disconnect = 0.0;                      // per message: the session breaks and all in flight is gone
  double crash_at_event = 0.0;                  // per event a process handles, before it does
  double crash_at_commit = 0.0;                 // at each side of each commit and of each write of a ledger's head
  std::optional<std::uint64_t> crash_at_point;  // exactly at this one of all such points, counted from 1
  std::chrono::milliseconds restart_max{0};     // a dead process is back within this
};

/// A silo of the simulation: what its agent would have read from its configuration and its data.
struct SimulatedSilo {
  SiloId id;
  silo::Policy policy;
  silo::DatasetFacts facts;
  data::Dataset dataset;
};

enum class SimulatedNoise { Seeded, None };

/// The nonce of a simulated run that is given none.
[[nodiscard]] Nonce simulated_nonce(std::uint64_t seed);

/// A coordinator and its silos in one thread and virtual time, made of the very objects that run over TCP, talking in
/// the very bytes. A function of its seed. Disks outlive processes; processes may die at every event and on both
/// sides of every commit. What must always hold is checked after every event and noted in `violations()`.
class SimulatedFederation {
 public:
  struct Setup {
    std::string job;
    std::string file;
    std::vector<SimulatedSilo> silos;
    std::uint64_t seed = 0;
    std::optional<Nonce> nonce = std::nullopt;  // of the run; drawn from the seed if not given
    SimulatedNoise noise = SimulatedNoise::Seeded;
    FaultRates faults;
    std::chrono::milliseconds time_max = std::chrono::hours(48);
  };
  explicit SimulatedFederation(Setup setup);
  ~SimulatedFederation();
  SimulatedFederation(const SimulatedFederation&) = delete;
  SimulatedFederation& operator=(const SimulatedFederation&) = delete;

  using Watch = std::function<void(const coordinator::RunMachine::Action&)>;
  /// Runs to the end. @param watch sees every action of the coordinator as it happens
  /// @return the outcome, or the failure that the run stated
  [[nodiscard]] Result<algorithms::Outcome> run(const Watch& watch = nullptr);

  [[nodiscard]] const std::vector<std::string>& violations() const noexcept { return violations_; }
  [[nodiscard]] std::uint64_t crashes() const noexcept { return crashes_; }
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  /// Points at which a process could have died.
  [[nodiscard]] std::uint64_t crash_points() const noexcept { return crash_points_; }
  [[nodiscard]] const RunId& run_id() const noexcept { return run_; }
  [[nodiscard]] store::Database& coordinator_disk() { return *coordinator_disk_; }
  [[nodiscard]] store::Database& silo_disk(const SiloId& silo);
  /// Opens a silo's ledger as its agent would after a restart.
  [[nodiscard]] Result<silo::Ledger> open_ledger(const SiloId& silo);

 private:
  struct Crash {};
  struct SiloProcess;
  struct Event {
    std::chrono::milliseconds at;
    std::uint64_t order;
    std::function<void()> happen;
    bool operator>(const Event& other) const noexcept { return at != other.at ? at > other.at : order > other.order; }
  };

  void after(std::chrono::milliseconds delay, std::function<void()> happen);
  [[nodiscard]] std::chrono::milliseconds random_delay(std::chrono::milliseconds most);
  [[nodiscard]] coordinator::TimePoint now() const { return coordinator::TimePoint(now_); }
  [[nodiscard]] silo::Ledger::Clock virtual_clock() const;
  void maybe_crash(double probability);
  void arm_disk(store::Database& disk);
  /// Runs an event of a process; if the process dies in it, `dead` is told.
  void survive(const std::function<void()>& event, const std::function<void()>& dead);

  void boot_coordinator();
  void kill_coordinator();
  void handle(Result<std::vector<coordinator::RunMachine::Action>> actions);
  void boot_silo(SiloProcess& silo);
  void kill_silo(SiloProcess& silo);
  void handle(SiloProcess& silo, std::vector<silo::Action> actions);
  void connect(SiloProcess& silo);
  void disconnect(SiloProcess& silo);
  void transmit(SiloProcess& silo, const std::shared_ptr<const std::string>& bytes, bool to_silo);
  void deliver(SiloProcess& silo, const std::string& bytes, bool to_silo);
  void check_reply(SiloProcess& silo, const wire::ReplyMessage& reply, const std::string& bytes);
  void violate(const std::string& what) { violations_.push_back(what); }

  Setup setup_;
  RandomSource chance_;
  std::chrono::milliseconds now_{0};
  std::uint64_t next_order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;

  std::unique_ptr<store::Database> coordinator_disk_;
  std::unique_ptr<coordinator::RunStore> run_store_;
  std::unique_ptr<coordinator::RunMachine> machine_;
  std::uint64_t coordinator_life_ = 0;
  std::uint64_t timer_ = 0;
  std::map<SiloId, std::unique_ptr<SiloProcess>> silos_;
  std::map<std::pair<SiloId, std::uint64_t>, Digest> replies_seen_;  // (silo, round) of the one run

  Watch watch_;
  RunId run_;
  std::optional<Result<algorithms::Outcome>> outcome_;
  bool over_ = false;
  std::vector<std::string> violations_;
  std::uint64_t crashes_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t crash_points_ = 0;
};

}  // namespace undertone::lab
