#include "silo/ledger/ledger.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/byte_stream.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::json;
using privacy::Block;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS entries (sequence INTEGER PRIMARY KEY, previous BLOB NOT NULL, body BLOB NOT NULL,"
    " hash BLOB NOT NULL, signature BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS jobs (run BLOB PRIMARY KEY, job BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS replies (run BLOB, round INTEGER, query BLOB NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY (run, round));";

/// Runs that ended before any reply cost nothing; their number is bounded all the same.
constexpr std::size_t kReturnedMax = 10'000;

Digest entry_hash(std::uint64_t sequence, const Digest& previous, std::string_view body) {
  std::string material = "undertone ledger entry 1";
  for (int i = 0; i < 8; ++i) material.push_back(static_cast<char>((sequence >> (8 * i)) & 0xffU));
  material.append(as_bytes(previous));
  material.append(body);
  return sha256(material);
}

std::string head_message(const Digest& ledger, std::uint64_t sequence, const Digest& hash) {
  std::string message = "undertone ledger head 1";
  message.append(as_bytes(ledger));
  for (int i = 0; i < 8; ++i) message.push_back(static_cast<char>((sequence >> (8 * i)) & 0xffU));
  return message.append(as_bytes(hash));
}

const char* noise_name(privacy::NoiseKind noise) { return noise == privacy::NoiseKind::Secure ? "secure" : "test"; }
const char* block_name(Block block) { return block == Block::Training ? "training" : "holdout"; }

Error store_failed() {
  return {ErrorCode::StorageFailed, "the ledger's store failed before; restart the silo when it is mended"};
}

Error corrupt(std::uint64_t sequence, const std::string& what) {
  return {ErrorCode::LedgerCorrupt, fmt::format("ledger entry {}: {}", sequence, what)};
}

}  // namespace

/// A row of the table.
struct Ledger::Entry {
  std::uint64_t sequence = 0;
  Digest previous{};
  std::string body;
  Digest hash{};
  std::string signature;
};

/// A body's texts, read with every absence and misfit turned into one error at the end.
struct Ledger::Fields {
  const Json& body;
  bool good = true;

  std::string text(const char* key) {
    const auto found = body.find(key);
    if (found == body.end() || !found->is_string()) {
      good = false;
      return {};
    }
    return found->get<std::string>();
  }
  template <class T>
  T value(Result<T> parsed) {
    if (!parsed) {
      good = false;
      return T{};
    }
    return *parsed;
  }
  RunId run() { return value(RunId::from_hex(text("run"))); }
  template <class Amount>
  Amount amount(const char* key) {
    return value(Amount::parse(text(key)));
  }
};

privacy::ShiftSquaredAmount RunAccount::reserved(Block block) const {
  return block == Block::Training ? training_reserved : holdout_reserved;
}

privacy::ShiftSquaredAmount RunAccount::spent(Block block) const {
  return block == Block::Training ? training_spent : holdout_spent;
}

Ledger::Ledger(store::Database& database, HeadStore& head, const SigningKey& key, privacy::NoiseKind noise)
    : database_(&database), head_store_(&head), key_(&key), noise_(noise) {}

Result<Ledger> Ledger::open(store::Database& database, HeadStore& head, const SigningKey& key,
                            const DatasetIdentity& dataset, const Budget& budget, privacy::NoiseKind noise) {
  Ledger ledger(database, head, key, noise);
  ledger.budget_ = budget;
  if (Status ready = database.execute(kSchema); !ready) return ready.error();
  if (Status replayed = ledger.replay(); !replayed) return replayed.error();
  if (Status checked = ledger.check_replies(); !checked) return checked.error();
  if (Status checked = ledger.check_head(); !checked) return checked.error();
  if (ledger.head_.sequence == 0) {
    const Json body{{"kind", "opened"},
                    {"format", "1"},
                    {"dataset", dataset.name},
                    {"digest", to_hex(dataset.digest)},
                    {"public_holdout", to_hex(dataset.public_holdout)},
                    {"public_key", to_hex(key.public_key())},
                    {"noise", noise_name(noise)}};
    if (Status opened = ledger.append(body.dump(), nullptr); !opened) return opened.error();
  }
  if (Status named = ledger.check_name(dataset); !named) return named.error();
  if (ledger.dataset_.digest != dataset.digest || ledger.dataset_.public_holdout != dataset.public_holdout) {
    return Error{
        ErrorCode::DatasetChanged,
        fmt::format("the content or the split of the data set \"{}\" is not what its ledger was opened for; if "
                    "that is meant, run `undertone-silo amend`, which carries all spending over",
                    dataset.name)};
  }
  return ledger;
}

