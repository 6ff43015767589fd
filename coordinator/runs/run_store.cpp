#include "coordinator/runs/run_store.hpp"

#include <algorithm>
#include <array>

#include "coordinator/runs/prepared_job.hpp"
#include "shared/base/byte_stream.hpp"

namespace undertone::coordinator {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, job_digest "
    "BLOB NOT NULL,"
    " job BLOB NOT NULL, state TEXT NOT NULL, failure TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE IF NOT EXISTS answers (run BLOB, silo TEXT, refusal INTEGER NOT NULL, PRIMARY KEY (run, silo));"
    "CREATE TABLE IF NOT EXISTS explanations (run BLOB, silo TEXT, explanation TEXT NOT NULL, PRIMARY KEY (run, silo));"
    "CREATE TABLE IF NOT EXISTS checkpoints (run BLOB PRIMARY KEY, round INTEGER NOT NULL, state BLOB NOT NULL, query "
    "BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS participation (run BLOB, round INTEGER, silo TEXT, reply BLOB, PRIMARY KEY (run, "
    "round, silo));"
    "CREATE TABLE IF NOT EXISTS receipts (number INTEGER PRIMARY KEY AUTOINCREMENT, silo TEXT NOT NULL, ledger BLOB "
    "NOT NULL,"
    " sequence INTEGER NOT NULL, hash BLOB NOT NULL, signature BLOB NOT NULL, UNIQUE (silo, ledger));"
    "CREATE TABLE IF NOT EXISTS silos_seen (silo TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS sealing_keys (fingerprint BLOB PRIMARY KEY, secret BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS shuffled_runs (run BLOB PRIMARY KEY, mac_key BLOB NOT NULL, round INTEGER NOT NULL,"
    " attempt INTEGER, expected BLOB, closing BLOB);";

/// Version 1: times, names, charges, rounds' logs, who heard of an end. Version 0 is what 0.1 wrote.
constexpr const char* kUpgradeToVersion1 =
    "ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE runs ADD COLUMN submitted_at INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE runs ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 0;"
    "CREATE TABLE charges (run BLOB, silo TEXT, epsilon REAL NOT NULL, delta REAL NOT NULL, PRIMARY KEY (run, silo));"
    "CREATE TABLE rounds (run BLOB, round INTEGER, elapsed_ms INTEGER NOT NULL, metrics BLOB, PRIMARY KEY (run, "
    "round));"
    "CREATE TABLE ends_seen (run BLOB, silo TEXT, PRIMARY KEY (run, silo));"
    "PRAGMA user_version = 1;";
/// Version 2: what a run's plans make plausible; who has yet to hear of an end, in place of who has heard of it.
constexpr const char* kUpgradeToVersion2 =
    "ALTER TABLE runs ADD COLUMN plausible BLOB NOT NULL DEFAULT x'';"
    "CREATE TABLE ends_unseen (silo TEXT, number INTEGER, PRIMARY KEY (silo, number)) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO ends_unseen SELECT CASE WHEN member.type = 'object' THEN json_extract(member.value, "
    "'$.silo') END AS"
    " named, number FROM runs,"
    " json_each(iif(json_valid(ltrim(CAST(job AS TEXT), char(65279))), ltrim(CAST(job AS TEXT), char(65279)), '{}'),"
    " '$.cohort') AS member"
    " WHERE named IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM ends_seen WHERE ends_seen.run = runs.run AND ends_seen.silo = named);"
    "CREATE INDEX ends_unseen_by_run ON ends_unseen (number);"
    "DROP TABLE ends_seen;"
    "PRAGMA user_version = 2;";
/// Lists and look-ups read these alone: the rows themselves have the jobs' texts before the columns that came later.
constexpr const char* kIndexes =
    "CREATE INDEX IF NOT EXISTS runs_by_name ON runs (name, state);"
    "CREATE INDEX IF NOT EXISTS runs_by_hex ON runs (lower(hex(run)));"
    "CREATE INDEX IF NOT EXISTS runs_by_nonce ON runs (substr(lower(hex(run)), 65));"
    "CREATE INDEX IF NOT EXISTS runs_listed ON runs (number, run, name, state, failure, submitted_at, ended_at);";
constexpr std::int64_t kVersion = 2;
constexpr std::size_t kWaitingMax = 4096;  // receipts and ends, 16 of them and a run's end each of one silo
constexpr std::size_t kEndsTold = 64;      // a silo keeps no more runs open

constexpr std::array kStates = {RunState::Queued,    RunState::Joining, RunState::Running,
                                RunState::Succeeded, RunState::Failed,  RunState::Cancelled};
constexpr const char* kListed =
    "SELECT run, number, name, x'', state, failure, submitted_at, ended_at FROM runs INDEXED BY runs_listed ";
constexpr const char* kRunColumns = "SELECT run, number, name, job, state, failure, submitted_at, ended_at FROM runs ";

Error unreadable(const char* what) {
  return {ErrorCode::StorageFailed, fmt::format("the store's {} cannot be read", what)};
}

std::string packed(const algorithms::MetricsRow& metrics) {
  ByteWriter writer;
  writer.u64(metrics.steps);
  writer.i64(metrics.replies);
  writer.doubles(metrics.values.data(), metrics.values.size());
  writer.f64(metrics.noise_stddev);
  return std::move(writer).bytes();
}

Result<algorithms::MetricsRow> unpacked(const std::string& bytes) {
  ByteReader reader(bytes);
  const Result<std::uint64_t> steps = reader.u64();
  const Result<std::int64_t> replies = steps ? reader.i64() : Result<std::int64_t>(steps.error());
  UNDERTONE_TRY(std::vector<double> values, replies ? reader.doubles() : Result<std::vector<double>>(replies.error()));
  algorithms::MetricsRow row{*steps, static_cast<Eigen::Index>(*replies), std::move(values), 0.0};
  if (reader.end()) return row;  // of a version that kept nothing of its noise
  UNDERTONE_TRY(const double noise, reader.f64());
  row.noise_stddev = noise;
  return row;
}

}  // namespace

