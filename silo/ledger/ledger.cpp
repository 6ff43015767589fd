#include "silo/ledger/ledger.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "shared/crypto/secure_bits.hpp"
#include "shared/planning/plan_digest.hpp"
#include "shared/service/clock.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/ledger/released_entry.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::json;
using releases::Block;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS entries (sequence INTEGER PRIMARY KEY, previous BLOB NOT NULL, body BLOB NOT NULL,"
    " hash BLOB NOT NULL, signature BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS jobs (run BLOB PRIMARY KEY, job BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS replies (run BLOB, round INTEGER, query BLOB NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY (run, round));";

/// Runs can cost next to nothing; what a coordinator can make a silo keep is bounded all the same.
constexpr std::size_t kRunsMax = 10'000;
constexpr std::ptrdiff_t kOpenRunsMax = 64;
constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20U;

Error store_failed() {
  return {ErrorCode::StorageFailed, "the ledger's store failed before; restart the silo when it is mended"};
}

/// 16 bytes, in hexadecimal.
std::string random_nonce() {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  return fmt::format("{:016x}{:016x}", bits.word(), bits.word());
}

Error not_for_a_filter() {
  return {ErrorCode::PolicyRefused,
          "this data set is under a filter, which adds up the shifts of Gaussian noise alone: it takes no job whose "
          "answers have another"};
}

/// Whether a plan that spends is charged for it: what is Gaussian costs a delta, and nothing that is charged is free.
Status check_charged(const planning::Plan& plan) {
  bool gaussian = false;
  bool spends = false;
  for (const Block block : releases::kProtectedBlocks) {
    const releases::Cost& cost = plan.cost(block);
    if (plan.protects(block) == cost.is_zero())
      return Error{ErrorCode::Internal, "the plan has private releases that cost nothing: it is not reserved"};
    gaussian = gaussian || cost.gaussian.units() != 0 || cost.concentrated.units() != 0;
    spends = spends || !cost.is_zero();
  }
  if (!spends) return {};
  const bool pure = !plan.mechanism_delta();
  if (pure ? gaussian || plan.delta().units() != 0 || plan.mechanism_delta_amount().units() != 0 ||
                 plan.epsilon().units() == 0
           : plan.mechanism_delta_amount().units() == 0 || plan.mechanism_delta_amount() > plan.delta()) {
    return Error{ErrorCode::Internal, "the plan spends and is charged no delta: it is not reserved"};
  }
  return {};
}

/// Whether anything was ever kept here. @return true where tables are, whichever: what is missing of them is then made
Result<bool> has_begun(store::Database& database) {
  UNDERTONE_TRY(store::Statement row, database.prepare("SELECT 1 FROM sqlite_master"));
  Result<bool> found = row.step();
  if (!found || !*found) return found;
  const Status made = database.transaction([&database] { return database.execute(kSchema); });
  return made ? Result<bool>(true) : made.error();
}

}  // namespace

const releases::Cost& RunAccount::reserved(Block block) const {
  return block == Block::Training ? training_reserved : holdout_reserved;
}

const releases::Cost& RunAccount::spent(Block block) const {
  return block == Block::Training ? training_spent : holdout_spent;
}

const ListedReleases& RunAccount::releases_of(Block block) const {
  return block == Block::Training ? training_releases : holdout_releases;
}

std::optional<std::uint64_t> RunAccount::draws_of(Block block, const releases::Cost& cost) const {
  if (block == Block::Public) return cost.is_zero() ? std::optional<std::uint64_t>(1) : std::nullopt;
  const Result<releases::Cost> sum = spent(block).plus(cost);
  if (!sum || !sum->fits(reserved(block))) return std::nullopt;
  const ListedReleases& list = releases_of(block);
  return list.listed() ? list.draws_of(cost) : std::optional<std::uint64_t>(1);
}

std::optional<std::uint64_t> RunAccount::spend(Block block, const releases::Cost& cost) {
  const std::optional<std::uint64_t> draws = draws_of(block, cost);
  if (!draws || block == Block::Public) return draws;
  const bool training = block == Block::Training;
  releases::Cost& so_far = training ? training_spent : holdout_spent;
  so_far = *so_far.plus(cost);
  ListedReleases& list = training ? training_releases : holdout_releases;
  return list.listed() ? list.take(cost) : draws;
}

