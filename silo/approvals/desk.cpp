#include "silo/approvals/desk.hpp"

#include <array>
#include <utility>

#include "shared/jobs/job.hpp"

namespace undertone::silo {
namespace {

constexpr const char* kDeskSchema =
    "CREATE TABLE IF NOT EXISTS offers (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL,"
    " dataset TEXT NOT NULL, job BLOB NOT NULL, decision TEXT NOT NULL, first_seen INTEGER NOT NULL,"
    " last_seen INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE IF NOT EXISTS switches (name TEXT PRIMARY KEY);"
    "CREATE TABLE IF NOT EXISTS words (run BLOB PRIMARY KEY, who TEXT NOT NULL, reason TEXT NOT NULL,"
    " at INTEGER NOT NULL) WITHOUT ROWID;";

constexpr std::array kDecisions = {Decision::Waiting, Decision::Approved, Decision::Refused, Decision::Withdrawn};
constexpr std::int64_t kOffersKept = 10'000;

Result<Decision> parse_decision(const std::string& name) {
  for (const Decision decision : kDecisions) {
    if (name == to_string(decision)) return decision;
  }
  return Error{ErrorCode::StorageFailed, "the desk holds a decision that this program does not know"};
}

constexpr const char* kSelectOffers = "SELECT run, dataset, job, decision, first_seen FROM offers ";

Result<std::vector<DeskOffer>> read_offers(store::Statement& rows) {
  std::vector<DeskOffer> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    const Result<RunId> run = RunId::from_bytes(rows.bytes(0));
    const Result<Decision> known = parse_decision(rows.bytes(3));
    if (!run || !known) return Error{ErrorCode::StorageFailed, "the desk's offers cannot be read"};
    out.push_back({*run, rows.bytes(1), rows.bytes(2), *known, rows.integer(4)});
  }
}

}  // namespace

const char* to_string(Decision decision) noexcept {
  switch (decision) {
    case Decision::Waiting:
      return "waiting";
    case Decision::Approved:
      return "approved";
    case Decision::Refused:
      return "refused";
    case Decision::Withdrawn:
      return "withdrawn";
  }
  return "";
}

Result<Desk> Desk::open(store::Database& database) {
  if (Status ready = database.execute(kDeskSchema); !ready) return ready.error();
  UNDERTONE_TRY(const PastOffers past, PastOffers::open(database));
  return Desk(database, past);
}

Result<std::optional<Decision>> Desk::decision(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT decision FROM offers WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return std::optional<Decision>();
  UNDERTONE_TRY(const Decision known, parse_decision(row.bytes(0)));
  return std::optional<Decision>(known);
}

Result<std::optional<Decision>> Desk::offered(const RunId& run, const std::string& dataset, const std::string& job,
                                              std::int64_t now) {
  Result<std::optional<Decision>> known = decision(run);
  if (!known) return known;
  if (*known) {
    // An approval is for the data set that was shown: on another one the owner is asked again.
    UNDERTONE_TRY(
        store::Statement moved,
        database_->prepare(
            "UPDATE offers SET decision = 'waiting', dataset = ?1 WHERE run = ?2 AND dataset <> ?1 AND decision IN"
            " ('waiting', 'approved') RETURNING 1"));
    UNDERTONE_TRY(const bool asked_again, moved.bind_text(1, dataset).bind_blob(2, run.bytes()).step());
    if (asked_again) {
      UNDERTONE_TRY(moved.run());
      known = std::optional<Decision>(Decision::Waiting);
    }
    if (**known != Decision::Waiting) return known;
    // Offers come again every few seconds: an hour is fine enough for a day.
    UNDERTONE_TRY(store::Statement seen,
                  database_->prepare(
                      "UPDATE offers SET last_seen = ?1 WHERE run = ?2 AND (last_seen < ?1 - 3600 OR last_seen > ?1)"));
    UNDERTONE_TRY(seen.bind(1, now).bind_blob(2, run.bytes()).run());
    return known;
  }
  if (Status cleared = clear_stale(now); !cleared) return cleared.error();
  bool entered = false;
  const Status done = database_->transaction([&]() -> Status {
    Result<store::Statement> waiting = database_->prepare(
        "SELECT (SELECT count(*) FROM offers WHERE decision = 'waiting'), (SELECT count(*) FROM offers)");
    if (!waiting) return waiting.error();
    if (const Result<bool> row = waiting->step(); !row) return row.error();
    if (waiting->integer(0) >= static_cast<std::int64_t>(kWaitingMax)) return {};
    if (waiting->integer(1) >= kOffersKept) {  // what was decided long ago makes room
      UNDERTONE_TRY(database_->execute(
          "DELETE FROM offers WHERE number = (SELECT min(number) FROM offers WHERE decision = 'refused')"));
    }
    UNDERTONE_TRY(store::Statement insert,
                  database_->prepare("INSERT INTO offers (run, dataset, job, decision, first_seen, last_seen) VALUES "
                                     "(?, ?, ?, 'waiting', ?4, ?4)"));
    entered = true;
    return insert.bind_blob(1, run.bytes()).bind_text(2, dataset).bind_blob(3, job).bind(4, now).run();
  });
  if (!done) return done.error();
  return entered ? std::optional<Decision>(Decision::Waiting) : std::optional<Decision>();
}

