#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/runs/shuffled_tables.hpp"
#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/base/ids.hpp"
#include "shared/store/sqlite.hpp"
#include "shared/wire/messages.hpp"
#include "shared/wire/receipt.hpp"

namespace undertone::coordinator {

/// Queued: nobody has heard of it yet. Joining: offered to the silos. The last three are ends.
enum class RunState { Queued, Joining, Running, Succeeded, Failed, Cancelled };
[[nodiscard]] const char* to_string(RunState state) noexcept;
[[nodiscard]] std::optional<RunState> parse_run_state(std::string_view name) noexcept;

/// Which runs somebody looks for.
struct SoughtRuns {
  std::string name;               // stands somewhere in theirs, whatever the case; empty: any
  std::optional<RunState> state;  // nothing: any
};
[[nodiscard]] inline bool is_end(RunState state) noexcept {
  return state == RunState::Succeeded || state == RunState::Failed || state == RunState::Cancelled;
}

/// Where a run stands: the algorithm's state and the query that follows from it.
struct Checkpoint {
  RoundIndex round;  // of the query; past the last one when the run succeeded
  std::string algorithm_state;
  Digest query{};  // digest of the query that is broadcast after this is committed
};

/// A closed round, as reports and audits see it.
struct RoundRecord {
  RoundIndex round;
  std::map<SiloId, Digest> accepted;  // who was folded in, and the digest of what each said
  std::vector<SiloId> missing;
  std::chrono::milliseconds elapsed{0};           // from the first time it was asked in this process to its end
  std::optional<algorithms::MetricsRow> metrics;  // if it was an evaluation
};

/// What a silo has agreed to be charged.
struct Charge {
  double epsilon = 0.0;
  double delta = 0.0;
};

struct RunRecord {
  RunId run;
  std::int64_t number = 0;  // in the order of submission
  std::string name;         // the job's
  std::string job;
  std::int64_t submitted_at = 0;  // seconds since 1970; 0 before times were kept
  std::int64_t ended_at = 0;
  RunState state = RunState::Joining;
  std::string failure;
  std::map<SiloId, std::optional<wire::Refusal>> answers;  // to the job's offer
  std::map<SiloId, std::string> explanations;              // of refusals, as far as a silo explains them
  std::optional<Checkpoint> checkpoint;
};

/// The coordinator's memory. Each call is one transaction: done when it returns without an error, or never.
class RunStore {
 public:
  [[nodiscard]] static Result<RunStore> open(store::Database& database);

  /// A new run, queued. @param job its text @param cohort that it names @param prepared @see PreparedJob::save
  /// @param now seconds since 1970
  [[nodiscard]] Status begin(const RunId& run, const std::string& name, const std::string& job,
                             const std::vector<SiloId>& cohort, const std::string& prepared, std::int64_t now);
  [[nodiscard]] Result<std::optional<RunRecord>> find(const RunId& run);
  /// The same without the checkpoint, which is as large as a model.
  [[nodiscard]] Result<std::optional<RunRecord>> look_at(const RunId& run);
  /// How many rounds of a run have closed and are kept, evaluations among them.
  [[nodiscard]] Result<std::uint64_t> rounds_kept(const RunId& run);
  /// Reads the prepared job that is stored with a run. @see PreparedJob
  /// @return the bytes that the version of the store wrote that began the run; version 1 wrote none
  [[nodiscard]] Result<std::string> prepared(const RunId& run);
  /// The newest run of a job, if there is one.
  [[nodiscard]] Result<std::optional<RunRecord>> newest_run(const Digest& job);
  /// Runs without answers, checkpoints, plans and job texts, newest first. @param before a run's number; 0: from the
  /// newest
  [[nodiscard]] Result<std::vector<RunRecord>> list(std::size_t most, std::int64_t before,
                                                    const SoughtRuns& sought = {});
  /// Runs of this name, or whose id (the nonce) or full hexadecimal name begins with the word, as `list` gives them.
  /// @param word the beginning counts where it has kPrefixLengthMin characters or more
  [[nodiscard]] Result<std::vector<RunRecord>> called(std::string_view word, std::size_t most);
  static constexpr std::size_t kPrefixLengthMin = 4;
  /// The newest evaluation of a run, and its round; nothing before the first one.
  [[nodiscard]] Result<std::optional<std::pair<RoundIndex, algorithms::MetricsRow>>> last_metrics(const RunId& run);
  /// Runs that have not ended, oldest first.
  [[nodiscard]] Result<std::vector<RunId>> unfinished();
  [[nodiscard]] Result<std::map<RunState, std::int64_t>> count_by_state();
  [[nodiscard]] Status set_joining(const RunId& run);
  /// @param charge what an acceptance promises: the silo's epsilon and delta of the job
  /// @param explanation what the silo's owner lets be said of a refusal: for people, nothing is decided by it
  [[nodiscard]] Status record_answer(const RunId& run, const SiloId& silo, std::optional<wire::Refusal> refusal,
                                     const std::string& explanation, const Charge& charge);
  /// What the silos' acceptances add up to, over all runs ever.
  [[nodiscard]] Result<std::map<SiloId, Charge>> charges();
  /// The first query: committed before it is broadcast.
  [[nodiscard]] Status start_rounds(const RunId& run, const Checkpoint& first);
  /// A closed round and the query that follows, in one commit. @param finished the run succeeded with this round
  [[nodiscard]] Status close_round(const RunId& run, const RoundRecord& closed, const Checkpoint& next, bool finished);
  /// @param state Failed or Cancelled
  [[nodiscard]] Status fail(const RunId& run, RunState state, const std::string& reason);
  /// When a run ended, as the wall clock says; the first call counts.
  [[nodiscard]] Status set_ended_at(const RunId& run, std::int64_t now);
  /// Gives a time to ends that were committed without one, since the process died in between.
  [[nodiscard]] Status set_missing_ends(std::int64_t now);
  /// Closed rounds in order. @param from the first round wanted
  [[nodiscard]] Result<std::vector<RoundRecord>> rounds(const RunId& run, RoundIndex from = {},
                                                        std::size_t most = SIZE_MAX);