Ledger::Ledger(store::Database& database, HeadStore& head, const SigningKey& key, crypto::NoiseKind noise, Clock clock)
    : database_(&database), head_store_(&head), key_(&key), noise_(noise), clock_(std::move(clock)) {}

Result<Ledger> Ledger::open(store::Database& database, HeadStore& head, const SigningKey& key,
                            const DatasetIdentity& dataset, const Budget& budget, crypto::NoiseKind noise,
                            Clock clock) {
  Ledger ledger(database, head, key, noise, std::move(clock));
  ledger.budget_ = budget;
  UNDERTONE_TRY(const bool begun, has_begun(database));
  if (begun) {
    UNDERTONE_TRY(ledger.replay());
    UNDERTONE_TRY(ledger.check_replies());
  }
  UNDERTONE_TRY(ledger.check_head());
  if (ledger.head_.sequence == 0) {
    Json body{{"kind", "opened"},
              {"format", to_string(LedgerFormat::Two)},
              {"dataset", dataset.name},
              {"digest", to_hex(dataset.digest)},
              {"public_holdout", to_hex(dataset.public_holdout)},
              {"public_key", to_hex(key.public_key())},
              {"noise", noise_name(noise)}};
    if (dataset.public_records != Digest{}) body["public_records"] = to_hex(dataset.public_records);
    if (dataset.unit != releases::Unit::Record) {
      body["format"] = kFormatOfUnits;  // so that a version that knows records alone refuses the ledger
      body["unit"] = releases::to_string(dataset.unit);
      body["persons"] = to_hex(dataset.persons);
    }
    // Two ledgers of one key and one second would else have one id, and their runs' bins one key. What draws seeded
    // noise repeats itself as it is meant to.
    if (noise == crypto::NoiseKind::Secure) body["nonce"] = random_nonce();
    UNDERTONE_TRY(ledger.append(std::move(body), nullptr));
  }
  UNDERTONE_TRY(ledger.check_name(dataset.name));
  UNDERTONE_TRY(ledger.check_unit(dataset));
  UNDERTONE_TRY(ledger.check_public_records(dataset));
  if (ledger.dataset_.digest != dataset.digest || ledger.dataset_.public_holdout != dataset.public_holdout) {
    return Error{
        ErrorCode::DatasetChanged,
        fmt::format("the content or the split of the data set \"{}\" is not what its ledger was opened for; if "
                    "that is meant, run `undertone-silo dataset amend`, which carries all spending over",
                    dataset.name)};
  }
  return ledger;
}

Result<Ledger> Ledger::inspect(store::Database& database, HeadStore& head, const SigningKey& key, const Budget& budget,
                               crypto::NoiseKind noise) {
  Ledger ledger(database, head, key, noise, [] { return std::int64_t{0}; });
  ledger.budget_ = budget;
  // The head outside is read first: entries only grow, so a sound ledger is never behind it.
  UNDERTONE_TRY(const std::optional<std::string> outside, head.read());
  UNDERTONE_TRY(database.execute("BEGIN"));
  Status checked = ledger.replay();
  if (checked) checked = ledger.check_replies();
  UNDERTONE_TRY(database.execute("COMMIT"));
  if (!checked) return checked.error();
  if (outside) {
    if (const Result<std::uint64_t> known = ledger.check_not_behind(*outside); !known) return known.error();
  } else if (ledger.head_.sequence > 1) {
    return Error{ErrorCode::LedgerRolledBack, "the ledger's head file is missing"};
  }
  ledger.broken_ = true;
  return ledger;
}

Status Ledger::check_name(const std::string& dataset) const {
  if (dataset_.name == dataset) return {};
  return Error{ErrorCode::DatasetChanged,
               fmt::format("this is the ledger of the data set \"{}\", configured is \"{}\"", dataset_.name, dataset)};
}