std::optional<RunState> parse_run_state(std::string_view name) noexcept {
  for (const RunState state : kStates)
    if (name == to_string(state)) return state;
  return std::nullopt;
}

const char* to_string(RunState state) noexcept {
  switch (state) {
    case RunState::Queued:
      return "queued";
    case RunState::Joining:
      return "joining";
    case RunState::Running:
      return "running";
    case RunState::Succeeded:
      return "succeeded";
    case RunState::Failed:
      return "failed";
    case RunState::Cancelled:
      return "cancelled";
  }
  return "";
}

Result<RunStore> RunStore::open(store::Database& database) {
  UNDERTONE_TRY(database.execute(kSchema));
  RunStore store(database);
  UNDERTONE_TRY(store.upgrade());
  UNDERTONE_TRY(store.read_seen());
  return store;
}

Status RunStore::read_seen() {
  // A store that is older than its list knows those that said something.
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare(
          "SELECT silo FROM silos_seen UNION SELECT silo FROM answers UNION SELECT silo FROM charges UNION SELECT silo "
          "FROM "
          "receipts"));
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return {};
    const Result<SiloId> silo = SiloId::create(rows.bytes(0));
    if (!silo) return unreadable("silos");
    seen_.insert(*silo);
  }
}

Status RunStore::record_seen(const SiloId& silo) {
  if (!seen_.insert(silo).second) return {};
  seen_waiting_.insert(silo);
  return commit_if_many_wait();
}

Status RunStore::write_seen() {
  for (const SiloId& silo : seen_waiting_) {
    UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT OR IGNORE INTO silos_seen VALUES (?)"));
    UNDERTONE_TRY(insert.bind_text(1, silo.name()).run());
  }
  return {};
}

Status RunStore::upgrade() {
  return database_->transaction([&]() -> Status {
    std::int64_t version = 0;
    {  // no statement may be open while tables go
      UNDERTONE_TRY(store::Statement row, database_->prepare("PRAGMA user_version"));
      if (const Result<bool> found = row.step(); !found) return found.error();
      version = row.integer(0);
    }
    if (version > kVersion) {
      return Error{ErrorCode::StorageFailed,
                   fmt::format("the store is of a newer version ({}, this program knows {})", version, kVersion)};
    }
    if (version < 1) {
      UNDERTONE_TRY(database_->execute(kUpgradeToVersion1));
    }
    if (version < 2) {
      UNDERTONE_TRY(database_->execute(kUpgradeToVersion2));
    }
    return database_->execute(kIndexes);
  });
}

