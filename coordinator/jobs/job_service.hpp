#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/runs/run_machine.hpp"
#include "coordinator/runs/run_store.hpp"

namespace undertone::coordinator {

/// Bounds of the queue and of what is kept.
struct ServiceLimits {
  std::size_t runs_at_once = 4;
  std::size_t runs_queued_max = 1000;      // waiting to start
  std::size_t runs_kept_max = 10'000;      // ended ones; older ones are forgotten
  std::chrono::hours runs_kept{24 * 365};  // after their end
};

/// A job with a plan for every silo that it names.
class PlannedJob {
 public:
  /// Takes the time that planning takes, and needs nothing of any service: any thread may do it.
  /// @param file for sentences about the job
  /// @param public_folder where the public records of jobs are, if anywhere
  [[nodiscard]] static Result<PlannedJob> plan(const std::string& text, const std::string& file,
                                               const jobs::Planner& planner = jobs::plan_of,
                                               const std::optional<std::filesystem::path>& public_folder = {});

 private:
  friend class JobService;
  [[nodiscard]] static Result<PlannedJob> plan_of_text(const std::string& text, const std::string& file,
                                                       const jobs::Planner& planner,
                                                       const std::optional<std::filesystem::path>& public_folder);
  PlannedJob(std::string text, std::string file, PreparedJob prepared)
      : text_(std::move(text)), file_(std::move(file)), prepared_(std::move(prepared)) {}
  std::string text_;
  std::string file_;
  PreparedJob prepared_;
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
    std::variant<RunMachine::LogEvent, RunMachine::RoundClosed, RunMachine::ReplyCounted, RunMachine::Ended,
                 RunMachine::Goodbye>
        what;
  };
  /// The store forgot this run: its results may go too.
  struct Forgotten {
    RunId run;
  };
  /// An Advance is to be performed where nobody waits for it, and `on_advanced` told what it led to.
  using Action = std::variant<SessionSend, SendToShuffler, ArmTimer, Advance, OfRun, Forgotten>;
  using Actions = std::vector<Action>;

  /// Acceptances of runs that are over or were never here, which are answered on one connection.
  static constexpr std::size_t kUnknownRunsMax = 1024;

  /// @param shufflers that this coordinator dials, by name: a job that names others is refused
  JobService(RunStore& store, wire::Limits wire, const ServiceLimits& limits, Clock clock,
             std::set<std::string> shufflers = {}, jobs::Planner planner = jobs::plan_of,
             jobs::AlgorithmMaker make_algorithm = jobs::make_algorithm);

  /// Resumes what the store holds. Once, before anything else.
  /// @param set_aside runs that brought the process down again and again, with the round: they fail, with that reason
  [[nodiscard]] Result<Actions> start(TimePoint now, const std::map<RunId, RoundIndex>& set_aside = {});

  struct Submitted {
    RunId run;
    bool created = false;  // false: the job's newest run, which was there
    Actions actions;
  };
  /// The run that submitting these bytes would name without beginning one, if there is one.
  [[nodiscard]] Result<std::optional<RunId>> known(const std::string& job, bool again) const;
  /// Queues a job, or names its newest run. @param again begins a new run even if one has ended @param nonce of the run
  /// @return an error where this coordinator has not the shufflers or the key that the job names
  [[nodiscard]] Result<Submitted> submit(const PlannedJob& planned, const Nonce& nonce, bool again, TimePoint now);
  /// @return UnknownRun, or InvalidArgument where the run has ended
  [[nodiscard]] Result<Actions> cancel(const RunId& run, const std::string& reason, TimePoint now);

  [[nodiscard]] Result<Actions> on_connected(const SiloId& silo, TimePoint now);
  [[nodiscard]] Result<Actions> on_disconnected(const SiloId& silo, TimePoint now);
  [[nodiscard]] Result<Actions> on_message(const SiloId& silo, const wire::Message& message, TimePoint now);
  /// What becomes of a silo's vector of which nothing but the header is here. @return nothing where a run waits for it,
  /// exactly as it is announced
  [[nodiscard]] std::optional<Round::Reception> refuses(const SiloId& silo, const wire::VectorHeader& header) const;
  [[nodiscard]] Result<Actions> on_shuffler_connected(const std::string& shuffler, TimePoint now);
  void on_shuffler_lost(const std::string& shuffler) { shufflers_connected_.erase(shuffler); }
  [[nodiscard]] bool is_connected(const std::string& shuffler) const { return shufflers_connected_.contains(shuffler); }
  [[nodiscard]] Result<Actions> on_shuffler_message(const std::string& shuffler, wire::Message message, TimePoint now);
  [[nodiscard]] Result<Actions> on_timer(TimePoint now);
  /// Of no effect where its run has ended meanwhile.
  [[nodiscard]] Result<Actions> on_advanced(Advanced advanced, TimePoint now);

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
  /// Whether this coordinator dials the shufflers and has the key.
  [[nodiscard]] Status check_shuffle(const jobs::Shuffle& shuffle) const;
  /// When runs must have ended that are old enough to be forgotten, in seconds since 1970. While the wall clock has
  /// gone otherwise than time has since the start, none are: it may have been set wrong, and what is forgotten is gone.
  [[nodiscard]] std::int64_t forget_before(TimePoint now) const;
  /// @return seconds since 1970: what the wall clock says, or where it has gone otherwise than time has since the
  /// start, by more than a day, what it would say had it not
  [[nodiscard]] std::int64_t date_of(TimePoint now) const;
  /// Dates the runs that have ended since it was called last.
  [[nodiscard]] Status date_ends(TimePoint now);
  /// Removes the machines that are done, starts what waits, arms the earliest timer.
  [[nodiscard]] Result<Actions> settle(TimePoint now, Actions out);

  RunStore* store_;
  wire::Limits wire_;
  ServiceLimits limits_;
  Clock clock_;
  TimePoint started_{};
  std::int64_t started_at_ = 0;  // the same, by the wall clock
  std::map<RunId, std::unique_ptr<RunMachine>> machines_;
  std::map<RunId, TimePoint> timers_;
  std::vector<RunId> queue_;  // oldest first
  std::set<RunId> ended_;     // and have no date yet
  std::set<RunId> done_;
  std::set<SiloId> connected_;
  std::map<SiloId, std::set<RunId>> told_over_;  // on their connections, of runs that have no machine
  std::set<std::string> shufflers_;
  jobs::Planner planner_;
  jobs::AlgorithmMaker make_algorithm_;
  std::set<std::string> shufflers_connected_;
  wire::Encoder encoder_;
};

/// Draws a key that a job's replies can be sealed to, and keeps it. @return its fingerprint, for the job
[[nodiscard]] Result<Digest> make_sealing_key(RunStore& store);

}  // namespace undertone::coordinator
