#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/ids.hpp"
#include "shared/base/round_set.hpp"
#include "shared/base/signing_key.hpp"
#include "shared/crypto/noise_kind.hpp"
#include "shared/planning/plan.hpp"
#include "shared/store/sqlite.hpp"
#include "shared/wire/receipt.hpp"
#include "silo/ledger/gaussian_filter.hpp"
#include "silo/ledger/head_store.hpp"
#include "silo/ledger/ledger_format.hpp"
#include "silo/ledger/listed_releases.hpp"
#include "silo/ledger/spend_token.hpp"

namespace undertone::silo {

struct LedgerEntry;
struct ReleasedEntry;

/// Which data a ledger is for.
struct DatasetIdentity {
  std::string name;         // chosen by the institution
  Digest digest{};          // keyed digest of the content and of how it is split
  Digest public_holdout{};  // keyed digest of the holdout's records where they are declared public; else zero
  Digest public_records{};  // of those that were declared public when the data set was added; zero if none
  releases::Unit unit = releases::Unit::Record;  // that is protected, for good
  Digest persons{};                              // of persons: keyed digest of which column says who they are
};

/// What all jobs together may cost a record, by basic composition. Zero means nothing is allowed.
struct Budget {
  releases::EpsilonAmount epsilon;
  releases::DeltaAmount delta;
};

/// Whether a plan fits into what the budget has left, by basic composition.
[[nodiscard]] Status check_budget(const Budget& budget, const Budget& reserved, const planning::Plan& plan);

/// A reply as it was first sent.
struct StoredReply {
  Digest query{};
  std::string bytes;
};

/// One run as the ledger knows it.
struct RunAccount {
  releases::EpsilonAmount epsilon;  // the guarantee: reserved, or covered by the data set's filter
  releases::DeltaAmount delta;
  releases::Cost training_reserved;
  releases::Cost holdout_reserved;
  releases::Cost training_spent;  // what releases that were made cost, in their laws' currencies
  releases::Cost holdout_spent;
  RoundSet rounds;                   // that were answered, of every block
  ListedReleases training_releases;  // every charged one; in the first format only where sampling matters
  ListedReleases holdout_releases;
  LedgerFormat format = LedgerFormat::Two;  // in which the run was reserved, and in which its costs are written
  std::uint64_t releases = 0;
  std::uint64_t releases_in_secret_order = 0;  // of these: made since a record's place in a draw is secret
  std::optional<RoundIndex> last_round;
  std::optional<Digest> plan;  // what was reserved, to the last bit; none in entries before it was kept
  std::string reserved_at;     // as the ledger's entry says; empty in entries before times were kept
  bool filtered = false;       // charged release by release to the data set's filter, not reserved
  bool ended = false;
  bool returned = false;  // ended before any reply left: the reservation was released

  [[nodiscard]] const releases::Cost& reserved(releases::Block block) const;
  [[nodiscard]] const releases::Cost& spent(releases::Block block) const;
  /// Whether a release of this cost fits what was reserved for the block. @return how many draws of noise it is made of
  [[nodiscard]] std::optional<std::uint64_t> draws_of(releases::Block block, const releases::Cost& cost) const;
  /// The same, and counts it.
  [[nodiscard]] std::optional<std::uint64_t> spend(releases::Block block, const releases::Cost& cost);

 private:
  [[nodiscard]] const ListedReleases& releases_of(releases::Block block) const;
};

/// The silo's append-only, hash-chained, signed record of what its data set has been charged and what left for it
/// (decisions 1-5; format: docs/ledger-format.md). A reservation is the plan's whole cost, charged when a job is
/// accepted. A release commits its entry, the reply's exact bytes and the chain link in one transaction.
/// A data set whose owner switched it to a filter has one reservation, the filter's, and every release is charged to it
/// when it is committed: what a job does not use is never spent.
/// A ledger of the first format goes on in it until a run is reserved: an entry then says that the second begins.
/// Everything fails closed: after an error of the store nothing more is handed out.
class Ledger {
 public:
  /// Seconds since 1970 by the silo's clock, for the entries' times.
  using Clock = std::function<std::int64_t()>;

  /// Creates an empty ledger or replays and verifies an existing one: chain, newest signature, replies against entries,
  /// the head outside, the data set. @param noise what kind of noise this ledger's releases carry
  [[nodiscard]] static Result<Ledger> open(store::Database& database, HeadStore& head, const SigningKey& key,
                                           const DatasetIdentity& dataset, const Budget& budget,
                                           crypto::NoiseKind noise, Clock clock);

  /// Replays and verifies what is on disk as one snapshot, beside a running agent if need be: nothing is written, and
  /// nothing can be reserved or released with the result.
  [[nodiscard]] static Result<Ledger> inspect(store::Database& database, HeadStore& head, const SigningKey& key,
                                              const Budget& budget, crypto::NoiseKind noise);