Status Ledger::check_name(const DatasetIdentity& dataset) const {
  if (dataset_.name == dataset.name) return {};
  return Error{ErrorCode::DatasetChanged, fmt::format("this is the ledger of the data set \"{}\", configured is \"{}\"",
                                                      dataset_.name, dataset.name)};
}

Status Ledger::amend(store::Database& database, HeadStore& head, const SigningKey& key, const DatasetIdentity& dataset,
                     privacy::NoiseKind noise, bool publish) {
  Ledger ledger(database, head, key, noise);
  if (Status replayed = ledger.replay(); !replayed) return replayed;
  if (Status checked = ledger.check_replies(); !checked) return checked;
  if (Status checked = ledger.check_head(); !checked) return checked;
  if (Status named = ledger.check_name(dataset); !named) return named;
  const bool holdout_moved = ledger.dataset_.public_holdout != dataset.public_holdout;
  if (ledger.dataset_.digest == dataset.digest && !holdout_moved) return {};
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
    if (Status ended = ledger.end(run); !ended) return ended;
  }
  const Json body{
      {"kind", "amended"}, {"digest", to_hex(dataset.digest)}, {"public_holdout", to_hex(dataset.public_holdout)}};
  return ledger.append(body.dump(), nullptr);
}

Status Ledger::replay() {
  Result<store::Statement> rows =
      database_->prepare("SELECT sequence, previous, body, hash, signature FROM entries ORDER BY sequence");
  if (!rows) return rows.error();
  while (true) {
    const Result<bool> row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    Entry entry;
    entry.sequence = static_cast<std::uint64_t>(rows->integer(0));
    entry.body = rows->bytes(2);
    entry.signature = rows->bytes(4);
    const Result<Digest> previous = digest_from_bytes(rows->bytes(1));
    const Result<Digest> hash = digest_from_bytes(rows->bytes(3));
    if (entry.sequence != head_.sequence + 1) {
      return corrupt(head_.sequence + 1, fmt::format("missing, the next is {}", entry.sequence));
    }
    if (!previous || *previous != head_.hash)
      return corrupt(entry.sequence, "does not follow from the entry before it");
    entry.previous = *previous;
    entry.hash = entry_hash(entry.sequence, entry.previous, entry.body);
    if (!hash || *hash != entry.hash) return corrupt(entry.sequence, "was edited: its hash is not that of its content");
    const Digest& id = entry.sequence == 1 ? entry.hash : head_.ledger;
    if (!verify_signature(key_->public_key(), head_message(id, entry.sequence, entry.hash), entry.signature)) {
      return corrupt(entry.sequence,
                     "is not signed with this silo's ledger key: edited and re-hashed, or another silo's");
    }
    if (Status applied = apply(entry); !applied) return applied;
  }
}