Status RunStore::begin(const RunId& run, const std::string& name, const std::string& job,
                       const std::vector<SiloId>& cohort, const std::string& prepared, std::int64_t now) {
  return commit([&]() -> Status {
    UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT INTO runs (run, job_digest, job, state, name, "
                                                              "submitted_at, plausible) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    insert.bind_blob(1, run.bytes()).bind_blob(2, as_bytes(run.job)).bind_blob(3, job);
    insert.bind_text(4, to_string(RunState::Queued)).bind_text(5, name).bind(6, now);
    UNDERTONE_TRY(insert.bind_blob(7, prepared).run());
    // Whoever is named may accept the job, even if its answer is lost on the way.
    for (const SiloId& silo : cohort) {
      UNDERTONE_TRY(store::Statement unseen,
                    database_->prepare("INSERT INTO ends_unseen SELECT ?, number FROM runs WHERE run = ?"));
      UNDERTONE_TRY(unseen.bind_text(1, silo.name()).bind_blob(2, run.bytes()).run());
    }
    return {};
  });
}

Result<std::optional<RunRecord>> RunStore::read_run(store::Statement& row) {
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return std::optional<RunRecord>();
  const Result<RunId> run = RunId::from_bytes(row.bytes(0));
  if (!run) return unreadable("run");
  RunRecord record;
  record.run = *run;
  record.number = row.integer(1);
  record.name = row.bytes(2);
  record.job = row.bytes(3);
  const std::optional<RunState> state = parse_run_state(row.bytes(4));
  if (!state) return unreadable("run's state");
  record.state = *state;
  record.failure = row.bytes(5);
  record.submitted_at = row.integer(6);
  record.ended_at = row.integer(7);
  return std::optional<RunRecord>(std::move(record));
}

Status RunStore::read_answers(RunRecord& record) {
  UNDERTONE_TRY(store::Statement answers, database_->prepare("SELECT silo, refusal FROM answers WHERE run = ?"));
  answers.bind_blob(1, record.run.bytes());
  while (true) {
    UNDERTONE_TRY(const bool more, answers.step());
    if (!more) return {};
    const Result<SiloId> silo = SiloId::create(answers.bytes(0));
    const std::int64_t refusal = answers.integer(1);
    if (!silo || refusal < 0 || refusal > static_cast<std::int64_t>(wire::Refusal::Paused))
      return unreadable("answers");
    record.answers[*silo] = refusal == 0 ? std::nullopt : std::optional(static_cast<wire::Refusal>(refusal));
  }
}

Status RunStore::read_explanations(RunRecord& record) {
  UNDERTONE_TRY(store::Statement rows, database_->prepare("SELECT silo, explanation FROM explanations WHERE run = ?"));
  rows.bind_blob(1, record.run.bytes());
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return {};
    const Result<SiloId> silo = SiloId::create(rows.bytes(0));
    if (!silo) return unreadable("explanations");
    record.explanations[*silo] = rows.bytes(1);
  }
}

Status RunStore::read_checkpoint(RunRecord& record) {
  UNDERTONE_TRY(store::Statement checkpoint,
                database_->prepare("SELECT round, state, query FROM checkpoints WHERE run = ?"));
  checkpoint.bind_blob(1, record.run.bytes());
  UNDERTONE_TRY(const bool found, checkpoint.step());
  if (!found) return {};
  const Result<Digest> query = digest_from_bytes(checkpoint.bytes(2));
  if (!query) return unreadable("checkpoint");
  record.checkpoint =
      Checkpoint{RoundIndex{static_cast<std::uint64_t>(checkpoint.integer(0))}, checkpoint.bytes(1), *query};
  return {};
}

Result<std::optional<RunRecord>> RunStore::find(const RunId& run) {
  Result<std::optional<RunRecord>> record = look_at(run);
  if (!record || !*record) return record;
  if (Status read = read_checkpoint(**record); !read) return read.error();
  return record;
}