Status Ledger::check_unit(const DatasetIdentity& dataset) const {
  if (dataset_.unit == dataset.unit && dataset_.persons == dataset.persons) return {};
  if (dataset_.unit == dataset.unit && dataset.unit == releases::Unit::SensitiveAttribute)
    return Error{
        ErrorCode::DatasetChanged,
        fmt::format(
            "other columns or groups are sensitive in the schema of \"{}\" than when its ledger was opened: what "
            "was hidden until now would be told, and what was told cannot be hidden. Another attribute needs a "
            "ledger of its own",
            dataset.name)};
  if (dataset_.unit == dataset.unit)
    return Error{
        ErrorCode::DatasetChanged,
        fmt::format("another column says whose the records of \"{}\" are than when its ledger was opened: other "
                    "ids are other units, which need a ledger of their own",
                    dataset.name)};
  return Error{ErrorCode::DatasetChanged,
               fmt::format("this ledger protects a {} and the configuration of \"{}\" a {}: a ledger's unit never "
                           "changes, since what was spent on the one does not convert to the other; the other unit "
                           "needs a ledger of its own, and then its owner says what counts as spent",
                           releases::noun_of(dataset_.unit), dataset.name, releases::noun_of(dataset.unit))};
}

Status Ledger::check_public_records(const DatasetIdentity& dataset) const {
  if (dataset_.public_records == dataset.public_records) return {};
  return Error{
      ErrorCode::DatasetChanged,
      fmt::format("the records of the data set \"{}\" that are declared public are not those that were when it was "
                  "added: that is settled once, so that no record which was protected ever becomes public, nor one "
                  "that was published private; other public records are another data set's",
                  dataset.name)};
}

Result<bool> Ledger::amend(store::Database& database, HeadStore& head, const SigningKey& key,
                           const DatasetIdentity& dataset, crypto::NoiseKind noise, bool publish, Clock clock) {
  Ledger ledger(database, head, key, noise, std::move(clock));
  UNDERTONE_TRY(ledger.replay());
  UNDERTONE_TRY(ledger.check_replies());
  UNDERTONE_TRY(ledger.check_head());
  UNDERTONE_TRY(ledger.check_name(dataset.name));
  UNDERTONE_TRY(ledger.check_unit(dataset));
  UNDERTONE_TRY(ledger.check_public_records(dataset));
  const bool holdout_moved = ledger.dataset_.public_holdout != dataset.public_holdout;
  if (ledger.dataset_.digest == dataset.digest && !holdout_moved) return false;
  if (holdout_moved && dataset.public_holdout != Digest{} && !publish) {
    return Error{
        ErrorCode::DatasetChanged,
        "the holdout is declared public and is not the one the ledger knows: records that were protected until "
        "now may be in it, and would be evaluated exactly; if the owner declares these very records public, "
        "amend with --publish-holdout, else declare the holdout private"};
  }
  std::vector<RunId> open_runs;
  for (const auto& [run, account] : ledger.accounts_) {
    if (!account.ended) open_runs.push_back(run);
  }
  for (const RunId& run : open_runs) {
    UNDERTONE_TRY(ledger.end(run));
  }
  const Json body{
      {"kind", "amended"}, {"digest", to_hex(dataset.digest)}, {"public_holdout", to_hex(dataset.public_holdout)}};
  UNDERTONE_TRY(ledger.append(body, nullptr));
  return true;
}

Status Ledger::make_whole() {
  if (!broken_) return {};
  if (!head_due_) return store_failed();
  UNDERTONE_TRY(head_store_->write(head_text_));
  broken_ = head_due_ = false;
  return {};
}

Status Ledger::append(Json body, const std::function<Status()>& with_it) {
  if (!body.contains("at")) body["at"] = service::utc_time(clock_());
  return append(
      body.dump(), [&](std::uint64_t sequence) { return apply(sequence, body); }, with_it);
}