Status Ledger::apply(const Entry& entry) {
  const Json body = Json::parse(entry.body, nullptr, false);
  if (!body.is_object()) return corrupt(entry.sequence, "is not a JSON object");
  Fields fields{body};
  const std::string kind = fields.text("kind");
  if ((kind == "opened") != (entry.sequence == 1))
    return corrupt(entry.sequence, "an opening entry is the first and only the first");
  if (kind == "opened" || kind == "amended") {
    const Digest digest = fields.value(digest_from_hex(fields.text("digest")));
    if (kind == "opened") {
      dataset_.name = fields.text("dataset");
      if (fields.text("format") != "1") return corrupt(entry.sequence, "has a format that this program does not know");
      if (fields.text("noise") != noise_name(noise_)) {
        return corrupt(entry.sequence, fmt::format("this ledger is for {} noise, this program draws {} noise",
                                                   fields.text("noise"), noise_name(noise_)));
      }
    }
    if (kind == "amended") {
      for (const auto& [run, account] : accounts_) {
        if (!account.ended) return corrupt(entry.sequence, "amends the data set while a run is open");
      }
    }
    dataset_.digest = digest;
    dataset_.public_holdout = fields.value(digest_from_hex(fields.text("public_holdout")));
  } else if (kind == "reserved") {
    const RunId run = fields.run();
    RunAccount account;
    account.epsilon = fields.amount<privacy::EpsilonAmount>("epsilon");
    account.delta = fields.amount<privacy::DeltaAmount>("delta");
    account.training_reserved = fields.amount<privacy::ShiftSquaredAmount>("training");
    account.holdout_reserved = fields.amount<privacy::ShiftSquaredAmount>("holdout");
    const auto epsilon = epsilon_reserved_.plus(account.epsilon);
    const auto delta = delta_reserved_.plus(account.delta);
    if (!epsilon || !delta || !accounts_.emplace(run, account).second)
      return corrupt(entry.sequence, "reserves a run twice or overflows");
    epsilon_reserved_ = *epsilon;
    delta_reserved_ = *delta;
  } else if (kind == "released" || kind == "ended" || kind == "returned") {
    const auto found = accounts_.find(fields.run());
    if (found == accounts_.end() || found->second.ended)
      return corrupt(entry.sequence, "concerns a run that is not open");
    RunAccount& account = found->second;
    if (kind == "released") {
      const RoundIndex round{static_cast<std::uint64_t>(fields.value(privacy::parse_decimal(fields.text("round"))))};
      const Block block = fields.text("block") == "training" ? Block::Training : Block::Holdout;
      auto& spent = block == Block::Training ? account.training_spent : account.holdout_spent;
      const auto sum = spent.plus(fields.amount<privacy::ShiftSquaredAmount>("cost"));
      if (!sum || *sum > account.reserved(block)) return corrupt(entry.sequence, "spends more than was reserved");
      if (account.last_round && round <= *account.last_round)
        return corrupt(entry.sequence, "repeats or reorders a round");
      spent = *sum;
      account.last_round = round;
      ++account.releases;
    } else {
      account.ended = true;
      account.returned = kind == "returned";
      if (account.returned == (account.releases != 0))
        return corrupt(entry.sequence, "returns a reservation that was used, or ends one that was not");
      if (account.returned) {
        ++returned_;
        epsilon_reserved_ = privacy::EpsilonAmount::from_units(epsilon_reserved_.units() - account.epsilon.units());
        delta_reserved_ = privacy::DeltaAmount::from_units(delta_reserved_.units() - account.delta.units());
      }
    }
  } else {
    return corrupt(entry.sequence, "is of a kind that this program does not know");
  }
  if (!fields.good) return corrupt(entry.sequence, "lacks a field or has one that cannot be read");
  head_ = {entry.sequence == 1 ? entry.hash : head_.ledger, entry.sequence, entry.hash, entry.signature};
  head_text_ = Json{{"format", "undertone.ledger-head/1"},
                    {"sequence", std::to_string(entry.sequence)},
                    {"previous", to_hex(entry.previous)},
                    {"body", to_hex(entry.body)},
                    {"signature", to_hex(entry.signature)}}
                   .dump();
  return {};
}

