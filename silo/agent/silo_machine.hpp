#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "shared/data/split.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/wire/codec.hpp"
#include "shared/wire/messages.hpp"
#include "silo/agent/alike_refusals.hpp"
#include "silo/agent/answer_room.hpp"
#include "silo/agent/shuffled_reply.hpp"
#include "silo/approvals/desk.hpp"
#include "silo/ledger/ledger.hpp"
#include "silo/oracles/counts_oracle.hpp"
#include "silo/oracles/person_sums.hpp"
#include "silo/oracles/release_randomness.hpp"
#include "silo/policy/permit.hpp"
#include "silo/policy/policy.hpp"

namespace undertone::silo {

/// Bytes for the coordinator. What a reply carries was committed to the ledger before this exists.
struct Send {
  std::string bytes;
  std::optional<RunId> release;  // of a reply: it is held to the policy's interval after the query
};
/// A committed reply for the shufflers of its job. @see HandOver
struct SendShuffled {
  RunId run;
  RoundIndex round;
  ShuffledReply reply;
};
/// For the owner alone: an event for the log, with the full sentence where the coordinator gets a code.
struct Tell {
  bool warning = false;
  std::string event;
};
/// A run is over: its privacy statement can be written.
struct RunEnded {
  RunId run;
  bool succeeded = false;
};
/// The silo must answer nothing more until a person has looked.
struct Halt {
  Error reason;
};
using Action = std::variant<Send, SendShuffled, Tell, RunEnded, Halt>;

/// A silo's whole behaviour: messages of the coordinator in, actions out. Plain state without IO but the ledger's
/// commits. Whatever arrives, in whatever order and however often: each (run, round) is answered with one and the same
/// reply, nothing is answered that was not planned, reserved and committed, and nothing in a message reaches clip,
/// noise, draw or count.
class SiloMachine {
 public:
  struct Setup {
    SiloId id;
    Policy policy;
    DatasetFacts facts;
    const data::Dataset& dataset;
    Ledger& ledger;
    ReleaseRandomness& randomness;
    wire::Limits limits;
    std::set<Digest> known_ledgers;  // others of this silo: of its other data sets, or replaced on purpose
    Desk& desk;
    std::string dataset_name;
    Ledger::Clock clock;
    std::set<std::string> shufflers = {};  // that this silo dials, by name: jobs of others could not be answered
    jobs::Planner planner = jobs::plan_of;
    const RoomReserve* room = nullptr;  // on the ledger's disk; null: none is set aside
    std::optional<Permit> permit = {};  // that the data set needs; none: it needs none
  };
  explicit SiloMachine(Setup setup);

  /// Whether the policy would let this data set take part in the job.
  [[nodiscard]] Status would_accept(const jobs::Job& job) const;
  /// Everything that policy, data set and configuration have against the job, budget and plan aside.
  [[nodiscard]] std::vector<Objection> objections(const jobs::Job& job) const;

  [[nodiscard]] std::vector<Action> on_message(const wire::Message& message);
  /// An offer that the policy lets no data set take part in.
  /// @param everywhere what stands against it on each of them, this one first
  [[nodiscard]] std::vector<Action> on_refused_offer(const wire::JobOffer& offer,
                                                     const std::vector<DatasetObjections>& everywhere) {
    return on(offer, everywhere);
  }

  /// Whether the owner still lets replies of the run leave: asked again just before one does.
  [[nodiscard]] bool may_release(const RunId& run);

  /// The plan and job of a run that was accepted.
  struct Accepted {
    jobs::Job job;
    planning::Plan plan;
  };
  [[nodiscard]] Result<const Accepted*> accepted(const RunId& run);
  /// Whether advisory UA-2026-1 concerns the run. @see silo::concerned_by_places
  [[nodiscard]] bool concerned_by_places(const RunId& run, const RunAccount& account) const;
  /// The plan and job that the ledger recorded for a run, whatever the policy says today.
  /// @return an error where the plan that is made now is not the one that was reserved
  [[nodiscard]] Result<Accepted> recorded(const RunId& run) const;
  /// What a job would release and cost here, whatever the ledger says.
  [[nodiscard]] Result<Accepted> considered(const RunId& run, const std::string& job) const {
    return plan(run, job, true);
  }
  [[nodiscard]] Ledger& ledger() const noexcept { return setup_.ledger; }
  /// Whether records are made before an answer: of a map of all records, of some of their columns, or of a snapshot.
  [[nodiscard]] bool makes_records(const RunId& run) const {
    if (setup_.dataset.training_source) return true;
    const auto known = accepted_.find(run);
    return known != accepted_.end() &&
           (known->second.job.projection.has_value() || known->second.job.schema != setup_.facts.schema);
  }
  /// What an answer to the round takes, in products of a record's number with another; infinite of a round that is not
  /// planned. @see planning::products_of_answer
  [[nodiscard]] double answer_products(const RunId& run, RoundIndex round) const;
  /// All of the data set's, whatever they are used for.
  [[nodiscard]] std::int64_t records() const noexcept { return setup_.facts.records + setup_.facts.holdout_records; }
  [[nodiscard]] const std::string& dataset_name() const noexcept { return setup_.dataset_name; }