Status Ledger::append(std::string body, const std::function<Status(std::uint64_t sequence)>& applied,
                      const std::function<Status()>& with_it) {
  UNDERTONE_TRY(make_whole());
  broken_ = true;  // until every step below has succeeded
  LedgerEntry entry;
  entry.sequence = head_.sequence + 1;
  entry.previous = head_.hash;
  entry.body = std::move(body);
  if (entry.body.size() > kBodyBytesMax) {
    broken_ = false;  // nothing was written
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("an entry of {} bytes, a ledger's have at most {}", entry.body.size(), kBodyBytesMax)};
  }
  entry.hash = entry_hash(entry.sequence, entry.previous, entry.body);
  const Digest& id = entry.sequence == 1 ? entry.hash : head_.ledger;
  entry.signature = key_->sign(head_message(id, entry.sequence, entry.hash));
  Status committed = database_->transaction([&]() -> Status {
    // The tables come with the first entry: what the disk fails under, or the power, is a ledger or has not begun.
    if (entry.sequence == 1) {
      UNDERTONE_TRY(database_->execute(kSchema));
    }
    UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?)"));
    insert.bind(1, static_cast<std::int64_t>(entry.sequence)).bind_blob(2, as_bytes(entry.previous));
    insert.bind_blob(3, entry.body).bind_blob(4, as_bytes(entry.hash)).bind_blob(5, entry.signature);
    UNDERTONE_TRY(insert.run());
    return with_it ? with_it() : Status();
  });
  if (!committed) {
    // A full disk has taken nothing: the ledger stands where it stood, and goes on once there is room.
    broken_ = committed.error().code != ErrorCode::NoRoom;
    return committed;
  }
  UNDERTONE_TRY(applied(entry.sequence));
  advance(entry);
  head_text_ = head_text(entry);
  // What was committed stays. Nothing of it leaves before the head outside says so, too: now, or once it can be
  // written.
  head_due_ = true;
  return make_whole();
}

Result<silo::FilterTerms> Ledger::start_filter(store::Database& database, HeadStore& head, const SigningKey& key,
                                               const std::string& dataset, const Budget& budget,
                                               const FilterRequest& request, crypto::NoiseKind noise, Clock clock) {
  Ledger ledger(database, head, key, noise, std::move(clock));
  UNDERTONE_TRY(const bool begun, has_begun(database));
  if (begun) {
    UNDERTONE_TRY(ledger.replay());
    UNDERTONE_TRY(ledger.check_replies());
  }
  UNDERTONE_TRY(ledger.check_head());
  if (ledger.head_.sequence == 0) return Error{ErrorCode::InvalidArgument, "the data set has no ledger yet"};
  UNDERTONE_TRY(ledger.check_name(dataset));
  if (ledger.filter_ && ledger.filter_->unused() && !request.another) {
    return Error{ErrorCode::InvalidArgument,
                 "the data set has a filter of which nothing is spent; another would be charged besides: ask for "
                 "another only if that is meant"};
  }
  for (const auto& [run, account] : ledger.accounts_) {
    if (account.ended) continue;
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("run {} is open: a filter starts between runs; let it end, or withdraw it", run.hex())};
  }
  const auto left = [](auto granted, auto used) {
    using Amount = decltype(granted);
    return used > granted ? Amount() : Amount::from_units(granted.units() - used.units());
  };
  const Budget rest{left(budget.epsilon, ledger.epsilon_reserved_), left(budget.delta, ledger.delta_reserved_)};
  const Budget wanted = request.grant.value_or(rest);
  if (wanted.epsilon > rest.epsilon || wanted.delta > rest.delta) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("the policy has epsilon {:.6g} and delta {:.3g} left for the data set, the filter would "
                             "take {:.6g} and {:.3g}",
                             rest.epsilon.value_rounded_up(), rest.delta.value_rounded_up(),
                             wanted.epsilon.value_rounded_up(), wanted.delta.value_rounded_up())};
  }
  Result<silo::FilterTerms> terms = silo::FilterTerms::create(wanted.epsilon, wanted.delta);
  if (!terms) return terms;
  const Json body{{"kind", "filtered"},
                  {"epsilon", terms->epsilon.to_string()},
                  {"delta", terms->delta.to_string()},
                  {"mechanism_delta", terms->mechanism_delta.to_string()},
                  {"shift_squared", terms->shift_squared.to_string()}};
  UNDERTONE_TRY(ledger.append(body, nullptr));
  return terms;
}

Status check_budget(const Budget& budget, const Budget& reserved, const planning::Plan& plan) {
  const auto epsilon = reserved.epsilon.plus(plan.epsilon());
  const auto delta = reserved.delta.plus(plan.delta());
  if (!epsilon || *epsilon > budget.epsilon) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("the job costs epsilon {:.6g}; {:.6g} of the data set's {:.6g} are reserved already",
                             plan.epsilon().value_rounded_up(), reserved.epsilon.value_rounded_up(),
                             budget.epsilon.value_rounded_up())};
  }
  if (!delta || *delta > budget.delta) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("the job costs delta {:.6g}; {:.6g} of the data set's {:.6g} are reserved already",
                             plan.delta().value_rounded_up(), reserved.delta.value_rounded_up(),
                             budget.delta.value_rounded_up())};
  }
  return {};
}