Result<std::optional<RunRecord>> RunStore::look_at(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare(std::string(kRunColumns) + "WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  Result<std::optional<RunRecord>> record = read_run(row);
  if (!record || !*record) return record;
  if (Status read = read_answers(**record); !read) return read.error();
  if (Status read = read_explanations(**record); !read) return read.error();
  return record;
}

Result<std::uint64_t> RunStore::rounds_kept(const RunId& run) {
  UNDERTONE_TRY(store::Statement row,
                database_->prepare("SELECT coalesce(max(round) + 1, 0) FROM rounds WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  if (const Result<bool> found = row.step(); !found) return found.error();
  return static_cast<std::uint64_t>(row.integer(0));
}

Result<std::string> RunStore::prepared(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT plausible FROM runs WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool found, row.step());
  return found ? row.bytes(0) : std::string();
}

Result<std::optional<RunRecord>> RunStore::newest_run(const Digest& job) {
  UNDERTONE_TRY(store::Statement row,
                database_->prepare(std::string(kRunColumns) + "WHERE job_digest = ? ORDER BY number DESC LIMIT 1"));
  row.bind_blob(1, as_bytes(job));
  UNDERTONE_TRY(const std::optional<RunRecord> record, read_run(row));
  if (!record) return std::optional<RunRecord>();
  return find(record->run);
}

Result<std::vector<RunRecord>> RunStore::list(std::size_t most, std::int64_t before, const SoughtRuns& sought) {
  const bool any = sought.name.empty() && !sought.state;
  UNDERTONE_TRY(store::Statement rows,
                database_->prepare(
                    std::string(kListed) +
                    (any ? "WHERE number < ?1 OR ?1 = 0 ORDER BY number DESC LIMIT ?2"
                         : "WHERE number IN (SELECT number FROM runs INDEXED BY runs_by_name WHERE (number < ?1 OR "
                           "?1 = 0) AND instr(lower(name), lower(?3)) > 0 AND (state = ?4 OR ?4 = '') ORDER BY "
                           "number DESC LIMIT ?2) ORDER BY number DESC")));
  rows.bind(1, before).bind(2, static_cast<std::int64_t>(most));
  if (!any) rows.bind_text(3, sought.name).bind_text(4, sought.state ? to_string(*sought.state) : "");
  std::vector<RunRecord> out;
  while (true) {
    UNDERTONE_TRY(std::optional<RunRecord> record, read_run(rows));
    if (!record) return out;
    out.push_back(*std::move(record));
  }
}

Result<std::vector<RunRecord>> RunStore::called(std::string_view word, std::size_t most) {
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare(std::string(kListed) +
                         "WHERE number IN (SELECT number FROM runs WHERE name = ?1 UNION SELECT number FROM "
                         "runs WHERE ?2 AND substr(lower(hex(run)), 65) >= ?1 AND substr(lower(hex(run)), 65) "
                         "< ?4 UNION SELECT number FROM runs WHERE ?2 AND lower(hex(run)) >= ?1 AND "
                         "lower(hex(run)) < ?4) ORDER BY number DESC LIMIT ?3"));
  rows.bind_text(1, word).bind(2, word.size() >= kPrefixLengthMin ? 1 : 0).bind(3, static_cast<std::int64_t>(most));
  rows.bind_text(4, std::string(word) + "g");  // what begins with the word comes before it: digits end at f
  std::vector<RunRecord> out;
  while (true) {
    UNDERTONE_TRY(std::optional<RunRecord> record, read_run(rows));
    if (!record) return out;
    out.push_back(*std::move(record));
  }
}

Result<std::optional<std::pair<RoundIndex, algorithms::MetricsRow>>> RunStore::last_metrics(const RunId& run) {
  using Last = std::optional<std::pair<RoundIndex, algorithms::MetricsRow>>;
  UNDERTONE_TRY(
      store::Statement row,
      database_->prepare(
          "SELECT round, metrics FROM rounds WHERE run = ? AND metrics IS NOT NULL ORDER BY round DESC LIMIT 1"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool there, row.step());
  if (!there) return Last();
  Result<algorithms::MetricsRow> metrics = unpacked(row.bytes(1));
  if (!metrics) return unreadable("metrics");
  return Last({RoundIndex{static_cast<std::uint64_t>(row.integer(0))}, *std::move(metrics)});
}

Result<std::vector<RunId>> RunStore::unfinished() {
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare("SELECT run FROM runs WHERE state IN ('queued', 'joining', 'running') ORDER BY number"));
  std::vector<RunId> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    const Result<RunId> run = RunId::from_bytes(rows.bytes(0));
    if (!run) return unreadable("runs");
    out.push_back(*run);
  }
}