Status Desk::clear_stale(std::int64_t now) {
  UNDERTONE_TRY(store::Statement rows,
                database_->prepare(std::string(kSelectOffers) + "WHERE decision = 'waiting' AND last_seen < ?"));
  UNDERTONE_TRY(const std::vector<DeskOffer> known, read_offers(rows.bind(1, now - kStaleSeconds)));
  if (known.empty()) return {};
  for (const DeskOffer& offer : known) {
    const Result<jobs::ReadJob> job = jobs::read_job(offer.job, "job");
    if (Status noted = past_.note({offer.run, offer.dataset, job ? job->terms().name : "", PastOffer::Outcome::Ended,
                                   "", "its coordinator did not offer it again for a day", 0.0, 0.0, now});
        !noted)
      return noted;
  }
  return database_->transaction([&]() -> Status {
    UNDERTONE_TRY(store::Statement stale,
                  database_->prepare("DELETE FROM offers WHERE decision = 'waiting' AND last_seen < ?"));
    return stale.bind(1, now - kStaleSeconds).run();
  });
}

Status Desk::forget_waiting(const RunId& run) {
  UNDERTONE_TRY(const std::optional<Decision> known, decision(run));
  if (known != Decision::Waiting) return {};
  return database_->transaction([&]() -> Status {
    UNDERTONE_TRY(store::Statement remove,
                  database_->prepare("DELETE FROM offers WHERE run = ? AND decision = 'waiting'"));
    return remove.bind_blob(1, run.bytes()).run();
  });
}

Result<OwnersWord> Desk::word(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT who, reason, at FROM words WHERE run = ?"));
  UNDERTONE_TRY(const bool found, row.bind_blob(1, run.bytes()).step());
  return found ? OwnersWord{row.bytes(0), row.bytes(1), row.integer(2)} : OwnersWord();
}

Result<bool> Desk::decide(const RunId& run, Decision to, const OwnersWord& word,
                          const std::optional<std::string>& shown) {
  bool made = false;
  const Status done = database_->transaction([&]() -> Status {
    UNDERTONE_TRY(const std::optional<Decision> known, decision(run));
    if (!known && to != Decision::Withdrawn) return {};
    if (known == Decision::Withdrawn && to != Decision::Withdrawn) return {};
    if (shown) {
      UNDERTONE_TRY(const std::optional<DeskOffer> offer, find(run));
      if (!offer || offer->decision != Decision::Waiting || offer->dataset != *shown) return {};
    }
    made = true;
    UNDERTONE_TRY(
        store::Statement put,
        database_->prepare("INSERT INTO offers (run, dataset, job, decision, first_seen) VALUES (?, '', x'', ?, 0)"
                           " ON CONFLICT (run) DO UPDATE SET decision = excluded.decision"));
    UNDERTONE_TRY(put.bind_blob(1, run.bytes()).bind_text(2, to_string(to)).run());
    // Words about offers that made room are kept no longer.
    UNDERTONE_TRY(database_->execute("DELETE FROM words WHERE run NOT IN (SELECT run FROM offers)"));
    UNDERTONE_TRY(store::Statement said, database_->prepare("INSERT OR REPLACE INTO words VALUES (?, ?, ?, ?)"));
    return said.bind_blob(1, run.bytes()).bind_text(2, word.who).bind_text(3, word.reason).bind(4, word.at).run();
  });
  if (!done) return done.error();
  return made;
}

Result<std::vector<DeskOffer>> Desk::offers() {
  UNDERTONE_TRY(store::Statement rows, database_->prepare(std::string(kSelectOffers) + "ORDER BY number"));
  return read_offers(rows);
}

Result<std::optional<DeskOffer>> Desk::find(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare(std::string(kSelectOffers) + "WHERE run = ?"));
  UNDERTONE_TRY(std::vector<DeskOffer> found, read_offers(row.bind_blob(1, run.bytes())));
  if (found.empty()) return std::optional<DeskOffer>();
  return std::optional<DeskOffer>(std::move(found.front()));
}

Result<Desk::Standing> Desk::standing(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT EXISTS (SELECT 1 FROM switches WHERE name = 'paused'),"
                                                         " (SELECT decision FROM offers WHERE run = ?)"));
  UNDERTONE_TRY(row.bind_blob(1, run.bytes()).step());
  Standing out{row.integer(0) != 0, std::nullopt};
  if (!row.is_null(1)) {
    UNDERTONE_TRY(out.decision, parse_decision(row.bytes(1)));
  }
  return out;
}

Result<bool> Desk::paused() {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT 1 FROM switches WHERE name = 'paused'"));
  return row.step();
}

Status Desk::set_paused(bool paused) {
  return database_->transaction([&] {
    return database_->execute(paused ? "INSERT OR IGNORE INTO switches VALUES ('paused')"
                                     : "DELETE FROM switches WHERE name = 'paused'");
  });
}

}  // namespace undertone::silo