 private:
  [[nodiscard]] std::vector<Action> on(const wire::Welcome& welcome);
  [[nodiscard]] std::vector<Action> on(const wire::JobOffer& offer, const std::vector<DatasetObjections>& everywhere);
  [[nodiscard]] std::vector<Action> on(const wire::QueryMessage& message);
  [[nodiscard]] std::vector<Action> on(const wire::JobEnded& ended);
  [[nodiscard]] Result<Accepted> plan(const RunId& run, const std::string& job, bool ask_policy) const;
  [[nodiscard]] Result<Accepted> plan_of_job(const RunId& run, const std::string& job, bool ask_policy) const;
  /// Whether the data set's permit, where it needs one, is valid now.
  [[nodiscard]] Status check_permit() const;
  /// Whether each answer takes no more than the policy allows.
  [[nodiscard]] Status check_answers(const planning::Plan& plan) const;
  /// The plan of a job that is offered, not made again while it waits for its owner.
  [[nodiscard]] Result<Accepted> considered_once(const wire::JobOffer& offer);
  [[nodiscard]] Result<std::string> answer(const wire::QueryMessage& message);
  /// Room for the answers of a run that are to come. @return an error where the disk has not got it
  [[nodiscard]] Status set_room_aside(const RunId& run, const Accepted& accepted);
  /// The answer to a private question of a shuffled job, sealed, as the ledger keeps it.
  [[nodiscard]] Result<std::string> shuffled_answer(const wire::QueryMessage& message, const Digest& digest,
                                                    const Accepted& run, const planning::Release& release,
                                                    const SpendToken& token);
  [[nodiscard]] Send send(const wire::Message& message) { return {encoder_.encode(message), std::nullopt}; }
  /// A refusal, as far as the session's protocol can say it and the owner lets it be explained.
  /// @param reasons in full
  void refuse_job(const RunId& run, wire::Refusal refusal, ObjectionKind kind, const std::string& reasons,
                  std::vector<Action>& out);
  /// Refuses a job and keeps every reason for the owner.
  void refuse_offer(const wire::JobOffer& offer, const Error& error, const std::vector<DatasetObjections>& everywhere,
                    std::vector<Action>& out);
  /// What stands against an offer that failed with this error.
  [[nodiscard]] std::vector<DatasetObjections> against(const Result<jobs::ReadJob>& job, const Error& error) const;
  /// An offer of a run that ended before it was accepted becomes a past one.
  [[nodiscard]] Status note_end(const wire::JobEnded& ended);
  /// Whether the run's end is still to be noted in the ledger, or to be told here.
  [[nodiscard]] bool has_to_end(const RunId& run) const;
  /// Whether the owner took the silo out of the run; its ledger's account is then closed.
  [[nodiscard]] Result<bool> withdrawn(const RunId& run, std::optional<Decision> decision, std::vector<Action>& out);
  [[nodiscard]] Send receipt() { return send(wire::ReceiptMessage{setup_.ledger.head()}); }

  /// Where the run has put the records that its slices are cut from; none where the release reads no slice.
  [[nodiscard]] const RecordPlaces& places(const RunId& run, const planning::Release& release);
  /// Wipes them once no later round of the plan reads a slice of the block.
  void forget_read(const RunId& run, const planning::Plan& plan, RoundIndex round);
  /// What answers the questions of a run; kept for the run that asked last.
  struct Workspace {
    RunId run;
    std::unique_ptr<RecordSums> sums;        // null of a job without a model
    std::optional<data::Dataset> projected;  // the data set as the run's model reads it, where that is another
    std::optional<PersonDraw> persons;       // of a job of persons: whose records the present answer looks at
  };
  [[nodiscard]] Workspace& workspace(const RunId& run, const jobs::Job& job);
  [[nodiscard]] OracleData oracle_data(Workspace& workspace, const planning::Release& release, RoundIndex round);
  void forget(const RunId& run);

  Setup setup_;
  wire::Encoder encoder_;
  std::map<RunId, Accepted> accepted_;
  AnswerRoom room_;
  bool told_of_failing_end_ = false;   // since the last end that could be noted, of any run
  std::map<RunId, Accepted> waiting_;  // offered, not decided upon
  std::deque<RunId> over_;             // ended before they were accepted; an offer that comes later came late
  /// Whose places: of a permutation pass 0, of bins the pass's own draw.
  struct PlacesName {
    releases::Block block = releases::Block::Training;
    std::uint64_t pass = 0;
    friend auto operator<=>(const PlacesName&, const PlacesName&) = default;
  };
  std::map<std::pair<RunId, PlacesName>, RecordPlaces> places_;
  std::optional<Workspace> workspace_;
  BinomialCoins coins_;
  AlikeRefusals alike_;
  std::uint32_t protocol_ = wire::kProtocolMin;  // of the session
};

}  // namespace undertone::silo
