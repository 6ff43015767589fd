#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/rounds/round.hpp"
#include "coordinator/runs/advance.hpp"
#include "coordinator/runs/prepared_job.hpp"
#include "coordinator/runs/round_driver.hpp"
#include "coordinator/runs/run_members.hpp"
#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/wire/codec.hpp"

namespace undertone::coordinator {

/// One run of one job, as a machine from events to actions: offers the job, opens rounds, folds replies, commits every
/// step to the store before anybody hears of it, and can be killed between any two events. After an error, which is the
/// store's, it is not to be used: it is opened again from the store.
class RunMachine {
 public:
  /// Bytes shared by everybody they are for: a broadcast is encoded once.
  using Bytes = std::shared_ptr<const std::string>;
  struct Send {
    SiloId silo;
    Bytes bytes;
  };
  /// To a shuffler of the job; may be dropped where there is no session with it.
  struct SendToShuffler {
    std::string shuffler;
    Bytes bytes;
  };
  /// Call `on_timer` at this time; replaces an earlier one.
  struct ArmTimer {
    TimePoint at;
  };
  using LogEvent = Round::LogEvent;
  struct RoundClosed {
    RoundIndex round;
    std::uint64_t rounds = 0;  // of the whole run
    std::size_t replies = 0;
    std::vector<SiloId> missing;
    std::optional<algorithms::MetricsRow> metrics;  // if it was an evaluation
    std::chrono::milliseconds elapsed{0};
  };
  /// A reply came: what became of it.
  struct ReplyCounted {
    Round::Reception reception;
  };
  /// The run is over and the store says so.
  struct Ended {
    Result<algorithms::Outcome> outcome;
  };
  /// Everybody has heard of it, or had the time to: the process may exit.
  struct Goodbye {};
  /// An Advance takes long: it is to be performed where nobody waits for it, and `on_advanced` told what it led to.
  using Action =
      std::variant<Send, SendToShuffler, ArmTimer, Advance, LogEvent, RoundClosed, ReplyCounted, Ended, Goodbye>;

  static constexpr const char* kNotConnected = "not connected";

  enum class Phase { Joining, Round, Leaving, Done };

  /// Continues a run of the store where it stands, or takes up the outcome of one that has ended. Plans the cohort only
  /// where the store has an unfinished run of a version that kept nothing of its plans.
  [[nodiscard]] static Result<RunMachine> open(RunStore& store, RunRecord record, wire::Limits limits,
                                               const jobs::Planner& planner = jobs::plan_of,
                                               const jobs::AlgorithmMaker& make_algorithm = jobs::make_algorithm);