Status Ledger::check_replies() {
  Result<store::Statement> rows = database_->prepare(
      "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM jobs), (SELECT count(*) FROM entries WHERE "
      "json_extract(CAST(body AS TEXT), '$.kind') = 'released'), (SELECT count(*) FROM entries WHERE "
      "json_extract(CAST(body AS TEXT), '$.kind') = 'reserved') - (SELECT count(*) FROM entries WHERE "
      "json_extract(CAST(body AS TEXT), '$.kind') = 'returned')");
  if (!rows) return rows.error();
  const Result<bool> row = rows->step();
  if (!row) return row.error();
  if (rows->integer(0) != rows->integer(2) || rows->integer(1) != rows->integer(3)) {
    return Error{ErrorCode::LedgerCorrupt,
                 fmt::format("the ledger has {} replies for {} releases and {} jobs for {} reservations",
                             rows->integer(0), rows->integer(2), rows->integer(1), rows->integer(3))};
  }
  Result<store::Statement> entries = database_->prepare(
      "SELECT sequence, body FROM entries WHERE json_extract(CAST(body AS TEXT), '$.kind') = 'released' ORDER BY "
      "sequence");
  if (!entries) return entries.error();
  while (true) {
    const Result<bool> more = entries->step();
    if (!more) return more.error();
    if (!*more) return {};
    const auto sequence = static_cast<std::uint64_t>(entries->integer(0));
    const Json body = Json::parse(entries->bytes(1), nullptr, false);
    Fields fields{body};
    const RunId run = fields.run();
    const RoundIndex round{static_cast<std::uint64_t>(fields.value(privacy::parse_decimal(fields.text("round"))))};
    const Digest query = fields.value(digest_from_hex(fields.text("query")));
    const Result<std::optional<StoredReply>> reply = find_reply(run, round, query);
    if (!reply) return corrupt(sequence, reply.error().message);
    if (!*reply || to_hex(sha256((*reply)->bytes)) != fields.text("reply")) {
      return corrupt(sequence, "the stored reply is missing or is not the one that was committed");
    }
  }
}

Status Ledger::check_head() {
  const Result<std::optional<std::string>> text = head_store_->read();
  if (!text) return text.error();
  if (!*text) {
    if (head_.sequence == 0) return {};
    if (head_.sequence == 1) return head_store_->write(head_text_);
    return Error{
        ErrorCode::LedgerRolledBack,
        fmt::format("the ledger has {} entries but the head file that lives outside it is missing", head_.sequence)};
  }
  if (head_.sequence == 0) {
    return Error{ErrorCode::LedgerRolledBack,
                 "the ledger is empty, but the head file outside it is of a ledger that was written"};
  }
  const Json head = Json::parse(**text, nullptr, false);
  if (!head.is_object()) return Error{ErrorCode::LedgerCorrupt, "the head file is not a JSON object"};
  Fields fields{head};
  const auto sequence = static_cast<std::uint64_t>(fields.value(privacy::parse_decimal(fields.text("sequence"))));
  const Digest previous = fields.value(digest_from_hex(fields.text("previous")));
  const std::string body = fields.value(from_hex(fields.text("body")));
  const std::string signature = fields.value(from_hex(fields.text("signature")));
  if (!fields.good || fields.text("format") != "undertone.ledger-head/1") {
    return Error{ErrorCode::LedgerCorrupt, "the head file lacks a field or has one that cannot be read"};
  }
  if (Status known = check_receipt({head_.ledger, sequence, entry_hash(sequence, previous, body), signature}); !known)
    return known;
  if (sequence + 1 < head_.sequence) {
    return Error{
        ErrorCode::LedgerRolledBack,
        fmt::format("the ledger has {} entries, the head file outside it stands at {}: it is never more than one "
                    "behind, so it is an older copy or not this ledger's",
                    head_.sequence, sequence)};
  }
  return **text == head_text_ ? Status() : head_store_->write(head_text_);
}

Result<std::optional<Digest>> Ledger::hash_at(std::uint64_t sequence) {
  Result<store::Statement> row = database_->prepare("SELECT hash FROM entries WHERE sequence = ?");
  if (!row) return row.error();
  row->bind(1, static_cast<std::int64_t>(sequence));
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return std::optional<Digest>();
  const Result<Digest> hash = digest_from_bytes(row->bytes(0));
  if (!hash) return hash.error();
  return std::optional<Digest>(*hash);
}