Status Ledger::check_affordable(const planning::Plan& plan) const {
  if (filter_) {
    if (epsilon_reserved_ > budget_.epsilon || delta_reserved_ > budget_.delta) {
      return Error{ErrorCode::BudgetExhausted, "the data set's filter was granted more than the policy now allows"};
    }
    for (const Block block : releases::kProtectedBlocks) {
      const releases::ShiftSquaredAmount shift_squared = plan.cost(block).gaussian;
      if (shift_squared <= filter_->left(block)) continue;
      return Error{ErrorCode::BudgetExhausted,
                   fmt::format("the job's releases cost rho {:.6g} of the {} block; the data set's filter has {:.6g} "
                               "left",
                               shift_squared.value_rounded_up() / 2.0, releases::block_name(block),
                               filter_->left(block).value_rounded_down() / 2.0)};
    }
    if (plan.draws() > filter_->draws_left()) {
      return Error{ErrorCode::BudgetExhausted,
                   fmt::format("the job draws noise {} times; the data set's filter has {} draws left", plan.draws(),
                               filter_->draws_left())};
    }
    return {};
  }
  return check_budget(budget_, {epsilon_reserved_, delta_reserved_}, plan);
}

Status Ledger::could_reserve(const planning::Plan& plan) const {
  const auto is_open = [](const auto& known_run) { return !known_run.second.ended; };
  if (accounts_.size() >= kRunsMax || std::count_if(accounts_.begin(), accounts_.end(), is_open) >= kOpenRunsMax) {
    return Error{ErrorCode::BudgetExhausted, fmt::format("a ledger takes at most {} jobs, {} of them open; it has {}",
                                                         kRunsMax, kOpenRunsMax, accounts_.size())};
  }
  UNDERTONE_TRY(check_charged(plan));
  if (filter_ && plan.shuffling()) {
    return Error{
        ErrorCode::PolicyRefused,
        "this data set is under a filter, which counts the noise of this silo alone: it takes no shuffled job"};
  }
  if (filter_ && plan.draws_with_replacement()) {
    return Error{
        ErrorCode::PolicyRefused,
        "this data set is under a filter, which counts every record once an answer: it takes no job that draws "
        "with replacement"};
  }
  if (filter_ && plan.parts_credit()) {
    return Error{ErrorCode::PolicyRefused,
                 "this data set is under a filter, which credits no secret of which part a record was in: it takes no "
                 "job whose parts are secret"};
  }
  if (filter_ && !(plan.cost(Block::Training).is_gaussian() && plan.cost(Block::Holdout).is_gaussian()))
    return not_for_a_filter();
  return check_affordable(plan);
}

Status Ledger::reserve(const RunId& run, const planning::Plan& plan, const std::string& job) {
  UNDERTONE_CHECK(sha256(job) == run.job);
  UNDERTONE_TRY(make_whole());  // what was reserved before is told only once the head says so
  if (const RunAccount* known = account(run)) {
    if (known->ended) return Error{ErrorCode::UnplannedQuery, "this run has ended: nothing more is answered in it"};
    return check_reserved(run, plan);
  }
  UNDERTONE_TRY(could_reserve(plan));
  if (format_ == LedgerFormat::One)
    UNDERTONE_TRY(append(Json{{"kind", "upgraded"}, {"format", to_string(LedgerFormat::Two)}}, nullptr));
  Json body{{"kind", filter_ ? "accepted" : "reserved"},
            {"run", run.hex()},
            {"epsilon", plan.epsilon().to_string()},
            {"delta", plan.delta().to_string()},
            {"mechanism_delta", plan.mechanism_delta_amount().to_string()},
            {"training", plan.cost(Block::Training).to_string()},
            {"holdout", plan.cost(Block::Holdout).to_string()},
            {"plan", to_hex(plan_digest(plan))}};
  // A sum of costs says too little: the releases stand beside it.
  if (plan.protects(Block::Training)) body["training_releases"] = plan.releases_text(Block::Training);
  if (plan.protects(Block::Holdout)) body["holdout_releases"] = plan.releases_text(Block::Holdout);
  if (const std::optional<planning::Shuffling>& shuffling = plan.shuffling()) {
    body["shuffled"] = fmt::format("{}:{}:{}", shuffling->binomial ? "binomial" : "reports", shuffling->honest_silos,
                                   plan.failure_delta().to_string());
    if (const std::optional<accounting::ShufflerCredit>& credit = plan.credit()) {
      body["shuffled"] = fmt::format("{}:{}:{}", body["shuffled"].get<std::string>(),
                                     credit->record_epsilon.to_string(), credit->silo_epsilon.to_string());
    }
  }
  return append(std::move(body), [&]() -> Status {
    UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT INTO jobs VALUES (?, ?)"));
    return insert.bind_blob(1, run.bytes()).bind_blob(2, job).run();
  });
}