  [[nodiscard]] Result<std::vector<Action>> start(TimePoint now);
  /// The silo's session is ready: it has been welcomed.
  [[nodiscard]] Result<std::vector<Action>> on_connected(const SiloId& silo, TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_disconnected(const SiloId& silo, TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_message(const SiloId& silo, const wire::Message& message, TimePoint now);
  /// What becomes of a reply of which nothing but the header is here. @return nothing where it is worth receiving
  [[nodiscard]] std::optional<Round::Reception> refuses(const SiloId& silo, const wire::VectorHeader& header) const;
  /// The session with a shuffler of the job is ready.
  [[nodiscard]] Result<std::vector<Action>> on_shuffler_connected(const std::string& shuffler, TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_shuffler_message(const std::string& shuffler, wire::Message message,
                                                                TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_timer(TimePoint now);
  /// What an Advance of this machine led to. Of no effect where the run was ended meanwhile.
  [[nodiscard]] Result<std::vector<Action>> on_advanced(Advanced advanced, TimePoint now);
  /// The operator ends the run. @pre it has not ended
  [[nodiscard]] Result<std::vector<Action>> cancel(const std::string& reason, TimePoint now);

  /// Why a silo's answer is missing, for whoever watches: "not connected", "waits for its owner", "refused: budget".
  /// Empty where nothing is missing of it yet.
  [[nodiscard]] std::string why_missing(const SiloId& silo) const;
  [[nodiscard]] std::uint64_t rounds_total() const noexcept { return driver_->rounds_total(); }
  /// That are in the store.
  [[nodiscard]] std::uint64_t rounds_closed() const noexcept { return driver_->rounds_closed(); }
  [[nodiscard]] bool ended() const noexcept { return is_end(record_.state); }

  [[nodiscard]] const RunId& run() const noexcept { return record_.run; }
  [[nodiscard]] const jobs::Job& job() const noexcept { return *job_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] const RunMembers::Answers& answers() const noexcept { return members_.answers(); }
  [[nodiscard]] std::uint64_t messages_encoded() const noexcept { return encoder_.messages_encoded(); }
  /// The round that is asked, or was asked last, for whoever watches.
  struct Progress {
    RoundIndex round;
    std::set<SiloId> answered;
  };
  [[nodiscard]] std::optional<Progress> progress() const;
  /// When owners that have not answered are awaited no longer. Nothing unless some are awaited.
  [[nodiscard]] std::optional<TimePoint> join_deadline() const {
    return phase_ == Phase::Joining ? deadline_ : std::nullopt;
  }

 private:
  using Actions = std::vector<Action>;
  using Member = RunMembers::Member;
  RunMachine(RunStore& store, RunRecord record, PreparedJob prepared, wire::Limits limits,
             const jobs::AlgorithmMaker& make_algorithm);

  /// What the store's state of the run asks for. @param restored whether the algorithm stands where the store says
  [[nodiscard]] Status resume(TimePoint now, const Status& restored, Actions& out);
  [[nodiscard]] Status begin_rounds(TimePoint now, Actions& out);
  [[nodiscard]] Status open_round(TimePoint now, Actions& out);
  /// The round has what it waited for. What follows from it is worked out here and now, or handed out.
  [[nodiscard]] Status close_round(TimePoint now, Actions& out);
  [[nodiscard]] Status go_on(Advanced advanced, TimePoint now, Actions& out);
  /// The end of the last round is in the store: whoever kept something for it need not any more.
  [[nodiscard]] Status deliver_round(TimePoint now, Actions& out);
  [[nodiscard]] Status succeed(TimePoint now, Actions& out);
  [[nodiscard]] Status fail(RunState state, const Error& failure, TimePoint now, Actions& out);
  void leave(TimePoint now, Actions& out);
  void finish_leaving(Actions& out);

  /// Tells the round of an event and does what it answers. Where the round breaks, its run ends and no other.
  template <class Event>
  [[nodiscard]] Status in_round(Event&& event, TimePoint now, Actions& out);
  /// The round broke an invariant: it is not used any more, and the run fails.
  [[nodiscard]] Status fail_broken(const Error& failure, TimePoint now, Actions& out);
  /// Does what the round says, in order.
  [[nodiscard]] Status carry_out(Round::Actions actions, TimePoint now, Actions& out);

  [[nodiscard]] Status on(const SiloId& silo, const wire::JobAnswer& answer, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::JobPending& pending, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::QueryRefused& refused, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::ReplyMessage& reply, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::ReplyHandedOver& handed, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::ReceiptMessage& receipt, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::JobEndedSeen& seen, TimePoint now, Actions& out);
  /// Nothing of it is taken any more, since it said what no honest silo says.
  void exclude(const SiloId& silo, const queries::Reply& reply, Actions& out);

  /// Sends a silo what it has to answer now, if anything.
  void say_what_is_due(const SiloId& silo, const Member& member, Actions& out);
  void offer(const SiloId& silo, Actions& out);
  void ask(const SiloId& silo, Actions& out);
  void send_to_shuffler(const std::string& shuffler, const wire::Message& message, Actions& out);
  void arm(Actions& out);
  [[nodiscard]] bool is_of_job(const std::string& shuffler) const;

  RunStore* store_;
  RunRecord record_;
  std::unique_ptr<jobs::Job> job_;
  std::unique_ptr<RoundDriver> driver_;
  RunMembers members_;
  wire::Encoder encoder_;
  Phase phase_ = Phase::Joining;
  bool delivered_ = true;     // the last round
  std::set<SiloId> unaware_;  // that the run has ended, while leaving: those that accepted the job
  Bytes offer_bytes_;
  Bytes query_bytes_;
  Bytes ended_bytes_;
  std::optional<TimePoint> deadline_;
  TimePoint next_resend_{};
};

}  // namespace undertone::coordinator
