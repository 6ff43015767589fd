#include "coordinator/jobs/run_store.hpp"

#include <array>

namespace undertone::coordinator {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, job_digest "
    "BLOB NOT NULL,"
    " job BLOB NOT NULL, state TEXT NOT NULL, failure TEXT NOT NULL DEFAULT '');"
    "CREATE TABLE IF NOT EXISTS answers (run BLOB, silo TEXT, refusal INTEGER NOT NULL, PRIMARY KEY (run, silo));"
    "CREATE TABLE IF NOT EXISTS checkpoints (run BLOB PRIMARY KEY, round INTEGER NOT NULL, state BLOB NOT NULL, query "
    "BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS participation (run BLOB, round INTEGER, silo TEXT, reply BLOB, PRIMARY KEY (run, "
    "round, silo));"
    "CREATE TABLE IF NOT EXISTS receipts (number INTEGER PRIMARY KEY AUTOINCREMENT, silo TEXT NOT NULL, ledger BLOB "
    "NOT NULL,"
    " sequence INTEGER NOT NULL, hash BLOB NOT NULL, signature BLOB NOT NULL, UNIQUE (silo, ledger));";

constexpr std::array<std::pair<RunState, const char*>, 4> kStates = {{{RunState::Joining, "joining"},
                                                                      {RunState::Running, "running"},
                                                                      {RunState::Succeeded, "succeeded"},
                                                                      {RunState::Failed, "failed"}}};

Error unreadable(const char* what) {
  return {ErrorCode::StorageFailed, fmt::format("the store's {} cannot be read", what)};
}

}  // namespace

Result<RunStore> RunStore::open(store::Database& database) {
  if (Status ready = database.execute(kSchema); !ready) return ready.error();
  return RunStore(database);
}

Status RunStore::begin(const RunId& run, const std::string& job) {
  return database_->transaction([&]() -> Status {
    Result<store::Statement> insert =
        database_->prepare("INSERT INTO runs (run, job_digest, job, state) VALUES (?, ?, ?, 'joining')");
    if (!insert) return insert.error();
    return insert->bind_blob(1, run.bytes()).bind_blob(2, as_bytes(run.job)).bind_blob(3, job).run();
  });
}

Result<std::optional<RunRecord>> RunStore::newest_run(const Digest& job) {
  Result<store::Statement> row =
      database_->prepare("SELECT run, job, state, failure FROM runs WHERE job_digest = ? ORDER BY number DESC LIMIT 1");
  if (!row) return row.error();
  row->bind_blob(1, as_bytes(job));
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return std::optional<RunRecord>();
  const Result<RunId> run = RunId::from_bytes(row->bytes(0));
  if (!run) return unreadable("run");
  RunRecord record;
  record.run = *run;
  record.job = row->bytes(1);
  for (const auto& [state, name] : kStates) {
    if (row->bytes(2) == name) record.state = state;
  }
  record.failure = row->bytes(3);

  Result<store::Statement> answers = database_->prepare("SELECT silo, refusal FROM answers WHERE run = ?");
  if (!answers) return answers.error();
  answers->bind_blob(1, run->bytes());
  while (true) {
    const Result<bool> more = answers->step();
    if (!more) return more.error();
    if (!*more) break;
    const Result<SiloId> silo = SiloId::create(answers->bytes(0));
    const std::int64_t refusal = answers->integer(1);
    if (!silo || refusal < 0 || refusal > static_cast<std::int64_t>(wire::Refusal::Unavailable))
      return unreadable("answers");
    record.answers[*silo] = refusal == 0 ? std::nullopt : std::optional(static_cast<wire::Refusal>(refusal));
  }
  Result<store::Statement> checkpoint = database_->prepare("SELECT round, state, query FROM checkpoints WHERE run = ?");
  if (!checkpoint) return checkpoint.error();
  checkpoint->bind_blob(1, run->bytes());
  const Result<bool> has_checkpoint = checkpoint->step();
  if (!has_checkpoint) return has_checkpoint.error();
  if (*has_checkpoint) {
    const Result<Digest> query = digest_from_bytes(checkpoint->bytes(2));
    if (!query) return unreadable("checkpoint");
    record.checkpoint =
        Checkpoint{RoundIndex{static_cast<std::uint64_t>(checkpoint->integer(0))}, checkpoint->bytes(1), *query};
  }
  return std::optional<RunRecord>(std::move(record));
}

Result<std::vector<std::pair<RunId, bool>>> RunStore::earlier_runs(const RunId& current) {
  Result<store::Statement> rows = database_->prepare(
      "SELECT run, state = 'succeeded' FROM runs WHERE job_digest = ? AND run <> ? AND state IN ('succeeded', 'failed')"
      " ORDER BY number DESC LIMIT 16");
  if (!rows) return rows.error();
  rows->bind_blob(1, as_bytes(current.job)).bind_blob(2, current.bytes());
  std::vector<std::pair<RunId, bool>> out;
  while (true) {
    const Result<bool> more = rows->step();
    if (!more) return more.error();
    if (!*more) return out;
    const Result<RunId> run = RunId::from_bytes(rows->bytes(0));
    if (!run) return unreadable("runs");
    out.emplace_back(*run, rows->integer(1) != 0);
  }
}

Status RunStore::record_answer(const RunId& run, const SiloId& silo, std::optional<wire::Refusal> refusal) {
  return database_->transaction([&]() -> Status {
    Result<store::Statement> insert = database_->prepare("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)");
    if (!insert) return insert.error();
    insert->bind_blob(1, run.bytes()).bind_text(2, silo.name());
    return insert->bind(3, refusal ? static_cast<std::int64_t>(*refusal) : 0).run();
  });
}