Result<std::map<RunState, std::int64_t>> RunStore::count_by_state() {
  UNDERTONE_TRY(store::Statement rows,
                database_->prepare("SELECT state, count(*) FROM runs INDEXED BY runs_by_name GROUP BY state"));
  std::map<RunState, std::int64_t> out;
  for (const RunState state : kStates) out[state] = 0;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    for (const RunState state : kStates) {
      if (rows.bytes(0) == to_string(state)) out[state] = rows.integer(1);
    }
  }
}

Status RunStore::set_joining(const RunId& run) {
  return commit([&]() -> Status {
    UNDERTONE_TRY(store::Statement update,
                  database_->prepare("UPDATE runs SET state = 'joining' WHERE run = ? AND state = 'queued'"));
    return update.bind_blob(1, run.bytes()).run();
  });
}

Status RunStore::record_answer(const RunId& run, const SiloId& silo, std::optional<wire::Refusal> refusal,
                               const std::string& explanation, const Charge& charge) {
  return commit([&]() -> Status {
    UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)"));
    insert.bind_blob(1, run.bytes()).bind_text(2, silo.name());
    if (Status done = insert.bind(3, refusal ? static_cast<std::int64_t>(*refusal) : 0).run(); !done) return done;
    if (refusal) {
      UNDERTONE_TRY(store::Statement put, database_->prepare("INSERT OR REPLACE INTO explanations VALUES (?, ?, ?)"));
      return put.bind_blob(1, run.bytes()).bind_text(2, silo.name()).bind_text(3, explanation).run();
    }
    UNDERTONE_TRY(store::Statement charged, database_->prepare("INSERT OR REPLACE INTO charges VALUES (?, ?, ?, ?)"));
    charged.bind_blob(1, run.bytes()).bind_text(2, silo.name());
    return charged.bind_real(3, charge.epsilon).bind_real(4, charge.delta).run();
  });
}

Result<std::map<SiloId, Charge>> RunStore::charges() {
  UNDERTONE_TRY(store::Statement rows,
                database_->prepare("SELECT silo, sum(epsilon), sum(delta) FROM charges GROUP BY silo"));
  std::map<SiloId, Charge> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    const Result<SiloId> silo = SiloId::create(rows.bytes(0));
    if (!silo) return unreadable("charges");
    out[*silo] = {rows.real(1), rows.real(2)};
  }
}

Status RunStore::put_checkpoint(const RunId& run, const Checkpoint& checkpoint, const char* state) {
  UNDERTONE_TRY(store::Statement insert, database_->prepare("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)"));
  insert.bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(checkpoint.round.value));
  insert.bind_blob(3, checkpoint.algorithm_state).bind_blob(4, as_bytes(checkpoint.query));
  UNDERTONE_TRY(insert.run());
  UNDERTONE_TRY(store::Statement update, database_->prepare("UPDATE runs SET state = ? WHERE run = ?"));
  return update.bind_text(1, state).bind_blob(2, run.bytes()).run();
}

Status RunStore::start_rounds(const RunId& run, const Checkpoint& first) {
  return commit([&] { return put_checkpoint(run, first, "running"); });
}

Status RunStore::close_round(const RunId& run, const RoundRecord& closed, const Checkpoint& next, bool finished) {
  return commit([&]() -> Status {
    const auto put = [&](const SiloId& silo, std::string_view reply) -> Status {
      UNDERTONE_TRY(store::Statement row,
                    database_->prepare("INSERT INTO participation VALUES (?, ?, ?, nullif(?, x''))"));
      row.bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(closed.round.value));
      return row.bind_text(3, silo.name()).bind_blob(4, reply).run();
    };
    for (const auto& [silo, reply] : closed.accepted) {
      UNDERTONE_TRY(put(silo, as_bytes(reply)));
    }
    for (const SiloId& silo : closed.missing) {
      if (Status done = put(silo, {}); !done) return done;
    }
    UNDERTONE_TRY(store::Statement log, database_->prepare("INSERT INTO rounds VALUES (?, ?, ?, nullif(?, x''))"));
    log.bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(closed.round.value));
    log.bind(3, closed.elapsed.count()).bind_blob(4, closed.metrics ? packed(*closed.metrics) : std::string());
    UNDERTONE_TRY(log.run());
    return put_checkpoint(run, next, finished ? "succeeded" : "running");
  });
}

