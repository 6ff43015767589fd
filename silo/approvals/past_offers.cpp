#include "silo/approvals/past_offers.hpp"

#include <optional>

namespace undertone::silo {
namespace {

constexpr const char* kPastSchema =
    "CREATE TABLE IF NOT EXISTS past_offers (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL,"
    " dataset TEXT NOT NULL, name TEXT NOT NULL, outcome TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL,"
    " epsilon REAL NOT NULL, delta REAL NOT NULL, at INTEGER NOT NULL);";

std::optional<PastOffer::Outcome> parse_outcome(const std::string& name) {
  for (const PastOffer::Outcome outcome : {PastOffer::Outcome::Refused, PastOffer::Outcome::Ended}) {
    if (name == to_string(outcome)) return outcome;
  }
  return std::nullopt;
}

}  // namespace

const char* to_string(PastOffer::Outcome outcome) noexcept {
  switch (outcome) {
    case PastOffer::Outcome::Refused:
      return "refused";
    case PastOffer::Outcome::Ended:
      return "ended";
  }
  return "";
}

Result<PastOffers> PastOffers::open(store::Database& database) {
  if (Status ready = database.execute(kPastSchema); !ready) return ready.error();
  return PastOffers(database);
}

Result<bool> PastOffers::says(const RunId& run, PastOffer::Outcome outcome, const std::string& reason,
                              std::int64_t now) {
  UNDERTONE_TRY(store::Statement row,
                database_->prepare(
                    "SELECT 1 FROM past_offers WHERE run = ? AND outcome = ? AND reason = ? AND at BETWEEN ? AND ?"));
  row.bind_blob(1, run.bytes()).bind_text(2, to_string(outcome)).bind_text(3, reason);
  return row.bind(4, now - kAgainSeconds).bind(5, now).step();
}

Status PastOffers::note(const PastOffer& offer) {
  const std::string reason = offer.reason.substr(0, kReasonBytesMax);
  UNDERTONE_TRY(const bool said, says(offer.run, offer.outcome, reason, offer.at));
  if (said) return {};
  return database_->transaction([&]() -> Status {
    // A new number, also where the run was known: the oldest number is what is dropped.
    UNDERTONE_TRY(
        store::Statement put,
        database_->prepare("INSERT OR REPLACE INTO past_offers (run, dataset, name, outcome, kind, reason, epsilon,"
                           " delta, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    put.bind_blob(1, offer.run.bytes()).bind_text(2, offer.dataset).bind_text(3, offer.name.substr(0, kNameBytesMax));
    put.bind_text(4, to_string(offer.outcome)).bind_text(5, offer.kind).bind_text(6, reason);
    put.bind_real(7, offer.epsilon).bind_real(8, offer.delta);
    if (Status done = put.bind(9, offer.at).run(); !done) return done;
    UNDERTONE_TRY(store::Statement drop, database_->prepare("DELETE FROM past_offers WHERE number <= (SELECT number "
                                                            "FROM past_offers ORDER BY number DESC LIMIT 1 OFFSET "
                                                            "?)"));
    return drop.bind(1, static_cast<std::int64_t>(kKeptMax)).run();
  });
}

Result<bool> PastOffers::knows(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT 1 FROM past_offers WHERE run = ?"));
  return row.bind_blob(1, run.bytes()).step();
}

Status PastOffers::forget(const RunId& run) {
  UNDERTONE_TRY(const bool known, knows(run));
  if (!known) return {};
  return database_->transaction([&]() -> Status {
    UNDERTONE_TRY(store::Statement remove, database_->prepare("DELETE FROM past_offers WHERE run = ?"));
    return remove.bind_blob(1, run.bytes()).run();
  });
}

Result<std::vector<PastOffer>> PastOffers::all() {
  UNDERTONE_TRY(store::Statement rows, database_->prepare("SELECT run, dataset, name, outcome, kind, reason, epsilon, "
                                                          "delta, at FROM past_offers ORDER BY number DESC"));
  std::vector<PastOffer> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    const Result<RunId> run = RunId::from_bytes(rows.bytes(0));
    const std::optional<PastOffer::Outcome> outcome = parse_outcome(rows.bytes(3));
    if (!run || !outcome) return Error{ErrorCode::StorageFailed, "the desk's past offers cannot be read"};
    out.push_back({*run, rows.bytes(1), rows.bytes(2), *outcome, rows.bytes(4), rows.bytes(5), rows.real(6),
                   rows.real(7), rows.integer(8)});
  }
}

}  // namespace undertone::silo