Status Ledger::check_receipt(const queries::Receipt& receipt) {
  if (!verify_signature(key_->public_key(), head_message(receipt.ledger, receipt.sequence, receipt.hash),
                        receipt.signature)) {
    return Error{ErrorCode::LedgerCorrupt,
                 "a head kept outside the ledger is not signed with this silo's ledger key: another "
                 "data set's, or forged"};
  }
  const Result<std::optional<Digest>> own = hash_at(receipt.sequence);
  if (!own) return own.error();
  if (!*own) {
    return Error{ErrorCode::LedgerRolledBack,
                 fmt::format("the ledger ends at entry {}, but entry {} is known to have been "
                             "written: this is an older copy",
                             head_.sequence, receipt.sequence)};
  }
  if (**own != receipt.hash) {
    return Error{ErrorCode::LedgerRolledBack,
                 fmt::format("entry {} of the ledger is not the one that is known to have been "
                             "written: an older copy that was continued, or another ledger",
                             receipt.sequence)};
  }
  return {};
}

Status Ledger::append(const std::string& body, const std::function<Status()>& with_it) {
  if (broken_) return store_failed();
  broken_ = true;  // until every step below has succeeded
  Entry entry;
  entry.sequence = head_.sequence + 1;
  entry.previous = head_.hash;
  entry.body = body;
  entry.hash = entry_hash(entry.sequence, entry.previous, entry.body);
  const Digest& id = entry.sequence == 1 ? entry.hash : head_.ledger;
  entry.signature = key_->sign(head_message(id, entry.sequence, entry.hash));
  Status committed = database_->transaction([&]() -> Status {
    Result<store::Statement> insert = database_->prepare("INSERT INTO entries VALUES (?, ?, ?, ?, ?)");
    if (!insert) return insert.error();
    insert->bind(1, static_cast<std::int64_t>(entry.sequence)).bind_blob(2, as_bytes(entry.previous));
    insert->bind_blob(3, entry.body).bind_blob(4, as_bytes(entry.hash)).bind_blob(5, entry.signature);
    if (Status inserted = insert->run(); !inserted) return inserted;
    return with_it ? with_it() : Status();
  });
  if (!committed) return committed;
  if (Status applied = apply(entry); !applied) return applied;
  if (Status written = head_store_->write(head_text_); !written) return written;
  broken_ = false;
  return {};
}

Status Ledger::reserve(const RunId& run, const privacy::Plan& plan, const std::string& job) {
  UNDERTONE_CHECK(sha256(job) == run.job);
  if (const RunAccount* known = account(run)) {
    if (known->ended) return Error{ErrorCode::UnplannedQuery, "this run has ended: nothing more is answered in it"};
    if (known->epsilon != plan.epsilon() || known->delta != plan.delta() ||
        known->training_reserved != plan.cost(Block::Training) ||
        known->holdout_reserved != plan.cost(Block::Holdout)) {
      return Error{ErrorCode::UnplannedQuery, "the plan of this run is not the one that was reserved"};
    }
    return {};
  }
  if (returned_ >= kReturnedMax) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("{} jobs ended before any reply left; no more are accepted", returned_)};
  }
  const auto epsilon = epsilon_reserved_.plus(plan.epsilon());
  const auto delta = delta_reserved_.plus(plan.delta());
  if (!epsilon || *epsilon > budget_.epsilon) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("the job costs epsilon {:.6g}; {:.6g} of the data set's {:.6g} are reserved already",
                             plan.epsilon().value_rounded_up(), epsilon_reserved_.value_rounded_up(),
                             budget_.epsilon.value_rounded_up())};
  }
  if (!delta || *delta > budget_.delta) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("the job costs delta {:.6g}; {:.6g} of the data set's {:.6g} are reserved already",
                             plan.delta().value_rounded_up(), delta_reserved_.value_rounded_up(),
                             budget_.delta.value_rounded_up())};
  }
  const Json body{{"kind", "reserved"},
                  {"run", run.hex()},
                  {"epsilon", plan.epsilon().to_string()},
                  {"delta", plan.delta().to_string()},
                  {"mechanism_delta", plan.mechanism_delta_amount().to_string()},
                  {"training", plan.cost(Block::Training).to_string()},
                  {"holdout", plan.cost(Block::Holdout).to_string()}};
  return append(body.dump(), [&]() -> Status {
    Result<store::Statement> insert = database_->prepare("INSERT INTO jobs VALUES (?, ?)");
    if (!insert) return insert.error();
    return insert->bind_blob(1, run.bytes()).bind_blob(2, job).run();
  });
}