Result<std::optional<StoredReply>> Ledger::find_reply(const RunId& run, RoundIndex round, const Digest& query) {
  UNDERTONE_TRY(make_whole());
  const RunAccount* known = account(run);
  if (known == nullptr || known->rounds.count(round.value, round.value + 1) == 0) return std::optional<StoredReply>();
  UNDERTONE_TRY(store::Statement row,
                database_->prepare("SELECT query, bytes FROM replies WHERE run = ? AND round = ?"));
  row.bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(round.value));
  UNDERTONE_TRY(const bool found, row.step());
  if (!found)
    return Error{ErrorCode::LedgerCorrupt, "the stored reply is missing or is not the one that was committed"};
  UNDERTONE_TRY(const Digest stored, digest_from_bytes(row.bytes(0)));
  if (stored != query) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} was answered for another query; a round is answered once", round.value)};
  }
  return std::optional<StoredReply>(StoredReply{stored, row.bytes(1)});
}

Status Ledger::check_reserved(const RunId& run, const planning::Plan& plan) const {
  const RunAccount* known = account(run);
  if (known == nullptr) return Error{ErrorCode::UnknownRun, "no job was accepted under this run"};
  if (known->epsilon != plan.epsilon() || known->delta != plan.delta() ||
      known->training_reserved != plan.cost(Block::Training) || known->holdout_reserved != plan.cost(Block::Holdout) ||
      (known->plan && *known->plan != plan_digest(plan))) {
    return Error{ErrorCode::UnplannedQuery, "the plan of this run is not the one that was reserved"};
  }
  return {};
}

Status Ledger::check_spend(const RunId& run, RoundIndex round, Block block, const releases::Cost& cost) const {
  const RunAccount* known = account(run);
  if (known == nullptr) return Error{ErrorCode::UnknownRun, "no job was accepted under this run"};
  if (known->ended) return Error{ErrorCode::UnplannedQuery, "this run has ended: nothing more is answered in it"};
  if (round.value > INT64_MAX)
    return Error{ErrorCode::UnplannedQuery, fmt::format("round {} is beyond what a ledger counts", round.value)};
  if (known->last_round && round <= *known->last_round) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} is asked after round {}; rounds are never repeated or reordered", round.value,
                             known->last_round->value)};
  }
  if (cost.is_zero() && !may_cost_nothing(block)) {
    return Error{ErrorCode::PolicyRefused,
                 fmt::format("round {} asks for exact answers about block \"{}\", whose records this ledger does not "
                             "know as declared public",
                             round.value, releases::block_name(block))};
  }
  const std::optional<std::uint64_t> draws = known->draws_of(block, cost);
  if (!draws) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("round {} would spend more than was reserved for the run", round.value)};
  }
  if (!known->filtered) return {};
  if (!filter_) return Error{ErrorCode::LedgerCorrupt, "a run is charged to a filter that is not there"};
  if (epsilon_reserved_ > budget_.epsilon || delta_reserved_ > budget_.delta)
    return Error{ErrorCode::BudgetExhausted, "the data set's filter was granted more than the policy now allows"};
  if (!cost.is_gaussian()) return not_for_a_filter();
  silo::GaussianFilter then = *filter_;
  if (!then.spend(block, cost, *draws)) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("round {} would spend more than the data set's filter has left", round.value)};
  }
  return {};
}