  /// Records that the owner changed the data set's content; all spending stays, and runs that are open end, since a run
  /// reads one split of one content.
  /// @param publish the owner declares the present holdout public: without it, a public holdout that is not the one the
  ///   ledger knows is refused, because records that were protected before might be in it
  /// @return whether anything had changed
  [[nodiscard]] static Result<bool> amend(store::Database& database, HeadStore& head, const SigningKey& key,
                                          const DatasetIdentity& dataset, crypto::NoiseKind noise, bool publish,
                                          Clock clock);

  /// Switches the data set to a filter: `grant` is reserved once, and what later jobs release is charged to it one by
  /// one. Doing it again opens another filter; the first one's reservation stands.
  struct FilterRequest {
    std::optional<Budget> grant;  // without it, all that the budget has left
    bool another = false;         // even though the present filter has spent nothing
  };
  /// @param dataset its name
  /// @return an error where a run is open, the budget has less than the grant, or a filter stands unused: the command
  ///   may be a second one after a crash
  [[nodiscard]] static Result<silo::FilterTerms> start_filter(store::Database& database, HeadStore& head,
                                                              const SigningKey& key, const std::string& dataset,
                                                              const Budget& budget, const FilterRequest& request,
                                                              crypto::NoiseKind noise, Clock clock);

  /// Charges the plan's total, or with a filter takes note of it if it fits what is left, and keeps the plan's digest.
  /// Doing it again for the same run and the same plan changes nothing; another plan is refused.
  [[nodiscard]] Status reserve(const RunId& run, const planning::Plan& plan, const std::string& job);

  /// Whether a plan of a new run could be reserved now: nothing is written, and nothing is kept free for it.
  [[nodiscard]] Status could_reserve(const planning::Plan& plan) const;

  /// Whether this is the plan that was reserved for the run: nothing is answered by another.
  /// @return UnknownRun where nothing was reserved, UnplannedQuery where it is another plan
  [[nodiscard]] Status check_reserved(const RunId& run, const planning::Plan& plan) const;

  /// The stored answer of a round. The same round with another query is refused.
  [[nodiscard]] Result<std::optional<StoredReply>> find_reply(const RunId& run, RoundIndex round, const Digest& query);

  /// Permission to draw noise for one release, against the reservation on disk.
  [[nodiscard]] Result<SpendToken> authorise(const RunId& run, RoundIndex round, const planning::Release& release,
                                             const Digest& query);

  /// Commits the release. Only after this may a byte of the reply leave the process.
  [[nodiscard]] Status commit(SpendToken&& token, const std::string& reply, crypto::NoiseKind noise);

  /// The run is over: nothing more will be answered. Returns the reservation if no reply ever left.
  [[nodiscard]] Status end(const RunId& run);

  /// The job of an accepted run, so that a restarted silo knows its plan.
  [[nodiscard]] Result<std::optional<std::string>> job_of(const RunId& run);
  [[nodiscard]] const RunAccount* account(const RunId& run) const;
  [[nodiscard]] const std::map<RunId, RunAccount>& accounts() const noexcept { return accounts_; }
  [[nodiscard]] const std::optional<silo::GaussianFilter>& filter() const noexcept { return filter_; }
  [[nodiscard]] const DatasetIdentity& dataset() const noexcept { return dataset_; }
  /// Of the runs that are reserved from here on, but for the first reservation in a ledger of the first format, which
  /// upgrades it.
  [[nodiscard]] LedgerFormat format() const noexcept { return format_; }
  [[nodiscard]] const Budget& budget() const noexcept { return budget_; }
  [[nodiscard]] releases::EpsilonAmount epsilon_reserved() const noexcept { return epsilon_reserved_; }
  [[nodiscard]] releases::DeltaAmount delta_reserved() const noexcept { return delta_reserved_; }
  [[nodiscard]] const wire::Receipt& head() const noexcept { return head_; }

  /// Compares with what the coordinator last saw of this ledger.
  /// @param receipt of this ledger: `receipt.ledger == id()`
  /// @return LedgerRolledBack if this is an older copy, LedgerCorrupt if the receipt is forged
  [[nodiscard]] Status check_receipt(const wire::Receipt& receipt);

  /// A key for the secret permutation of a block in a run: the same for as long as the ledger's key is, known to nobody
  /// who lacks that.
  [[nodiscard]] Digest permutation_key(const RunId& run, releases::Block block) const;
  /// The same for a permutation that the charge counts on: of this ledger alone, whose id is random.
  [[nodiscard]] Digest secret_permutation_key(const RunId& run, releases::Block block) const;
  /// The same for the bins that a block's records draw in a pass of a run: another key, so that neither tells of the
  /// other, nor one pass of the next; and of this ledger alone, whose id is random.
  [[nodiscard]] Digest bins_key(const RunId& run, releases::Block block, std::uint64_t pass) const;
  /// The same for which of a person's records a round looks at: another key for each round.
  [[nodiscard]] Digest person_draw_key(const RunId& run, releases::Block block, RoundIndex round) const;