Status RunStore::fail(const RunId& run, RunState state, const std::string& reason) {
  UNDERTONE_CHECK(state == RunState::Failed || state == RunState::Cancelled);
  return commit([&]() -> Status {
    // Without a first round nothing left any silo, and each releases what it had reserved.
    UNDERTONE_TRY(store::Statement release,
                  database_->prepare(
                      "DELETE FROM charges WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE run = ?1)"));
    UNDERTONE_TRY(release.bind_blob(1, run.bytes()).run());
    UNDERTONE_TRY(store::Statement update, database_->prepare("UPDATE runs SET state = ?, failure = ? WHERE run = ?"));
    return update.bind_text(1, to_string(state)).bind_text(2, reason).bind_blob(3, run.bytes()).run();
  });
}

Status RunStore::set_ended_at(const RunId& run, std::int64_t now) {
  return commit([&]() -> Status {
    UNDERTONE_TRY(const std::string kept, prepared(run));
    UNDERTONE_TRY(store::Statement update,
                  database_->prepare("UPDATE runs SET ended_at = ?, plausible = ? WHERE run = ? AND ended_at = 0"));
    return update.bind(1, now).bind_blob(2, PreparedJob::of_ended(kept)).bind_blob(3, run.bytes()).run();
  });
}

Status RunStore::set_missing_ends(std::int64_t now) {
  return commit([&]() -> Status {
    UNDERTONE_TRY(
        store::Statement update,
        database_->prepare(
            "UPDATE runs SET ended_at = ? WHERE ended_at = 0 AND state IN ('succeeded', 'failed', 'cancelled')"));
    return update.bind(1, now).run();
  });
}

Result<std::vector<RoundRecord>> RunStore::rounds(const RunId& run, RoundIndex from, std::size_t most) {
  UNDERTONE_TRY(store::Statement rows,
                database_->prepare(
                    "SELECT participation.round, silo, reply, rounds.elapsed_ms, rounds.metrics FROM participation"
                    " LEFT JOIN rounds ON rounds.run = participation.run AND rounds.round = participation.round"
                    " WHERE participation.run = ? AND participation.round >= ? ORDER BY participation.round, silo"));
  rows.bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(from.value));
  std::vector<RoundRecord> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) return out;
    const RoundIndex round{static_cast<std::uint64_t>(rows.integer(0))};
    const Result<SiloId> silo = SiloId::create(rows.bytes(1));
    if (!silo) return unreadable("participation");
    if (out.empty() || out.back().round != round) {
      if (out.size() == most) return out;
      RoundRecord record;
      record.round = round;
      record.elapsed = std::chrono::milliseconds(rows.integer(3));
      if (!rows.is_null(4)) {
        Result<algorithms::MetricsRow> metrics = unpacked(rows.bytes(4));
        if (!metrics) return unreadable("metrics");
        record.metrics = *std::move(metrics);
      }
      out.push_back(std::move(record));
    }
    if (rows.is_null(2)) {
      out.back().missing.push_back(*silo);
      continue;
    }
    const Result<Digest> reply = digest_from_bytes(rows.bytes(2));
    if (!reply) return unreadable("participation");
    out.back().accepted.emplace(*silo, *reply);
  }
}

Status RunStore::record_end_seen(const RunId& run, const SiloId& silo) {
  UNDERTONE_TRY(store::Statement row,
                database_->prepare(
                    "SELECT 1 FROM ends_unseen WHERE silo = ? AND number = (SELECT number FROM runs WHERE run = ?)"));
  UNDERTONE_TRY(const bool unseen, row.bind_text(1, silo.name()).bind_blob(2, run.bytes()).step());
  if (!unseen) return {};
  ends_waiting_.emplace(silo, run);
  return commit_if_many_wait();
}

