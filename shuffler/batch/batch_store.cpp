#include "shuffler/batch/batch_store.hpp"

#include <initializer_list>
#include <utility>

#include "shuffler/batch/adder.hpp"
#include "shuffler/batch/limits.hpp"

namespace undertone::shuffler {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, round INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, state INTEGER NOT NULL, replies_min INTEGER NOT NULL, message_bytes INTEGER NOT NULL,"
    " unit_bytes INTEGER NOT NULL, word_bytes INTEGER NOT NULL, query BLOB NOT NULL, deadline_ms INTEGER NOT NULL,"
    " replies INTEGER NOT NULL);"
    "CREATE TABLE scratch (zeros BLOB NOT NULL);"  // empty but for a moment: @see BatchStore::clear_scratch
    "PRAGMA user_version = 1;";
constexpr std::int64_t kVersion = 1;

Error unreadable(const char* what) {
  return {ErrorCode::StorageFailed, fmt::format("the store's {} cannot be read", what)};
}

/// Numbers in the file; 0 is none of them.
std::int64_t number_of(BatchState state) {
  switch (state) {
    case BatchState::Collecting:
      return 1;
    case BatchState::Forwarding:
      return 2;
    case BatchState::Final:
      return 3;
    case BatchState::Failed:
      return 4;
    case BatchState::Collected:
      return 5;
  }
  return 0;
}

Result<BatchState> state_of(std::int64_t number) {
  for (const BatchState state :
       {BatchState::Collecting, BatchState::Collected, BatchState::Forwarding, BatchState::Final, BatchState::Failed}) {
    if (number_of(state) == number) return state;
  }
  return unreadable("batch state");
}

Error out_of_turn() { return {ErrorCode::StorageFailed, "the change does not follow from what the store holds"}; }

}  // namespace

