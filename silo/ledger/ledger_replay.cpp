#include <nlohmann/json.hpp>
#include <tuple>

#include "silo/ledger/ledger.hpp"
#include "silo/ledger/ledger_entry.hpp"

/// How a ledger is read back and checked; ledger.cpp holds what is done with it.
namespace undertone::silo {

using Json = nlohmann::json;
using releases::Block;

namespace {

constexpr const char* kUnreadable = "lacks a field or has one that cannot be read";

}  // namespace

Status Ledger::replay() {
  Status replayed = each_entry(*database_, [this](const LedgerEntry& entry) -> Status {
    if (entry.sequence != head_.sequence + 1)
      return corrupt(head_.sequence + 1, fmt::format("missing, the next is {}", entry.sequence));
    if (entry.previous != head_.hash) return corrupt(entry.sequence, "does not follow from the entry before it");
    if (entry.hash != entry_hash(entry.sequence, entry.previous, entry.body))
      return corrupt(entry.sequence, "was edited: its hash is not that of its content");
    return apply(entry);
  });
  if (!replayed || head_.sequence == 0) return replayed;
  // Each hash covers all before it, so the newest signature is one on every entry: a long ledger opens as fast as it
  // can be read. `undertone ledger verify` verifies each.
  if (!verify_signature(key_->public_key(), head_message(head_.ledger, head_.sequence, head_.hash), head_.signature)) {
    return corrupt(head_.sequence,
                   "is not signed with this silo's ledger key: edited and re-hashed, or another silo's");
  }
  return {};
}

Status Ledger::apply(const LedgerEntry& entry) {
  const Json body = Json::parse(entry.body, nullptr, false);
  if (!body.is_object()) return corrupt(entry.sequence, "is not a JSON object");
  EntryFields fields{body};
  const std::string kind = fields.text("kind");
  if ((kind == "opened") != (entry.sequence == 1))
    return corrupt(entry.sequence, "an opening entry is the first and only the first");
  if (kind == "opened" || kind == "amended") {
    const Digest digest = fields.value(digest_from_hex(fields.text("digest")));
    if (kind == "opened") {
      dataset_.name = fields.text("dataset");
      if (body.contains("public_records"))
        dataset_.public_records = fields.value(digest_from_hex(fields.text("public_records")));
      const bool of_units = fields.text("format") == kFormatOfUnits;
      if (of_units != body.contains("unit"))
        return corrupt(entry.sequence, "says a unit where its format has none, or none where it has one");
      if (of_units) {
        const Result<releases::Unit> unit = releases::parse_unit(fields.text("unit"));
        if (!unit || *unit == releases::Unit::Record)
          return corrupt(entry.sequence, "protects a unit that this program does not know");
        dataset_.unit = *unit;
        dataset_.persons = fields.value(digest_from_hex(fields.text("persons")));
      }
      const Result<LedgerFormat> format =
          of_units ? Result<LedgerFormat>(LedgerFormat::Two) : parse_format(fields.text("format"));
      if (!format) return corrupt(entry.sequence, "has a format that this program does not know");
      format_ = *format;
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
    if (filter_) filter_->content_changed();
    dataset_.digest = digest;
    dataset_.public_holdout = fields.value(digest_from_hex(fields.text("public_holdout")));
  } else if (kind == "filtered") {
    for (const auto& [run, account] : accounts_) {
      if (!account.ended) return corrupt(entry.sequence, "starts a filter while a run is open");
    }
    const silo::FilterTerms terms{fields.amount<releases::EpsilonAmount>("epsilon"),
                                  fields.amount<releases::DeltaAmount>("delta"),
                                  fields.amount<releases::DeltaAmount>("mechanism_delta"),
                                  fields.amount<releases::ShiftSquaredAmount>("shift_squared")};
    if (!fields.good) return corrupt(entry.sequence, kUnreadable);
    if (!terms.sound()) return corrupt(entry.sequence, "starts a filter that its epsilon and delta do not cover");
    UNDERTONE_TRY(charge(entry.sequence, terms.epsilon, terms.delta));
    filter_.emplace(terms);
  } else if (kind == "upgraded") {
    if (format_ != LedgerFormat::One || fields.text("format") != to_string(LedgerFormat::Two))
      return corrupt(entry.sequence, "goes on in a format that does not follow the one before");
    format_ = LedgerFormat::Two;
  } else if (kind == "reserved" || kind == "accepted") {
    UNDERTONE_TRY(apply_reservation(entry.sequence, body));
  } else if (kind == "released" || kind == "ended" || kind == "returned") {
    UNDERTONE_TRY(apply_to_run(entry.sequence, body));
  } else {
    return corrupt(entry.sequence, "is of a kind that this program does not know");
  }
  if (!fields.good) return corrupt(entry.sequence, kUnreadable);
  head_ = {entry.sequence == 1 ? entry.hash : head_.ledger, entry.sequence, entry.hash, entry.signature};
  head_text_ = Json{{"format", "undertone.ledger-head/1"},
                    {"sequence", std::to_string(entry.sequence)},
                    {"previous", to_hex(entry.previous)},
                    {"body", to_hex(entry.body)},
                    {"signature", to_hex(entry.signature)}}
                   .dump();
  return {};
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

Status Ledger::apply_to_run(std::uint64_t sequence, const Json& body) {
  EntryFields fields{body};
  const auto found = accounts_.find(fields.run());
  if (found == accounts_.end() || found->second.ended) return corrupt(sequence, "concerns a run that is not open");
  RunAccount& account = found->second;
  const std::string kind = fields.text("kind");
  if (kind == "released") {
    const RoundIndex round{fields.index("round")};
    const std::string name = fields.text("block");
    Block block = Block::Training;
    for (const Block known : {Block::Holdout, Block::Public})
      if (name == releases::block_name(known)) block = known;
    if (name != releases::block_name(block)) return corrupt(sequence, "reads a block that there is not");
    if (block == Block::Public && !fields.cost("cost", account.format).is_zero())
      return corrupt(sequence, "charges for records that were declared public");
    const releases::Cost cost = fields.cost("cost", account.format);
    if (!fields.good) return corrupt(sequence, kUnreadable);
    if (cost.is_zero() && !may_cost_nothing(block))
      return corrupt(sequence, "costs nothing, but its records were not declared public");
    const std::optional<std::uint64_t> draws = account.spend(block, cost);
    if (!draws) return corrupt(sequence, "spends more than was reserved");
    if (account.filtered && !filter_->spend(block, cost, *draws))
      return corrupt(sequence, "spends more than the data set's filter has left");
    if (account.last_round && round <= *account.last_round) return corrupt(sequence, "repeats or reorders a round");
    account.last_round = round;
    account.rounds.append(round);
    ++account.releases;
    if (body.contains("order")) {
      if (fields.text("order") != "secret") return corrupt(sequence, "has an order that is not secret");
      ++account.releases_in_secret_order;
    }
    return {};
  }
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
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare(
          "SELECT (SELECT count(*) FROM replies), (SELECT count(*) FROM jobs), (SELECT count(*) FROM entries WHERE "
          "json_extract(CAST(body AS TEXT), '$.kind') = 'released'), (SELECT count(*) FROM entries WHERE "
          "json_extract(CAST(body AS TEXT), '$.kind') IN ('reserved', 'accepted')) - (SELECT count(*) FROM entries "
          "WHERE "
          "json_extract(CAST(body AS TEXT), '$.kind') = 'returned')"));
  UNDERTONE_TRY(rows.step());
  if (rows.integer(0) != rows.integer(2) || rows.integer(1) != rows.integer(3)) {
    return Error{ErrorCode::LedgerCorrupt,
                 fmt::format("the ledger has {} replies for {} releases and {} jobs for {} reservations",
                             rows.integer(0), rows.integer(2), rows.integer(1), rows.integer(3))};
  }
  UNDERTONE_TRY(
      store::Statement entries,
      database_->prepare(
          "SELECT sequence, body FROM entries WHERE json_extract(CAST(body AS TEXT), '$.kind') = 'released' ORDER BY "
          "sequence"));
  while (true) {
    UNDERTONE_TRY(const bool more, entries.step());
    if (!more) return {};
    const auto sequence = static_cast<std::uint64_t>(entries.integer(0));
    const Json body = Json::parse(entries.bytes(1), nullptr, false);
    EntryFields fields{body};
    const RunId run = fields.run();
    const RoundIndex round{fields.index("round")};
    const Digest query = fields.value(digest_from_hex(fields.text("query")));
    const Result<std::optional<StoredReply>> reply = find_reply(run, round, query);
    if (!reply) return corrupt(sequence, reply.error().message);
    if (!*reply || to_hex(sha256((*reply)->bytes)) != fields.text("reply")) {
      return corrupt(sequence, "the stored reply is missing or is not the one that was committed");
    }
  }
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
