#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "silo/ledger/ledger.hpp"
#include "silo/ledger/ledger_entry.hpp"
#include "silo/ledger/released_entry.hpp"

/// How a ledger is read back and checked; ledger.cpp holds what is done with it.
namespace undertone::silo {

using Json = nlohmann::json;
using releases::Block;

namespace {

constexpr const char* kUnreadable = "lacks a field or has one that cannot be read";

/// The entry of a release that is spelled otherwise than this program spells it.
Result<ReleasedEntry> released_entry(std::uint64_t sequence, const Json& body) {
  EntryFields fields{body};
  ReleasedEntry out;
  out.run = fields.run();
  out.round = {fields.index("round")};
  out.cost = fields.text("cost");
  const std::optional<Block> block = block_named(fields.text("block"));
  if (!block) return corrupt(sequence, "reads a block that there is not");
  out.block = *block;
  out.query = fields.value(digest_from_hex(fields.text("query")));
  out.reply = fields.value(digest_from_hex(fields.text("reply")));
  out.secret_order = body.contains("order");
  if (out.secret_order && fields.text("order") != "secret") return corrupt(sequence, "has an order that is not secret");
  if (!fields.good) return corrupt(sequence, kUnreadable);
  return out;
}

}  // namespace

Result<bool> Ledger::stands_next(const Committed& one) {
  if (replies_in_order_ == nullptr) return false;
  store::Statement& row = *replies_in_order_;
  UNDERTONE_TRY(const bool more, row.step());
  const bool same_key = more && row.integer(4) == 1 && row.view(0) == one.run.bytes() &&
                        row.integer(1) == static_cast<std::int64_t>(one.round.value);
  if (!same_key) replies_in_order_ = nullptr;
  return same_key && row.view(2) == as_bytes(one.query) && sha256(row.view(3)) == one.reply;
}

Status Ledger::replay() {
  // Replies stand in the order of their entries where this program wrote them: one walk along both.
  UNDERTONE_TRY(store::Statement replies,
                database_->prepare("SELECT run, round, query, bytes, typeof(run) = 'blob' AND typeof(round) = "
                                   "'integer' FROM replies ORDER BY rowid"));
  replies_in_order_ = &replies;
  Status replayed = replay_entries();
  replies_in_order_ = nullptr;
  return replayed;
}

Status Ledger::replay_entries() {
  LedgerEntry newest;
  Status replayed = each_entry(*database_, [&](LedgerEntry& entry) -> Status {
    if (entry.sequence != head_.sequence + 1)
      return corrupt(head_.sequence + 1, fmt::format("missing, the next is {}", entry.sequence));
    if (entry.previous != head_.hash) return corrupt(entry.sequence, "does not follow from the entry before it");
    if (entry.hash != entry_hash(entry.sequence, entry.previous, entry.body))
      return corrupt(entry.sequence, "was edited: its hash is not that of its content");
    UNDERTONE_TRY(apply(entry));
    newest = std::move(entry);
    return {};
  });
  if (!replayed || head_.sequence == 0) return replayed;
  head_text_ = head_text(newest);
  // Each hash covers all before it, so the newest signature is one on every entry: a long ledger opens as fast as it
  // can be read. `undertone ledger verify` verifies each.
  if (!verify_signature(key_->public_key(), head_message(head_.ledger, head_.sequence, head_.hash), head_.signature)) {
    return corrupt(head_.sequence,
                   "is not signed with this silo's ledger key: edited and re-hashed, or another silo's");
  }
  return {};
}

Status Ledger::apply(const LedgerEntry& entry) {
  std::optional<ReleasedEntry> released = ReleasedEntry::read(entry.body);
  if (!released) {
    const Json body = Json::parse(entry.body, nullptr, false);
    if (!body.is_object()) return corrupt(entry.sequence, "is not a JSON object");
    const auto kind = body.find("kind");
    if (kind == body.end() || *kind != "released") {
      UNDERTONE_TRY(apply(entry.sequence, body));
    } else {
      UNDERTONE_TRY(released, released_entry(entry.sequence, body));
    }
  }
  if (released) {
    UNDERTONE_TRY(apply(entry.sequence, *released));
    const Committed one{released->run, released->round, released->query, released->reply, entry.sequence};
    UNDERTONE_TRY(const bool next, stands_next(one));
    if (!next) elsewhere_.push_back(one);
  }
  advance(entry);
  return {};
}

void Ledger::advance(const LedgerEntry& entry) {
  head_ = {entry.sequence == 1 ? entry.hash : head_.ledger, entry.sequence, entry.hash, entry.signature};
}

Status Ledger::apply(std::uint64_t sequence, const Json& body) {
  EntryFields fields{body};
  const std::string kind = fields.text("kind");
  if ((kind == "opened") != (sequence == 1))
    return corrupt(sequence, "an opening entry is the first and only the first");
  if (kind == "opened" || kind == "amended") {
    const Digest digest = fields.value(digest_from_hex(fields.text("digest")));
    if (kind == "opened") {
      dataset_.name = fields.text("dataset");
      if (body.contains("public_records"))
        dataset_.public_records = fields.value(digest_from_hex(fields.text("public_records")));
      const bool of_units = fields.text("format") == kFormatOfUnits;
      if (of_units != body.contains("unit"))
        return corrupt(sequence, "says a unit where its format has none, or none where it has one");
      if (of_units) {
        const Result<releases::Unit> unit = releases::parse_unit(fields.text("unit"));
        if (!unit || *unit == releases::Unit::Record)
          return corrupt(sequence, "protects a unit that this program does not know");
        dataset_.unit = *unit;
        dataset_.persons = fields.value(digest_from_hex(fields.text("persons")));
      }
      const Result<LedgerFormat> format =
          of_units ? Result<LedgerFormat>(LedgerFormat::Two) : parse_format(fields.text("format"));
      if (!format) return corrupt(sequence, "has a format that this program does not know");
      format_ = *format;
      if (fields.text("noise") != noise_name(noise_)) {
        return corrupt(sequence, fmt::format("this ledger is for {} noise, this program draws {} noise",
                                             fields.text("noise"), noise_name(noise_)));
      }
    }
    if (kind == "amended") {
      for (const auto& [run, account] : accounts_) {
        if (!account.ended) return corrupt(sequence, "amends the data set while a run is open");
      }
    }
    if (filter_) filter_->content_changed();
    dataset_.digest = digest;
    dataset_.public_holdout = fields.value(digest_from_hex(fields.text("public_holdout")));
  } else if (kind == "filtered") {
    for (const auto& [run, account] : accounts_) {
      if (!account.ended) return corrupt(sequence, "starts a filter while a run is open");
    }
    const silo::FilterTerms terms{fields.amount<releases::EpsilonAmount>("epsilon"),
                                  fields.amount<releases::DeltaAmount>("delta"),
                                  fields.amount<releases::DeltaAmount>("mechanism_delta"),
                                  fields.amount<releases::ShiftSquaredAmount>("shift_squared")};
    if (!fields.good) return corrupt(sequence, kUnreadable);
    if (!terms.sound()) return corrupt(sequence, "starts a filter that its epsilon and delta do not cover");
    UNDERTONE_TRY(charge(sequence, terms.epsilon, terms.delta));
    filter_.emplace(terms);
  } else if (kind == "upgraded") {
    if (format_ != LedgerFormat::One || fields.text("format") != to_string(LedgerFormat::Two))
      return corrupt(sequence, "goes on in a format that does not follow the one before");
    format_ = LedgerFormat::Two;
  } else if (kind == "reserved" || kind == "accepted") {
    UNDERTONE_TRY(apply_reservation(sequence, body));
  } else if (kind == "ended" || kind == "returned") {
    UNDERTONE_TRY(apply_end(sequence, body));
  } else {
    return corrupt(sequence, "is of a kind that this program does not know");
  }
  return fields.good ? Status() : corrupt(sequence, kUnreadable);
}

Status Ledger::apply_reservation(std::uint64_t sequence, const Json& body) {
  EntryFields fields{body};
  if ((fields.text("kind") == "accepted") != filter_.has_value())
    return corrupt(sequence, "reserves a run beside a filter, or accepts one without");
  const RunId run = fields.run();
  RunAccount account;
  account.format = format_;
  account.epsilon = fields.amount<releases::EpsilonAmount>("epsilon");
  account.delta = fields.amount<releases::DeltaAmount>("delta");
  account.training_reserved = fields.cost("training", format_);
  account.holdout_reserved = fields.cost("holdout", format_);
  for (const auto& [key, list, reserved] :
       {std::tuple("training_releases", &account.training_releases, account.training_reserved),
        std::tuple("holdout_releases", &account.holdout_releases, account.holdout_reserved)}) {
    if (body.contains(key)) *list = fields.value(ListedReleases::parse(fields.text(key), format_));
    if (format_ == LedgerFormat::Two && fields.good && list->total() != reserved)
      return corrupt(sequence, "reserves another cost than that of the releases that it lists");
  }
  if (filter_ && !(account.training_reserved.is_gaussian() && account.holdout_reserved.is_gaussian()))
    return corrupt(sequence, "accepts releases that are not Gaussian under a filter");
  if (filter_ && (account.training_releases.reads_secret_parts() || account.holdout_releases.reads_secret_parts()))
    return corrupt(sequence, "accepts secret parts under a filter");
  if (body.contains("plan")) account.plan = fields.value(digest_from_hex(fields.text("plan")));
  if (body.contains("at")) account.reserved_at = fields.text("at");
  account.filtered = filter_.has_value();
  if (!fields.good) return corrupt(sequence, kUnreadable);
  const auto epsilon = account.epsilon;
  const auto delta = account.delta;
  if (!accounts_.emplace(run, std::move(account)).second) return corrupt(sequence, "reserves a run twice");
  return filter_ ? Status() : charge(sequence, epsilon, delta);
}

Status Ledger::open_account(std::uint64_t sequence, const RunId& run, RunAccount** out) {
  const auto found = accounts_.find(run);
  if (found == accounts_.end() || found->second.ended) return corrupt(sequence, "concerns a run that is not open");
  *out = &found->second;
  return {};
}

Status Ledger::apply(std::uint64_t sequence, const ReleasedEntry& entry) {
  if (sequence == 1) return corrupt(sequence, "an opening entry is the first and only the first");
  RunAccount* account = nullptr;
  UNDERTONE_TRY(open_account(sequence, entry.run, &account));
  // Most releases cost what the one before did.
  if (!parsed_cost_ || parsed_cost_->text != entry.cost || parsed_cost_->format != account->format) {
    const Result<releases::Cost> parsed = parse_cost(entry.cost, account->format);
    if (!parsed) return corrupt(sequence, kUnreadable);
    parsed_cost_ = {entry.cost, account->format, *parsed};
  }
  const releases::Cost* const cost = &parsed_cost_->cost;
  if (entry.block == Block::Public && !cost->is_zero())
    return corrupt(sequence, "charges for records that were declared public");
  if (cost->is_zero() && !may_cost_nothing(entry.block))
    return corrupt(sequence, "costs nothing, but its records were not declared public");
  const std::optional<std::uint64_t> draws = account->spend(entry.block, *cost);
  if (!draws) return corrupt(sequence, "spends more than was reserved");
  if (account->filtered && !filter_->spend(entry.block, *cost, *draws))
    return corrupt(sequence, "spends more than the data set's filter has left");
  if (account->last_round && entry.round <= *account->last_round)
    return corrupt(sequence, "repeats or reorders a round");
  account->last_round = entry.round;
  account->rounds.append(entry.round);
  ++account->releases;
  if (entry.secret_order) ++account->releases_in_secret_order;
  return {};
}

Status Ledger::apply_end(std::uint64_t sequence, const Json& body) {
  EntryFields fields{body};
  RunAccount* open = nullptr;
  UNDERTONE_TRY(open_account(sequence, fields.run(), &open));
  RunAccount& account = *open;
  const std::string kind = fields.text("kind");
  account.ended = true;
  account.training_releases = {};  // nothing more is crossed off
  account.holdout_releases = {};
  account.returned = kind == "returned";
  if (account.returned == (account.releases != 0))
    return corrupt(sequence, "returns a reservation that was used, or ends one that was not");
  if (account.returned && !account.filtered) {
    epsilon_reserved_ = releases::EpsilonAmount::from_units(epsilon_reserved_.units() - account.epsilon.units());
    delta_reserved_ = releases::DeltaAmount::from_units(delta_reserved_.units() - account.delta.units());
  }
  return {};
}

Status Ledger::charge(std::uint64_t sequence, releases::EpsilonAmount epsilon, releases::DeltaAmount delta) {
  const auto epsilon_sum = epsilon_reserved_.plus(epsilon);
  const auto delta_sum = delta_reserved_.plus(delta);
  if (!epsilon_sum || !delta_sum) return corrupt(sequence, "reserves more than can be counted");
  epsilon_reserved_ = *epsilon_sum;
  delta_reserved_ = *delta_sum;
  return {};
}

Status Ledger::check_replies() {
  const std::vector<Committed> elsewhere = std::exchange(elsewhere_, {});
  std::int64_t reserved = 0;
  std::int64_t released = 0;
  for (const auto& [run, account] : accounts_) {
    reserved += account.returned ? 0 : 1;
    released += static_cast<std::int64_t>(account.releases);
  }
  UNDERTONE_TRY(store::Statement counts,
                database_->prepare("SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM jobs)"));
  UNDERTONE_TRY(counts.step());
  if (counts.integer(0) != released || counts.integer(1) != reserved) {
    return Error{ErrorCode::LedgerCorrupt,
                 fmt::format("the ledger has {} replies for {} releases and {} jobs for {} reservations",
                             counts.integer(0), released, counts.integer(1), reserved)};
  }
  for (const Committed& one : elsewhere) {
    const Result<std::optional<StoredReply>> reply = find_reply(one.run, one.round, one.query);
    if (!reply) return corrupt(one.sequence, reply.error().message);
    if (!*reply || sha256((*reply)->bytes) != one.reply)
      return corrupt(one.sequence, "the stored reply is missing or is not the one that was committed");
  }
  return {};
}

Result<std::uint64_t> Ledger::check_not_behind(const std::string& text) {
  const Json head = Json::parse(text, nullptr, false);
  if (!head.is_object()) return Error{ErrorCode::LedgerCorrupt, "the head file is not a JSON object"};
  EntryFields fields{head};
  const auto sequence = fields.index("sequence");
  const Digest previous = fields.value(digest_from_hex(fields.text("previous")));
  const std::string body = fields.value(from_hex(fields.text("body")));
  const std::string signature = fields.value(from_hex(fields.text("signature")));
  if (!fields.good || fields.text("format") != "undertone.ledger-head/1") {
    return Error{ErrorCode::LedgerCorrupt, "the head file lacks a field or has one that cannot be read"};
  }
  if (Status known = check_receipt({head_.ledger, sequence, entry_hash(sequence, previous, body), signature}); !known)
    return known.error();
  return sequence;
}

Status Ledger::check_head() {
  UNDERTONE_TRY(const std::optional<std::string> text, head_store_->read());
  if (!text) {
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
  UNDERTONE_TRY(const std::uint64_t sequence, check_not_behind(*text));
  if (sequence + 1 < head_.sequence) {
    return Error{
        ErrorCode::LedgerRolledBack,
        fmt::format("the ledger has {} entries, the head file outside it stands at {}: it is never more than one "
                    "behind, so it is an older copy or not this ledger's",
                    head_.sequence, sequence)};
  }
  return *text == head_text_ ? Status() : head_store_->write(head_text_);
}

Result<std::optional<Digest>> Ledger::hash_at(std::uint64_t sequence) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT hash FROM entries WHERE sequence = ?"));
  row.bind(1, static_cast<std::int64_t>(sequence));
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return std::optional<Digest>();
  UNDERTONE_TRY(const Digest hash, digest_from_bytes(row.bytes(0)));
  return std::optional<Digest>(hash);
}

Status Ledger::check_receipt(const wire::Receipt& receipt) {
  if (!verify_signature(key_->public_key(), head_message(receipt.ledger, receipt.sequence, receipt.hash),
                        receipt.signature)) {
    return Error{ErrorCode::LedgerCorrupt,
                 "a head kept outside the ledger is not signed with this silo's ledger key: another "
                 "data set's, or forged"};
  }
  UNDERTONE_TRY(const std::optional<Digest> own, hash_at(receipt.sequence));
  if (!own) {
    return Error{ErrorCode::LedgerRolledBack,
                 fmt::format("the ledger ends at entry {}, but entry {} is known to have been "
                             "written: this is an older copy",
                             head_.sequence, receipt.sequence)};
  }
  if (*own != receipt.hash) {
    return Error{ErrorCode::LedgerRolledBack,
                 fmt::format("entry {} of the ledger is not the one that is known to have been "
                             "written: an older copy that was continued, or another ledger",
                             receipt.sequence)};
  }
  return {};
}

}  // namespace undertone::silo