Result<BatchStore> BatchStore::open(store::Database& database) {
  if (Status ready = database.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY;"); !ready)
    return ready.error();
  {
    UNDERTONE_TRY(store::Statement erasing, database.prepare("PRAGMA secure_delete=ON"));
    if (const Result<bool> found = erasing.step(); !found) return found.error();
    if (erasing.integer(0) != 1) return Error{ErrorCode::StorageFailed, "SQLite does not erase what is deleted"};
  }
  BatchStore store(database);
  UNDERTONE_TRY(store.upgrade());
  UNDERTONE_TRY(store.cut_log());
  return store;
}

Status BatchStore::upgrade() {
  return database_->transaction([&]() -> Status {
    UNDERTONE_TRY(store::Statement row, database_->prepare("PRAGMA user_version"));
    if (const Result<bool> found = row.step(); !found) return found.error();
    const std::int64_t version = row.integer(0);
    if (version < 0 || version > kVersion) {
      return Error{ErrorCode::StorageFailed,
                   fmt::format("the store is of version {}, this program knows {}", version, kVersion)};
    }
    return version == kVersion ? Status() : database_->execute(kSchema);
  });
}

Status BatchStore::apply(const Change& change) {
  const bool erases = !std::holds_alternative<BatchOpened>(change) &&
                      !std::holds_alternative<MessageReceived>(change) &&
                      !std::holds_alternative<BatchCollected>(change);
  Status committed = database_->transaction([&]() -> Status {
    if (Status written = std::visit([this](const auto& one) { return write(one); }, change); !written) return written;
    return erases ? clear_scratch() : Status();
  });
  if (!committed) return committed;
  return erases ? cut_log() : Status();
}

Status BatchStore::clear_scratch() {
  // A page of memory in which SQLite puts rows together keeps what the row before was longer by. A row of zeros that
  // fills a page of 4096 bytes, SQLite's default, covers it: 4061 bytes of payload, 4 of them the row's header.
  for (const char* sql : {"INSERT INTO scratch VALUES (zeroblob(4057))", "DELETE FROM scratch"}) {
    UNDERTONE_TRY(store::Statement statement, database_->prepare(sql));
    UNDERTONE_TRY(statement.run());
  }
  return {};
}

Status BatchStore::cut_log() {
  UNDERTONE_TRY(store::Statement row, database_->prepare("PRAGMA wal_checkpoint(TRUNCATE)"));
  if (const Result<bool> found = row.step(); !found) return found.error();
  if (row.integer(0) != 0) return Error{ErrorCode::StorageFailed, "the store's log is in use and cannot be erased"};
  return {};
}

Result<BatchStore::Row> BatchStore::row_of(const RunId& run) {
  UNDERTONE_TRY(store::Statement row, database_->prepare("SELECT number, state, word_bytes FROM runs WHERE run = ?"));
  row.bind_blob(1, run.bytes());
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return Error{ErrorCode::StorageFailed, "the store does not know the run"};
  UNDERTONE_TRY(const BatchState state, state_of(row.integer(1)));
  return Row{row.integer(0), state, row.integer(2) != 0};
}

Status BatchStore::write(const BatchOpened& opened) {
  const BatchSpec& spec = opened.spec;
  UNDERTONE_TRY(const std::int64_t number, open_row(spec));
  if (Status made = database_->execute(fmt::format(
          "CREATE TABLE silos_{0} (slot INTEGER PRIMARY KEY, silo TEXT NOT NULL);"
          "CREATE TABLE received_{0} (slot INTEGER PRIMARY KEY, terms BLOB NOT NULL, message BLOB NOT NULL)",
          number));
      !made) {
    return made;
  }
  for (std::size_t slot = 0; slot < spec.expected.size(); ++slot) {
    UNDERTONE_TRY(store::Statement insert,
                  database_->prepare(fmt::format("INSERT INTO silos_{} VALUES (?, ?)", number)));
    if (Status done = insert.bind(1, static_cast<std::int64_t>(slot)).bind_text(2, spec.expected[slot].name()).run();
        !done) {
      return done;
    }
  }
  return {};
}

Result<std::int64_t> BatchStore::open_row(const BatchSpec& spec) {
  UNDERTONE_TRY(
      store::Statement put,
      database_->prepare(
          "INSERT INTO runs (run, round, attempt, state, replies_min, message_bytes, unit_bytes, word_bytes, query,"
          " deadline_ms, replies)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0)"
          " ON CONFLICT (run) DO UPDATE SET round = ?2, attempt = ?3, state = ?4, replies_min = ?5, message_bytes = ?6,"
          " unit_bytes = ?7, word_bytes = ?8, query = ?9, deadline_ms = ?10, replies = 0 WHERE state IN (?11, ?12)"
          " RETURNING number"));
  put.bind_blob(1, spec.run.bytes()).bind(2, static_cast<std::int64_t>(spec.round.value)).bind(3, spec.attempt);
  put.bind(4, number_of(BatchState::Collecting)).bind(5, static_cast<std::int64_t>(spec.replies_min));
  put.bind(6, static_cast<std::int64_t>(spec.message_bytes)).bind(7, static_cast<std::int64_t>(spec.unit_bytes));
  put.bind(8, spec.word_bytes).bind_blob(9, as_bytes(spec.query)).bind(10, spec.deadline.count());
  put.bind(11, number_of(BatchState::Final)).bind(12, number_of(BatchState::Failed));
  UNDERTONE_TRY(const bool written, put.step());
  if (!written) return out_of_turn();
  return put.integer(0);
}

Status BatchStore::write(const MessageReceived& received) {
  UNDERTONE_TRY(const Row row, row_of(received.run));
  if (row.state != BatchState::Collecting) return out_of_turn();
  UNDERTONE_TRY(store::Statement insert,
                database_->prepare(fmt::format("INSERT INTO received_{} VALUES (?, ?, ?)", row.number)));
  insert.bind(1, static_cast<std::int64_t>(received.slot)).bind_blob(2, as_bytes(received.terms));
  return insert.bind_blob(3, received.message).run();
}

Status BatchStore::write(const BatchCollected& collected) {
  UNDERTONE_TRY(const Row row, row_of(collected.run));
  if (row.state != BatchState::Collecting || !row.adds) return out_of_turn();
  return set_state(row, BatchState::Collected, 0);
}

Status BatchStore::write(const BatchPermuted& permuted) {
  UNDERTONE_TRY(const Row row, row_of(permuted.run));
  if (row.state != BatchState::Collecting || row.adds) return out_of_turn();
  UNDERTONE_TRY(forget_senders(row));
  if (Status made = database_->execute(
          fmt::format("CREATE TABLE permuted_{} (place INTEGER PRIMARY KEY, unit BLOB NOT NULL)", row.number));
      !made) {
    return made;
  }
  const std::string sql = fmt::format("INSERT INTO permuted_{} VALUES (?, ?)", row.number);
  for (std::size_t place = 0; place < permuted.units.size(); ++place) {
    UNDERTONE_TRY(store::Statement insert, database_->prepare(sql));
    if (Status done = insert.bind(1, static_cast<std::int64_t>(place)).bind_blob(2, permuted.units[place]).run();
        !done) {
      return done;
    }
  }
  return set_state(row, BatchState::Forwarding, permuted.replies);
}

Status BatchStore::write(const BatchAdded& added) {
  UNDERTONE_TRY(const Row row, row_of(added.run));
  if (row.state != BatchState::Collected) return out_of_turn();
  UNDERTONE_TRY(forget_senders(row));
  if (Status made = database_->execute(
          fmt::format("CREATE TABLE total_{} (added BLOB NOT NULL, total BLOB NOT NULL)", row.number));
      !made) {
    return made;
  }
  UNDERTONE_TRY(store::Statement insert,
                database_->prepare(fmt::format("INSERT INTO total_{} VALUES (?, ?)", row.number)));
  UNDERTONE_TRY(insert.bind_blob(1, as_bytes(added.added)).bind_blob(2, added.total).run());
  return set_state(row, BatchState::Forwarding, added.replies);
}

Status BatchStore::write(const BatchFailed& failed) {
  UNDERTONE_TRY(const Row row, row_of(failed.run));
  if (row.state != BatchState::Collecting && row.state != BatchState::Collected) return out_of_turn();
  UNDERTONE_TRY(forget_senders(row));
  return set_state(row, BatchState::Failed, failed.replies);
}

Status BatchStore::write(const BatchFinished& finished) {
  UNDERTONE_TRY(const Row row, row_of(finished.run));
  if (row.state != BatchState::Forwarding) return out_of_turn();
  const char* table = row.adds ? "total" : "permuted";
  if (Status dropped = database_->execute(fmt::format("DROP TABLE {}_{}", table, row.number)); !dropped) return dropped;
  UNDERTONE_TRY(store::Statement update, database_->prepare("UPDATE runs SET state = ? WHERE number = ?"));
  return update.bind(1, number_of(BatchState::Final)).bind(2, row.number).run();
}

Status BatchStore::set_state(const Row& row, BatchState state, std::size_t replies) {
  UNDERTONE_TRY(store::Statement update, database_->prepare("UPDATE runs SET state = ?, replies = ? WHERE number = ?"));
  update.bind(1, number_of(state)).bind(2, static_cast<std::int64_t>(replies)).bind(3, row.number);
  return update.run();
}

Status BatchStore::forget_senders(const Row& row) {
  return database_->execute(fmt::format("DROP TABLE silos_{0}; DROP TABLE received_{0};", row.number));
}

Result<std::vector<Batch>> BatchStore::load() {
  UNDERTONE_TRY(
      store::Statement row,
      database_->prepare(
          "SELECT number, run, round, attempt, state, replies_min, message_bytes, unit_bytes, word_bytes, query,"
          " deadline_ms, replies FROM runs ORDER BY number"));
  std::vector<Batch> batches;
  while (true) {
    UNDERTONE_TRY(const bool more, row.step());
    if (!more) return batches;
    Batch batch;
    const Result<RunId> run = RunId::from_bytes(row.bytes(1));
    const Result<BatchState> state = state_of(row.integer(4));
    const Result<Digest> query = digest_from_bytes(row.bytes(9));
    if (!run) return unreadable("run");
    if (!state) return state.error();
    if (!query) return unreadable("query");
    batch.spec.run = *run;
    batch.spec.round = RoundIndex{static_cast<std::uint64_t>(row.integer(2))};
    batch.spec.attempt = static_cast<std::uint32_t>(row.integer(3));
    batch.state = *state;
    batch.spec.replies_min = static_cast<std::size_t>(row.integer(5));
    batch.spec.message_bytes = static_cast<std::size_t>(row.integer(6));
    batch.spec.unit_bytes = static_cast<std::size_t>(row.integer(7));
    batch.spec.word_bytes = static_cast<std::uint32_t>(row.integer(8));
    batch.spec.query = *query;
    batch.spec.deadline = std::chrono::milliseconds(row.integer(10));
    batch.replies = static_cast<std::size_t>(row.integer(11));
    if (!lengths_agree(batch.spec)) return unreadable("batch");
    const std::int64_t number = row.integer(0);
    if (batch.state == BatchState::Collecting || batch.state == BatchState::Collected) {
      UNDERTONE_TRY(read_collected(number, batch));
    } else if (batch.state == BatchState::Forwarding) {
      if (batch.replies < batch.spec.replies_min) return unreadable("batch");
      UNDERTONE_TRY(batch.spec.adds() ? read_total(number, batch) : read_permuted(number, batch));
    }
    batches.push_back(std::move(batch));
  }
}

Status BatchStore::read_collected(std::int64_t number, Batch& batch) {
  UNDERTONE_TRY(store::Statement silos,
                database_->prepare(fmt::format("SELECT slot, silo FROM silos_{} ORDER BY slot", number)));
  while (true) {
    UNDERTONE_TRY(const bool more, silos.step());
    if (!more) break;
    const Result<SiloId> silo = SiloId::create(silos.bytes(1));
    if (!silo || silos.integer(0) != static_cast<std::int64_t>(batch.spec.expected.size()) ||
        (!batch.spec.expected.empty() && !(batch.spec.expected.back() < *silo))) {
      return unreadable("silos");
    }
    batch.spec.expected.push_back(*silo);
  }
  UNDERTONE_TRY(store::Statement received,
                database_->prepare(fmt::format("SELECT slot, terms, message FROM received_{} ORDER BY slot", number)));
  while (true) {
    UNDERTONE_TRY(const bool more, received.step());
    if (!more) break;
    const auto slot = static_cast<std::size_t>(received.integer(0));
    const Result<Digest> terms = digest_from_bytes(received.bytes(1));
    std::string message = received.bytes(2);
    if (slot >= batch.spec.expected.size() || !terms || message.size() != batch.spec.message_bytes)
      return unreadable("messages");
    batch.terms.emplace(slot, *terms);
    batch.received.emplace(slot, std::move(message));
  }
  if (batch.state == BatchState::Collected && agreeing_slots(batch).size() < batch.spec.replies_min)
    return unreadable("batch");
  return {};
}

Status BatchStore::read_permuted(std::int64_t number, Batch& batch) {
  UNDERTONE_TRY(store::Statement permuted,
                database_->prepare(fmt::format("SELECT place, unit FROM permuted_{} ORDER BY place", number)));
  while (true) {
    UNDERTONE_TRY(const bool more, permuted.step());
    if (!more) break;
    std::string unit = permuted.bytes(1);
    if (permuted.integer(0) != static_cast<std::int64_t>(batch.units.size()) || unit.size() != batch.spec.unit_bytes)
      return unreadable("units");
    batch.units.push_back(std::move(unit));
  }
  if (batch.units.size() * batch.spec.unit_bytes != batch.replies * batch.spec.message_bytes)
    return unreadable("batch");
  return {};
}

Status BatchStore::read_total(std::int64_t number, Batch& batch) {
  UNDERTONE_TRY(store::Statement row, database_->prepare(fmt::format("SELECT added, total FROM total_{}", number)));
  UNDERTONE_TRY(const bool found, row.step());
  if (!found) return unreadable("total");
  const Result<Digest> added = digest_from_bytes(row.bytes(0));
  std::string total = row.bytes(1);
  if (!added || total.size() != total_bytes(batch.spec)) return unreadable("total");
  batch.added = *added;
  batch.units.push_back(std::move(total));
  return {};
}

}  // namespace undertone::shuffler