  /// Whether nothing is handed out since its store or its head could not be written.
  [[nodiscard]] bool failing() const noexcept { return broken_; }
  /// Whether something may be handed out. A head that could not be written before, on a full disk, say, is written
  /// first.
  [[nodiscard]] Status make_whole();

  /// The hash of the first entry, by which the ledger is known elsewhere.
  [[nodiscard]] const Digest& id() const noexcept { return head_.ledger; }

 private:
  Ledger(store::Database& database, HeadStore& head, const SigningKey& key, crypto::NoiseKind noise, Clock clock);
  [[nodiscard]] Status replay();
  [[nodiscard]] Status replay_entries();
  [[nodiscard]] Status check_replies();
  /// Compares the head outside with the entries, and lets it catch up where a crash left it one behind.
  [[nodiscard]] Status check_head();
  /// Whether a head that was kept outside is one of this ledger's. @return its sequence
  [[nodiscard]] Result<std::uint64_t> check_not_behind(const std::string& head);
  /// Changes the accounts as an entry says that was read back from disk.
  [[nodiscard]] Status apply(const LedgerEntry& entry);
  /// Does the same for an entry of any kind but a release's.
  [[nodiscard]] Status apply(std::uint64_t sequence, const nlohmann::json& body);
  [[nodiscard]] Status apply(std::uint64_t sequence, const ReleasedEntry& entry);
  [[nodiscard]] Status apply_reservation(std::uint64_t sequence, const nlohmann::json& body);
  /// Does the same for an entry that ends a run or returns its reservation.
  [[nodiscard]] Status apply_end(std::uint64_t sequence, const nlohmann::json& body);
  /// @param out the account of a run that is open
  [[nodiscard]] Status open_account(std::uint64_t sequence, const RunId& run, RunAccount** out);
  /// The entry is the newest from here on.
  void advance(const LedgerEntry& entry);
  [[nodiscard]] Status charge(std::uint64_t sequence, releases::EpsilonAmount epsilon, releases::DeltaAmount delta);
  [[nodiscard]] Status check_affordable(const planning::Plan& plan) const;
  /// Whether the data set is of the unit that the ledger was opened for.
  [[nodiscard]] Status check_unit(const DatasetIdentity& dataset) const;
  /// Whether the records that are declared public are those of the opening entry.
  [[nodiscard]] Status check_public_records(const DatasetIdentity& dataset) const;
  [[nodiscard]] Status check_name(const std::string& dataset) const;
  /// Whether exact answers about the block are expected at all: of a holdout that the owner declared
  /// public, and of records that were from the beginning.
  [[nodiscard]] bool may_cost_nothing(releases::Block block) const {
    return (block == releases::Block::Holdout && dataset_.public_holdout != Digest{}) ||
           (block == releases::Block::Public && dataset_.public_records != Digest{});
  }
  /// Whether the run may release so much of the block now, as far as reservation and filter go.
  [[nodiscard]] Status check_spend(const RunId& run, RoundIndex round, releases::Block block,
                                   const releases::Cost& cost) const;
  [[nodiscard]] Status append(nlohmann::json body, const std::function<Status()>& with_it);
  /// @param body the entry's, as it is hashed
  /// @param applied changes the accounts as the entry says; it is called once the entry is on disk
  /// @param with_it written in the same transaction; null: nothing
  [[nodiscard]] Status append(std::string body, const std::function<Status(std::uint64_t sequence)>& applied,
                              const std::function<Status()>& with_it);
  [[nodiscard]] Result<std::optional<Digest>> hash_at(std::uint64_t sequence);

  store::Database* database_;
  HeadStore* head_store_;
  const SigningKey* key_;
  crypto::NoiseKind noise_;
  Clock clock_;
  DatasetIdentity dataset_;  // as the ledger records it
  LedgerFormat format_ = LedgerFormat::Two;
  Budget budget_;
  std::map<RunId, RunAccount> accounts_;
  releases::EpsilonAmount epsilon_reserved_;
  releases::DeltaAmount delta_reserved_;
  std::optional<silo::GaussianFilter> filter_;
  /// A release that was read back, whose reply is still to be compared with it.
  struct Committed {
    RunId run;
    RoundIndex round;
    Digest query{};
    Digest reply{};
    std::uint64_t sequence = 0;
  };
  struct ParsedCost {
    std::string text;
    LedgerFormat format = LedgerFormat::Two;
    releases::Cost cost;
  };
  std::optional<ParsedCost> parsed_cost_;  // of the release that was applied last
  /// Whether the next reply of the walk is the one that was committed. The first that has another place ends the walk.
  [[nodiscard]] Result<bool> stands_next(const Committed& one);
  store::Statement* replies_in_order_ = nullptr;  // the walk, while entries are read back
  std::vector<Committed> elsewhere_;              // releases whose replies it did not meet, until they are looked up
  wire::Receipt head_;
  std::string head_text_;  // what the head outside says once it has caught up
  bool broken_ = false;    // the store failed: nothing more is handed out
  bool head_due_ = false;  // only the head outside is behind: once it is written, the ledger goes on
};

}  // namespace undertone::silo
