#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/rounds/round_machine.hpp"
#include "coordinator/rounds/shuffled_round.hpp"
#include "coordinator/runs/run_store.hpp"
#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/sealed/reply_mac_key.hpp"
#include "shared/sealed/sealing_key.hpp"
#include "shared/wire/codec.hpp"

namespace undertone::coordinator {

/// One run of one job, as a machine from events to actions: offers the job, opens rounds, folds replies, commits every
/// step to the store before anybody hears of it, and can be killed between any two events. The algorithm is driven
/// here and nowhere else, over TCP as in a simulation.
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
  /// For the log and for whoever watches.
  struct Tell {
    bool warning = false;
    std::string event;
  };
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
    RoundMachine::Reception reception;
  };
  /// The run is over and the store says so.
  struct Ended {
    Result<algorithms::Outcome> outcome;
  };
  /// Everybody has heard of it, or had the time to: the process may exit.
  struct Goodbye {};
  using Action = std::variant<Send, SendToShuffler, ArmTimer, Tell, RoundClosed, ReplyCounted, Ended, Goodbye>;

  enum class Phase { Joining, Round, Leaving, Done };

  /// Continues a run of the store where it stands. Plans the cohort only where the store has a run of a version that
  /// kept nothing of its plans.
  [[nodiscard]] static Result<RunMachine> open(RunStore& store, RunRecord record, wire::Limits limits,
                                               jobs::Planner planner = jobs::plan_of);

  [[nodiscard]] Result<std::vector<Action>> start(TimePoint now);
  /// The silo's session is ready: it has been welcomed.
  [[nodiscard]] Result<std::vector<Action>> on_connected(const SiloId& silo);
  void on_disconnected(const SiloId& silo);
  [[nodiscard]] Result<std::vector<Action>> on_message(const SiloId& silo, const wire::Message& message, TimePoint now);
  /// What becomes of a reply of which nothing but the header is here. @return nothing where it is worth receiving
  [[nodiscard]] std::optional<RoundMachine::Reception> refuses(const SiloId& silo,
                                                               const wire::VectorHeader& header) const;
  /// The session with a shuffler of the job is ready.
  [[nodiscard]] Result<std::vector<Action>> on_shuffler_connected(const std::string& shuffler, TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_shuffler_message(const std::string& shuffler, wire::Message message,
                                                                TimePoint now);
  [[nodiscard]] Result<std::vector<Action>> on_timer(TimePoint now);
  /// The operator ends the run. @pre it has not ended
  [[nodiscard]] Result<std::vector<Action>> cancel(const std::string& reason, TimePoint now);

  /// Why a silo's answer is missing, for whoever watches: "not connected", "waits for its owner", "refused: budget".
  /// Empty where nothing is missing of it yet.
  [[nodiscard]] std::string why_missing(const SiloId& silo) const;
  [[nodiscard]] std::uint64_t rounds_total() const noexcept { return rounds_total_; }
  [[nodiscard]] bool ended() const noexcept { return is_end(record_.state); }

  [[nodiscard]] const RunId& run() const noexcept { return record_.run; }
  [[nodiscard]] const jobs::Job& job() const noexcept { return *job_; }
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] const std::map<SiloId, std::optional<wire::Refusal>>& answers() const noexcept {
    return record_.answers;
  }
  [[nodiscard]] std::uint64_t messages_encoded() const noexcept { return encoder_.messages_encoded(); }
  /// The round that is asked, or was asked last, for whoever watches.
  struct Progress {
    RoundIndex round;
    bool closed = false;
    std::set<SiloId> answered;
  };
  [[nodiscard]] std::optional<Progress> progress() const;

 private:
  using Actions = std::vector<Action>;
  RunMachine(RunStore& store, RunRecord record, jobs::Job job, jobs::PlausibleCohort plausible, wire::Limits limits,
             jobs::Planner planner);

  /// Of the algorithm, from the checkpoint. An error is this run's end, and no other's.
  [[nodiscard]] Status restore();
  [[nodiscard]] Status begin_rounds(TimePoint now, Actions& out);
  [[nodiscard]] Status open_round(TimePoint now, Actions& out);
  [[nodiscard]] Status close_round(TimePoint now, Actions& out);
  [[nodiscard]] Status end(const std::optional<Error>& failure, TimePoint now, Actions& out);
  [[nodiscard]] Status fail(RunState state, const Error& failure, TimePoint now, Actions& out);
  void leave(TimePoint now, Actions& out);
  void maybe_done(Actions& out);
  [[nodiscard]] Status run_round_actions(const std::vector<RoundMachine::Action>& actions, TimePoint now, Actions& out);
  [[nodiscard]] Status open_shuffled_round(const queries::Query& query, const Digest& digest, TimePoint now,
                                           Actions& out);
  [[nodiscard]] Status run_shuffled_actions(std::vector<ShuffledRound::Action> actions, TimePoint now, Actions& out);
  void send_to_shuffler(const std::string& shuffler, const wire::Message& message, Actions& out);
  /// Whether the round still wants this silo's answer.
  [[nodiscard]] bool wants(const SiloId& silo) const;
  [[nodiscard]] Status lose(const SiloId& silo, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::JobAnswer& answer, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::QueryRefused& refused, TimePoint now, Actions& out);
  [[nodiscard]] Status on(const SiloId& silo, const wire::ReplyMessage& reply, TimePoint now, Actions& out);
  void offer(const SiloId& silo, Actions& out);
  void ask(const SiloId& silo, Actions& out);
  void resend(Actions& out);
  void arm(Actions& out);
  [[nodiscard]] bool answered(const SiloId& silo) const { return record_.answers.contains(silo); }
  [[nodiscard]] bool everybody_answered() const;
  [[nodiscard]] bool takes_part(const SiloId& silo) const;
  /// How a silo's answer to the open round counts. @pre a round that no shuffler mixes is open
  [[nodiscard]] Participant participant(const jobs::CohortMember& member) const;
  [[nodiscard]] std::string saved_state() const;

  RunStore* store_;
  jobs::Planner planner_;
  RunRecord record_;
  std::unique_ptr<jobs::Job> job_;
  std::unique_ptr<algorithms::FederatedAlgorithm> algorithm_;
  std::uint64_t rounds_total_ = 0;
  wire::Encoder encoder_;
  Phase phase_ = Phase::Joining;
  std::set<SiloId> connected_;
  std::set<SiloId> dropped_;      // refused a query of this run, or
  std::set<SiloId> implausible_;  // said what no honest silo says; forgotten by a restart, as the others are
  std::set<SiloId> seen_end_;
  std::set<SiloId> told_end_;            // on their connections, for accepting too late
  std::map<SiloId, std::string> said_;   // why an answer is still missing, as the silo says
  std::map<SiloId, int> offers_again_;   // in this round
  std::map<SiloId, int> changes_;        // of each silo's mind about the job
  std::optional<jobs::RoundSpec> spec_;  // of the open round
  std::unique_ptr<RoundMachine> round_;  // of these two the one that is under way
  std::unique_ptr<ShuffledRound> shuffled_;
  std::shared_ptr<const jobs::PlausibleCohort> plausible_;
  std::shared_ptr<const folds::PlausibleReplies::Asked> asked_;  // in the round that is under way
  std::optional<planning::Plan> plan_;                           // of every silo of a shuffled job
  std::optional<sealed::SealingKey> sealing_key_;
  std::optional<sealed::ReplyMacKey> mac_key_;
  Bytes offer_bytes_;
  Bytes query_bytes_;
  Bytes ended_bytes_;
  std::optional<TimePoint> deadline_;
  TimePoint next_resend_{};
  TimePoint round_began_{};
};

}  // namespace undertone::coordinator