Result<SpendToken> Ledger::authorise(const RunId& run, RoundIndex round, const planning::Release& release,
                                     const Digest& query) {
  UNDERTONE_TRY(make_whole());
  const Block block = release.ask.records.block;
  if (std::holds_alternative<mechanisms::Unplanned>(release.mechanism)) {
    return Error{ErrorCode::UnplannedQuery, fmt::format("round {} of block \"{}\" has no mechanism: it is not granted",
                                                        round.value, releases::block_name(block))};
  }
  const releases::Cost cost = release.cost();
  if (cost.is_zero() != release.is_public()) {
    return Error{
        ErrorCode::UnplannedQuery,
        fmt::format("round {} of block \"{}\" costs nothing without being of public records: it is not granted",
                    round.value, releases::block_name(block))};
  }
  if (release.beside && !may_cost_nothing(Block::Public)) {
    return Error{
        ErrorCode::UnplannedQuery,
        fmt::format("round {} has a block of public records, and this ledger's data set declared none: it is not "
                    "granted",
                    round.value)};
  }
  UNDERTONE_TRY(check_spend(run, round, block, cost));
  return SpendToken(run, round, block, cost, query, clock_());
}

Status Ledger::commit(SpendToken&& token, const std::string& reply, crypto::NoiseKind noise) {
  const SpendToken spent = std::move(token);
  UNDERTONE_CHECK(spent.valid_ && noise == noise_);
  // Again: other tokens may have been used since this one was granted. It finds the run.
  UNDERTONE_TRY(check_spend(spent.run_, spent.round_, spent.block_, spent.cost_));
  ReleasedEntry entry;
  entry.run = spent.run_;
  entry.round = spent.round_;
  entry.block = spent.block_;
  entry.cost = cost_text(spent.cost_, account(spent.run_)->format);
  entry.query = spent.query_;
  entry.reply = sha256(reply);
  entry.at = service::utc_time(spent.at_);
  return append(
      entry.body(), [&](std::uint64_t sequence) { return apply(sequence, entry); },
      [&]() -> Status {
        UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT INTO replies VALUES (?, ?, ?, ?)"));
        insert.bind_blob(1, spent.run_.bytes()).bind(2, static_cast<std::int64_t>(spent.round_.value));
        return insert.bind_blob(3, as_bytes(spent.query_)).bind_blob(4, reply).run();
      });
}

Status Ledger::end(const RunId& run) {
  UNDERTONE_TRY(make_whole());
  const RunAccount* known = account(run);
  if (known == nullptr || known->ended) return {};
  if (known->releases != 0) return append(Json{{"kind", "ended"}, {"run", run.hex()}}, nullptr);
  return append(Json{{"kind", "returned"}, {"run", run.hex()}}, [&]() -> Status {
    UNDERTONE_TRY(store::Statement remove, database_->prepare("DELETE FROM jobs WHERE run = ?"));
    return remove.bind_blob(1, run.bytes()).run();
  });
}

Digest Ledger::permutation_key(const RunId& run, Block block) const {
  return key_->keyed_digest("permutation", run.bytes() + releases::block_name(block));
}

Digest Ledger::secret_permutation_key(const RunId& run, Block block) const {
  // The number stands for how the order follows from the key, which open runs depend on.
  return key_->keyed_digest("secret permutation:1",
                            std::string(as_bytes(head_.ledger)) + run.bytes() + releases::block_name(block));
}

Digest Ledger::bins_key(const RunId& run, Block block, std::uint64_t pass) const {
  // A coordinator can offer a run again to a ledger that does not know it, opened with the key of a lost one: charged
  // again, it draws again. The number stands for how positions follow from the key, which open runs depend on.
  const std::string later = pass == 0 ? "" : fmt::format(" pass {}", pass);  // no block's name has a space
  return key_->keyed_digest("bins:1",
                            std::string(as_bytes(head_.ledger)) + run.bytes() + releases::block_name(block) + later);
}

Digest Ledger::person_draw_key(const RunId& run, Block block, RoundIndex round) const {
  return key_->keyed_digest("person draw:1", std::string(as_bytes(head_.ledger)) + run.bytes() +
                                                 releases::block_name(block) + fmt::format(" round {}", round.value));
}

Result<std::optional<std::string>> Ledger::job_of(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT job FROM jobs WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return std::optional<std::string>();
  std::string job = row.bytes(0);
  if (sha256(job) != run.job) return Error{ErrorCode::LedgerCorrupt, "a stored job is not the one its run names"};
  return std::optional<std::string>(std::move(job));
}

const RunAccount* Ledger::account(const RunId& run) const {
  const auto found = accounts_.find(run);
  return found == accounts_.end() ? nullptr : &found->second;
}

}  // namespace undertone::silo