Result<std::vector<std::pair<RunId, bool>>> RunStore::ends_unseen(const SiloId& silo) {
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare(
          "SELECT runs.run, state = 'succeeded' FROM ends_unseen JOIN runs ON runs.number = ends_unseen.number"
          " WHERE silo = ? AND state IN ('succeeded', 'failed', 'cancelled') ORDER BY ends_unseen.number DESC"));
  rows.bind_text(1, silo.name());
  std::vector<std::pair<RunId, bool>> out;
  while (out.size() < kEndsTold) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) break;
    const Result<RunId> run = RunId::from_bytes(rows.bytes(0));
    if (!run) return unreadable("runs");
    if (!ends_waiting_.contains({silo, *run})) out.emplace_back(*run, rows.integer(1) != 0);
  }
  return out;
}

Result<std::vector<RunId>> RunStore::prune(std::size_t keep, std::int64_t before) {
  std::vector<RunId> forgotten;
  const Status done = commit([&]() -> Status {
    UNDERTONE_TRY(store::Statement rows,
                  database_->prepare("SELECT run FROM runs WHERE state IN ('succeeded', 'failed', 'cancelled') AND "
                                     "ended_at <> 0 AND (ended_at < ? "
                                     "OR"
                                     " number NOT IN (SELECT number FROM runs WHERE state IN ('succeeded', 'failed', "
                                     "'cancelled') ORDER BY number "
                                     "DESC"
                                     " LIMIT ?))"));
    rows.bind(1, before).bind(2, static_cast<std::int64_t>(keep));
    while (true) {
      UNDERTONE_TRY(const bool more, rows.step());
      if (!more) break;
      const Result<RunId> run = RunId::from_bytes(rows.bytes(0));
      if (!run) return unreadable("runs");
      forgotten.push_back(*run);
    }
    for (const RunId& run : forgotten) {
      UNDERTONE_TRY(
          store::Statement unseen,
          database_->prepare("DELETE FROM ends_unseen WHERE number = (SELECT number FROM runs WHERE run = ?)"));
      if (Status removed = unseen.bind_blob(1, run.bytes()).run(); !removed) return removed;
      for (const char* table :
           {"answers", "explanations", "checkpoints", "participation", "rounds", "shuffled_runs", "runs"}) {
        UNDERTONE_TRY(store::Statement remove, database_->prepare(fmt::format("DELETE FROM {} WHERE run = ?", table)));
        UNDERTONE_TRY(remove.bind_blob(1, run.bytes()).run());
      }
    }
    return {};
  });
  if (!done) return done.error();
  return forgotten;
}

Status RunStore::commit(const std::function<Status()>& body) {
  Status done = database_->transaction([&]() -> Status {
    UNDERTONE_TRY(write_receipts());
    UNDERTONE_TRY(write_ends());
    UNDERTONE_TRY(write_seen());
    return body();
  });
  if (done) {
    for (const auto& [key, receipt] : receipts_waiting_) receipts_kept_[key] = receipt.sequence;
    receipts_waiting_.clear();
    ends_waiting_.clear();
    seen_waiting_.clear();
  }
  return done;
}

Status RunStore::commit_if_many_wait() { return waiting() < kWaitingMax ? Status() : flush(); }

Status RunStore::flush() {
  return waiting() == 0 ? Status() : commit([] { return Status(); });
}

Status RunStore::record_receipt(const SiloId& silo, const wire::Receipt& receipt) {
  const auto waiting = receipts_waiting_.find({silo, receipt.ledger});
  if (waiting != receipts_waiting_.end()) {
    if (waiting->second.sequence < receipt.sequence) waiting->second = receipt;
    return {};
  }
  const auto kept = receipts_kept_.find({silo, receipt.ledger});
  if (kept != receipts_kept_.end()) {
    if (receipt.sequence <= kept->second) return {};
  } else {
    UNDERTONE_TRY(const bool news, is_news(silo, receipt));
    if (!news) return {};
  }
  receipts_waiting_.emplace(std::pair(silo, receipt.ledger), receipt);
  return commit_if_many_wait();
}