  /// The silo has heard that the run is over. It is written as receipts are: a crash that loses it makes the silo hear
  /// once more.
  [[nodiscard]] Status record_end_seen(const RunId& run, const SiloId& silo);
  /// Ended runs whose job names the silo and whose end it has not confirmed, newest first, as many as a silo keeps
  /// open; and whether they succeeded.
  [[nodiscard]] Result<std::vector<std::pair<RunId, bool>>> ends_unseen(const SiloId& silo);

  /// A silo with a certificate of the consortium's is here. Written as receipts are: a crash that loses it is made good
  /// when the silo comes back.
  [[nodiscard]] Status record_seen(const SiloId& silo);
  /// The silos that were ever here: no more than the consortium gave names to.
  [[nodiscard]] const std::set<SiloId>& seen() const noexcept { return seen_; }

  /// Keeps a key that jobs' replies can be sealed to. @param secret 32 bytes
  [[nodiscard]] Status add_sealing_key(const Digest& fingerprint, std::string_view secret) {
    return commit([&] { return shuffled_.add_sealing_key(fingerprint, secret); });
  }
  /// The secret part of a key, if this coordinator has it.
  [[nodiscard]] Result<std::optional<std::string>> sealing_secret(const Digest& fingerprint) {
    return shuffled_.sealing_secret(fingerprint);
  }
  [[nodiscard]] Result<std::optional<ShuffledState>> shuffled_state(const RunId& run) { return shuffled_.state(run); }
  [[nodiscard]] Status set_shuffled_state(const RunId& run, const ShuffledState& state) {
    return commit([&] { return shuffled_.set_state(run, state); });
  }

  /// Forgets ended runs: all but the newest `keep`, and those that ended before `before`. Charges and receipts stay.
  /// @return the runs that were forgotten
  [[nodiscard]] Result<std::vector<RunId>> prune(std::size_t keep, std::int64_t before);
  [[nodiscard]] Result<std::int64_t> size() { return database_->size(); }

  /// Keeps the newest head of each ledger that the silo told of, and no more ledgers than kReceiptsMax. It is written
  /// with whatever is committed next, at the latest by the next `flush`, since a silo says as many as it likes: what a
  /// crash loses is what was said since, and until the silo speaks again its ledger could go back by no more than that.
  [[nodiscard]] Status record_receipt(const SiloId& silo, const wire::Receipt& receipt);
  /// Commits what silos said and nothing has committed yet, if there is anything. For housekeeping, once a second: what
  /// one silo sends costs no commit of its own.
  [[nodiscard]] Status flush();
  /// So many receipts, ends and new silos wait for a commit.
  [[nodiscard]] std::size_t waiting() const noexcept {
    return receipts_waiting_.size() + ends_waiting_.size() + seen_waiting_.size();
  }
  /// Oldest ledger first.
  [[nodiscard]] Result<std::vector<wire::Receipt>> receipts(const SiloId& silo);

 private:
  explicit RunStore(store::Database& database) : database_(&database), shuffled_(database) {}
  [[nodiscard]] Status upgrade();
  [[nodiscard]] Result<std::optional<RunRecord>> read_run(store::Statement& row);
  [[nodiscard]] Status read_answers(RunRecord& record);
  [[nodiscard]] Status read_explanations(RunRecord& record);
  [[nodiscard]] Status read_checkpoint(RunRecord& record);
  [[nodiscard]] Status put_checkpoint(const RunId& run, const Checkpoint& checkpoint, const char* state);
  /// Commits `body` and what waits.
  [[nodiscard]] Status commit(const std::function<Status()>& body);
  [[nodiscard]] Status commit_if_many_wait();
  /// Whether a receipt would change what the store has of the silo.
  [[nodiscard]] Result<bool> is_news(const SiloId& silo, const wire::Receipt& receipt);
  [[nodiscard]] Status write_receipts();
  [[nodiscard]] Status write_ends();
  [[nodiscard]] Status read_seen();
  [[nodiscard]] Status write_seen();
  store::Database* database_;
  ShuffledTables shuffled_;
  std::map<std::pair<SiloId, Digest>, wire::Receipt> receipts_waiting_;
  std::map<std::pair<SiloId, Digest>, std::uint64_t> receipts_kept_;  // sequences of those that this process wrote
  std::set<std::pair<SiloId, RunId>> ends_waiting_;
  std::set<SiloId> seen_;
  std::set<SiloId> seen_waiting_;
};

}  // namespace undertone::coordinator