Result<std::optional<StoredReply>> Ledger::find_reply(const RunId& run, RoundIndex round, const Digest& query) {
  if (broken_) return store_failed();
  Result<store::Statement> row = database_->prepare("SELECT query, bytes FROM replies WHERE run = ? AND round = ?");
  if (!row) return row.error();
  row->bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(round.value));
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return std::optional<StoredReply>();
  const Result<Digest> stored = digest_from_bytes(row->bytes(0));
  if (!stored) return stored.error();
  if (*stored != query) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} was answered for another query; a round is answered once", round.value)};
  }
  return std::optional<StoredReply>(StoredReply{*stored, row->bytes(1)});
}

Result<SpendToken> Ledger::authorise(const RunId& run, RoundIndex round, const privacy::Release& release,
                                     const Digest& query) {
  if (broken_) return store_failed();
  const RunAccount* known = account(run);
  if (known == nullptr) return Error{ErrorCode::UnknownRun, "no job was accepted under this run"};
  if (known->ended) return Error{ErrorCode::UnplannedQuery, "this run has ended: nothing more is answered in it"};
  if (known->last_round && round <= *known->last_round) {
    return Error{ErrorCode::UnplannedQuery,
                 fmt::format("round {} is asked after round {}; rounds are never repeated or reordered", round.value,
                             known->last_round->value)};
  }
  const auto spent = known->spent(release.shape.block).plus(release.cost());
  if (!spent || *spent > known->reserved(release.shape.block)) {
    return Error{ErrorCode::BudgetExhausted,
                 fmt::format("round {} would spend more than was reserved for the run", round.value)};
  }
  return SpendToken(run, round, release.shape.block, release.cost(), query);
}

Status Ledger::commit(SpendToken&& token, const std::string& reply, privacy::NoiseKind noise) {
  const SpendToken spent = std::move(token);
  UNDERTONE_CHECK(spent.valid_ && noise == noise_);
  const Json body{{"kind", "released"},
                  {"run", spent.run_.hex()},
                  {"round", std::to_string(spent.round_.value)},
                  {"block", block_name(spent.block_)},
                  {"cost", spent.cost_.to_string()},
                  {"query", to_hex(spent.query_)},
                  {"reply", to_hex(sha256(reply))}};
  return append(body.dump(), [&]() -> Status {
    Result<store::Statement> insert = database_->prepare("INSERT INTO replies VALUES (?, ?, ?, ?)");
    if (!insert) return insert.error();
    insert->bind_blob(1, spent.run_.bytes()).bind(2, static_cast<std::int64_t>(spent.round_.value));
    return insert->bind_blob(3, as_bytes(spent.query_)).bind_blob(4, reply).run();
  });
}

Status Ledger::end(const RunId& run) {
  const RunAccount* known = account(run);
  if (known == nullptr || known->ended) return {};
  if (known->releases != 0) return append(Json{{"kind", "ended"}, {"run", run.hex()}}.dump(), nullptr);
  return append(Json{{"kind", "returned"}, {"run", run.hex()}}.dump(), [&]() -> Status {
    Result<store::Statement> remove = database_->prepare("DELETE FROM jobs WHERE run = ?");
    if (!remove) return remove.error();
    return remove->bind_blob(1, run.bytes()).run();
  });
}

Result<std::optional<std::string>> Ledger::job_of(const RunId& run) {
  Result<store::Statement> row = database_->prepare("SELECT job FROM jobs WHERE run = ?");
  if (!row) return row.error();
  row->bind_blob(1, run.bytes());
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return std::optional<std::string>();
  std::string job = row->bytes(0);
  if (sha256(job) != run.job) return Error{ErrorCode::LedgerCorrupt, "a stored job is not the one its run names"};
  return std::optional<std::string>(std::move(job));
}

const RunAccount* Ledger::account(const RunId& run) const {
  const auto found = accounts_.find(run);
  return found == accounts_.end() ? nullptr : &found->second;
}

}  // namespace undertone::silo