Result<bool> RunStore::is_news(const SiloId& silo, const wire::Receipt& receipt) {
  UNDERTONE_TRY(store::Statement rows, database_->prepare("SELECT ledger, sequence FROM receipts WHERE silo = ?"));
  rows.bind_text(1, silo.name());
  std::set<Digest> ledgers;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) break;
    const Result<Digest> ledger = digest_from_bytes(rows.bytes(0));
    if (!ledger) return unreadable("receipts");
    if (*ledger == receipt.ledger) return static_cast<std::uint64_t>(rows.integer(1)) < receipt.sequence;
    ledgers.insert(*ledger);
  }
  for (auto one = receipts_waiting_.lower_bound({silo, Digest{}});
       one != receipts_waiting_.end() && one->first.first == silo; ++one)
    ledgers.insert(one->first.second);
  return ledgers.size() < wire::kReceiptsMax;  // a silo that invents ledgers fills neither disk nor memory
}

Status RunStore::write_ends() {
  for (const auto& [silo, run] : ends_waiting_) {
    UNDERTONE_TRY(store::Statement seen,
                  database_->prepare(
                      "DELETE FROM ends_unseen WHERE silo = ? AND number = (SELECT number FROM runs WHERE run = ?)"));
    UNDERTONE_TRY(seen.bind_text(1, silo.name()).bind_blob(2, run.bytes()).run());
  }
  return {};
}

Status RunStore::write_receipts() {
  for (const auto& [key, receipt] : receipts_waiting_) {
    const SiloId& silo = key.first;
    UNDERTONE_TRY(store::Statement update, database_->prepare("UPDATE receipts SET sequence = ?, hash = ?, signature = "
                                                              "? WHERE silo = ? AND ledger = ? AND sequence < ?"));
    const auto sequence = static_cast<std::int64_t>(receipt.sequence);
    update.bind(1, sequence).bind_blob(2, as_bytes(receipt.hash)).bind_blob(3, receipt.signature);
    update.bind_text(4, silo.name()).bind_blob(5, as_bytes(receipt.ledger)).bind(6, sequence);
    UNDERTONE_TRY(update.run());
    if (receipts_kept_.contains(key)) continue;
    UNDERTONE_TRY(store::Statement insert,
                  database_->prepare(
                      "INSERT OR IGNORE INTO receipts (silo, ledger, sequence, hash, signature) SELECT ?, ?, ?, ?, ?"
                      " WHERE (SELECT count(*) FROM receipts WHERE silo = ?) < ?"));
    insert.bind_text(1, silo.name()).bind_blob(2, as_bytes(receipt.ledger)).bind(3, sequence);
    insert.bind_blob(4, as_bytes(receipt.hash)).bind_blob(5, receipt.signature).bind_text(6, silo.name());
    UNDERTONE_TRY(insert.bind(7, static_cast<std::int64_t>(wire::kReceiptsMax)).run());
  }
  return {};
}

Result<std::vector<wire::Receipt>> RunStore::receipts(const SiloId& silo) {
  UNDERTONE_TRY(
      store::Statement rows,
      database_->prepare("SELECT ledger, sequence, hash, signature FROM receipts WHERE silo = ? ORDER BY number"));
  rows.bind_text(1, silo.name());
  std::vector<wire::Receipt> out;
  while (true) {
    UNDERTONE_TRY(const bool more, rows.step());
    if (!more) break;
    const Result<Digest> ledger = digest_from_bytes(rows.bytes(0));
    const Result<Digest> hash = digest_from_bytes(rows.bytes(2));
    if (!ledger || !hash) return unreadable("receipts");
    out.push_back({*ledger, static_cast<std::uint64_t>(rows.integer(1)), *hash, rows.bytes(3)});
  }
  for (auto one = receipts_waiting_.lower_bound({silo, Digest{}});
       one != receipts_waiting_.end() && one->first.first == silo; ++one) {
    const auto known = std::find_if(out.begin(), out.end(),
                                    [&](const wire::Receipt& kept) { return kept.ledger == one->first.second; });
    if (known != out.end()) {
      *known = one->second;
    } else {
      out.push_back(one->second);
    }
  }
  return out;
}

}  // namespace undertone::coordinator