Status RunStore::put_checkpoint(const RunId& run, const Checkpoint& checkpoint, const char* state) {
  Result<store::Statement> insert = database_->prepare("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)");
  if (!insert) return insert.error();
  insert->bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(checkpoint.round.value));
  insert->bind_blob(3, checkpoint.algorithm_state).bind_blob(4, as_bytes(checkpoint.query));
  if (Status inserted = insert->run(); !inserted) return inserted;
  Result<store::Statement> update = database_->prepare("UPDATE runs SET state = ? WHERE run = ?");
  if (!update) return update.error();
  return update->bind_text(1, state).bind_blob(2, run.bytes()).run();
}

Status RunStore::start_rounds(const RunId& run, const Checkpoint& first) {
  return database_->transaction([&] { return put_checkpoint(run, first, "running"); });
}

Status RunStore::close_round(const RunId& run, const RoundRecord& closed, const Checkpoint& next, bool finished) {
  return database_->transaction([&]() -> Status {
    const auto put = [&](const SiloId& silo, std::string_view reply) -> Status {
      Result<store::Statement> row = database_->prepare("INSERT INTO participation VALUES (?, ?, ?, nullif(?, x''))");
      if (!row) return row.error();
      row->bind_blob(1, run.bytes()).bind(2, static_cast<std::int64_t>(closed.round.value));
      return row->bind_text(3, silo.name()).bind_blob(4, reply).run();
    };
    for (const auto& [silo, reply] : closed.accepted) {
      if (Status done = put(silo, as_bytes(reply)); !done) return done;
    }
    for (const SiloId& silo : closed.missing) {
      if (Status done = put(silo, {}); !done) return done;
    }
    return put_checkpoint(run, next, finished ? "succeeded" : "running");
  });
}

Status RunStore::fail(const RunId& run, const std::string& reason) {
  return database_->transaction([&]() -> Status {
    Result<store::Statement> update = database_->prepare("UPDATE runs SET state = 'failed', failure = ? WHERE run = ?");
    if (!update) return update.error();
    return update->bind_text(1, reason).bind_blob(2, run.bytes()).run();
  });
}

Result<std::vector<RoundRecord>> RunStore::rounds(const RunId& run) {
  Result<store::Statement> rows =
      database_->prepare("SELECT round, silo, reply FROM participation WHERE run = ? ORDER BY round, silo");
  if (!rows) return rows.error();
  rows->bind_blob(1, run.bytes());
  std::vector<RoundRecord> out;
  while (true) {
    const Result<bool> more = rows->step();
    if (!more) return more.error();
    if (!*more) return out;
    const RoundIndex round{static_cast<std::uint64_t>(rows->integer(0))};
    const Result<SiloId> silo = SiloId::create(rows->bytes(1));
    if (!silo) return unreadable("participation");
    if (out.empty() || out.back().round != round) out.push_back({round, {}, {}});
    if (rows->is_null(2)) {
      out.back().missing.push_back(*silo);
      continue;
    }
    const Result<Digest> reply = digest_from_bytes(rows->bytes(2));
    if (!reply) return unreadable("participation");
    out.back().accepted.emplace(*silo, *reply);
  }
}

Status RunStore::record_receipt(const SiloId& silo, const queries::Receipt& receipt) {
  return database_->transaction([&]() -> Status {
    Result<store::Statement> update = database_->prepare(
        "UPDATE receipts SET sequence = ?, hash = ?, signature = ? WHERE silo = ? AND ledger = ? AND sequence < ?");
    if (!update) return update.error();
    const auto sequence = static_cast<std::int64_t>(receipt.sequence);
    update->bind(1, sequence).bind_blob(2, as_bytes(receipt.hash)).bind_blob(3, receipt.signature);
    update->bind_text(4, silo.name()).bind_blob(5, as_bytes(receipt.ledger)).bind(6, sequence);
    if (Status updated = update->run(); !updated) return updated;
    Result<store::Statement> insert = database_->prepare(
        "INSERT OR IGNORE INTO receipts (silo, ledger, sequence, hash, signature) SELECT ?, ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM receipts WHERE silo = ?) < ?");
    if (!insert) return insert.error();
    insert->bind_text(1, silo.name()).bind_blob(2, as_bytes(receipt.ledger)).bind(3, sequence);
    insert->bind_blob(4, as_bytes(receipt.hash)).bind_blob(5, receipt.signature).bind_text(6, silo.name());
    return insert->bind(7, static_cast<std::int64_t>(wire::kReceiptsMax)).run();
  });
}

Result<std::vector<queries::Receipt>> RunStore::receipts(const SiloId& silo) {
  Result<store::Statement> rows =
      database_->prepare("SELECT ledger, sequence, hash, signature FROM receipts WHERE silo = ? ORDER BY number");
  if (!rows) return rows.error();
  rows->bind_text(1, silo.name());
  std::vector<queries::Receipt> out;
  while (true) {
    const Result<bool> more = rows->step();
    if (!more) return more.error();
    if (!*more) return out;
    const Result<Digest> ledger = digest_from_bytes(rows->bytes(0));
    const Result<Digest> hash = digest_from_bytes(rows->bytes(2));
    if (!ledger || !hash) return unreadable("receipts");
    out.push_back({*ledger, static_cast<std::uint64_t>(rows->integer(1)), *hash, rows->bytes(3)});
  }
}

}  // namespace undertone::coordinator
