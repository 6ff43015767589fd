#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "coordinator/jobs/run_store.hpp"
#include "coordinator/round/run_machine.hpp"

namespace undertone::coordinator {

/// Bounds of the queue and of what is kept.
struct ServiceLimits {
  std::size_t runs_at_once = 4;
  std::size_t runs_queued_max = 1000;      // waiting to start
  std::size_t runs_kept_max = 10'000;      // ended ones; older ones are forgotten
  std::chrono::hours runs_kept{24 * 365};  // after their end
};

/// The coordinator's whole behaviour: a queue of jobs and the machines of those that run, from events to actions. Plain
/// state without IO but the store's commits; after a restart every run goes on where the store says.
class JobService {
 public:
  using Clock = std::function<std::int64_t()>;  // seconds since 1970
  using SessionSend = RunMachine::Send;
  using SendToShuffler = RunMachine::SendToShuffler;
  using ArmTimer = RunMachine::ArmTimer;
  /// What a run's machine did or says.
  struct OfRun {
    RunId run;
    std::variant<RunMachine::Tell, RunMachine::RoundClosed, RunMachine::ReplyCounted, RunMachine::Ended,
                 RunMachine::Goodbye>
        what;
  };
  /// The store forgot this run: its results may go too.
  struct Forgotten {
    RunId run;
  };
  using Action = std::variant<SessionSend, SendToShuffler, ArmTimer, OfRun, Forgotten>;
  using Actions = std::vector<Action>;

  /// @param shufflers that this coordinator dials, by name: a job that names others is refused
  JobService(RunStore& store, wire::Limits wire, const ServiceLimits& limits, Clock clock,
             std::set<std::string> shufflers = {}, config::Planner planner = config::plan_of);

  /// Resumes what the store holds. Once, before anything else.
  [[nodiscard]] Result<Actions> start(TimePoint now);

  struct Submitted {
    RunId run;
    bool created = false;  // false: the job's newest run, which was there
    Actions actions;
  };
  /// Whether a job can be run here. Plans it for every silo, which takes its time: deadlines must not begin before.
  /// @param file for sentences about the job
  [[nodiscard]] Status check(const std::string& job, const std::string& file) const;
  /// Queues a job, or names its newest run. @pre `check` found nothing @param again begins a new run even if one has
  /// ended
  /// @param file for sentences about the job @param nonce of the run
  [[nodiscard]] Result<Submitted> submit(const std::string& job, const std::string& file, const Nonce& nonce,
                                         bool again, TimePoint now);
  /// @return UnknownRun, or InvalidArgument where the run has ended
  [[nodiscard]] Result<Actions> cancel(const RunId& run, const std::string& reason, TimePoint now);

  [[nodiscard]] Result<Actions> on_connected(const SiloId& silo, TimePoint now);
  void on_disconnected(const SiloId& silo);
  [[nodiscard]] Result<Actions> on_message(const SiloId& silo, const wire::Message& message, TimePoint now);
  [[nodiscard]] Result<Actions> on_shuffler_connected(const std::string& shuffler, TimePoint now);
  void on_shuffler_lost(const std::string& shuffler) { shufflers_connected_.erase(shuffler); }
  [[nodiscard]] Result<Actions> on_shuffler_message(const std::string& shuffler, wire::Message message, TimePoint now);
  [[nodiscard]] Result<Actions> on_timer(TimePoint now);

  /// The machine of a run that is under way, else null.
  [[nodiscard]] const RunMachine* machine(const RunId& run) const;
  [[nodiscard]] const std::set<SiloId>& connected() const noexcept { return connected_; }
  [[nodiscard]] RunStore& store() const noexcept { return *store_; }
  /// Nothing runs and nothing waits.
  [[nodiscard]] bool idle() const noexcept { return machines_.empty() && queue_.empty(); }

 private:
  [[nodiscard]] Status launch(const RunId& run, TimePoint now, Actions& out);
  [[nodiscard]] Status launch_queued(TimePoint now, Actions& out);
  [[nodiscard]] Status take(const RunId& run, Result<std::vector<RunMachine::Action>> actions, Actions& out);
  /// Whether this coordinator can run a job through its shufflers.
  [[nodiscard]] Status check_shuffle(const config::Job& job) const;
  /// Removes the machines that are done, starts what waits, arms the earliest timer.
  [[nodiscard]] Result<Actions> settle(TimePoint now, Actions out);

  RunStore* store_;
  wire::Limits wire_;
  ServiceLimits limits_;
  Clock clock_;
  std::map<RunId, std::unique_ptr<RunMachine>> machines_;
  std::map<RunId, TimePoint> timers_;
  std::vector<RunId> queue_;  // oldest first
  std::set<RunId> done_;
  std::set<SiloId> connected_;
  std::set<std::string> shufflers_;
  config::Planner planner_;
  std::set<std::string> shufflers_connected_;
  wire::Encoder encoder_;
};

/// Draws a key that a job's replies can be sealed to, and keeps it. @return its fingerprint, for the job
[[nodiscard]] Result<Digest> make_sealing_key(RunStore& store);

}  // namespace undertone::coordinator
