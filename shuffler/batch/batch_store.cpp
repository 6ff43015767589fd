#include "shuffler/batch/batch_store.hpp"

#include <utility>

namespace undertone::shuffler {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run BLOB UNIQUE NOT NULL, round INTEGER NOT NULL,"
    " attempt INTEGER NOT NULL, state INTEGER NOT NULL, replies_min INTEGER NOT NULL, message_bytes INTEGER NOT NULL,"
    " deadline_ms INTEGER NOT NULL, replies INTEGER NOT NULL);"
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
  }
  return 0;
}

Result<BatchState> state_of(std::int64_t number) {
  for (const BatchState state :
       {BatchState::Collecting, BatchState::Forwarding, BatchState::Final, BatchState::Failed}) {
    if (number_of(state) == number) return state;
  }
  return unreadable("batch state");
}

}  // namespace

Result<BatchStore> BatchStore::open(store::Database& database) {
  if (Status ready = database.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY;"); !ready)
    return ready.error();
  {
    Result<store::Statement> erasing = database.prepare("PRAGMA secure_delete=ON");
    if (!erasing) return erasing.error();
    if (const Result<bool> found = erasing->step(); !found) return found.error();
    if (erasing->integer(0) != 1) return Error{ErrorCode::StorageFailed, "SQLite does not erase what is deleted"};
  }
  BatchStore store(database);
  if (Status upgraded = store.upgrade(); !upgraded) return upgraded.error();
  if (Status cut = store.cut_log(); !cut) return cut.error();
  return store;
}

Status BatchStore::upgrade() {
  return database_->transaction([&]() -> Status {
    Result<store::Statement> row = database_->prepare("PRAGMA user_version");
    if (!row) return row.error();
    if (const Result<bool> found = row->step(); !found) return found.error();
    const std::int64_t version = row->integer(0);
    if (version < 0 || version > kVersion) {
      return Error{ErrorCode::StorageFailed,
                   fmt::format("the store is of version {}, this program knows {}", version, kVersion)};
    }
    return version == kVersion ? Status() : database_->execute(kSchema);
  });
}

Status BatchStore::apply(const Change& change) {
  Status committed =
      database_->transaction([&] { return std::visit([this](const auto& one) { return write(one); }, change); });
  if (!committed) return committed;
  const bool erases = !std::holds_alternative<BatchOpened>(change) && !std::holds_alternative<MessageReceived>(change);
  return erases ? cut_log() : Status();
}

Status BatchStore::cut_log() {
  Result<store::Statement> row = database_->prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  if (!row) return row.error();
  if (const Result<bool> found = row->step(); !found) return found.error();
  if (row->integer(0) != 0) return Error{ErrorCode::StorageFailed, "the store's log is in use and cannot be erased"};
  return {};
}

Result<std::int64_t> BatchStore::number_of(const RunId& run) {
  Result<store::Statement> row = database_->prepare("SELECT number FROM runs WHERE run = ?");
  if (!row) return row.error();
  row->bind_blob(1, run.bytes());
  const Result<bool> found = row->step();
  if (!found) return found.error();
  if (!*found) return Error{ErrorCode::StorageFailed, "the store does not know the run"};
  return row->integer(0);
}

Status BatchStore::write(const BatchOpened& opened) {
  const BatchSpec& spec = opened.spec;
  {
    Result<store::Statement> put = database_->prepare(
        "INSERT INTO runs (run, round, attempt, state, replies_min, message_bytes, deadline_ms, replies)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)"
        " ON CONFLICT (run) DO UPDATE SET round = ?2, attempt = ?3, state = ?4, replies_min = ?5, message_bytes = ?6,"
        " deadline_ms = ?7, replies = 0");
    if (!put) return put.error();
    put->bind_blob(1, spec.run.bytes()).bind(2, static_cast<std::int64_t>(spec.round.value)).bind(3, spec.attempt);
    put->bind(4, shuffler::number_of(BatchState::Collecting)).bind(5, static_cast<std::int64_t>(spec.replies_min));
    put->bind(6, static_cast<std::int64_t>(spec.message_bytes)).bind(7, spec.deadline.count());
    if (Status done = put->run(); !done) return done;
  }
  const Result<std::int64_t> number = number_of(spec.run);
  if (!number) return number.error();
  // Tables that are there already mean that the batch before this one was not closed: an error.
  if (Status made =
          database_->execute(fmt::format("CREATE TABLE silos_{0} (slot INTEGER PRIMARY KEY, silo TEXT NOT NULL);"
                                         "CREATE TABLE received_{0} (slot INTEGER PRIMARY KEY, message BLOB NOT NULL);",
                                         *number));
      !made) {
    return made;
  }
  for (std::size_t slot = 0; slot < spec.expected.size(); ++slot) {
    Result<store::Statement> insert = database_->prepare(fmt::format("INSERT INTO silos_{} VALUES (?, ?)", *number));
    if (!insert) return insert.error();
    if (Status done = insert->bind(1, static_cast<std::int64_t>(slot)).bind_text(2, spec.expected[slot].name()).run();
        !done) {
      return done;
    }
  }
  return {};
}

Status BatchStore::write(const MessageReceived& received) {
  const Result<std::int64_t> number = number_of(received.run);
  if (!number) return number.error();
  Result<store::Statement> insert = database_->prepare(fmt::format("INSERT INTO received_{} VALUES (?, ?)", *number));
  if (!insert) return insert.error();
  return insert->bind(1, static_cast<std::int64_t>(received.slot)).bind_blob(2, received.message).run();
}

Status BatchStore::write(const BatchPermuted& permuted) {
  const Result<std::int64_t> number = number_of(permuted.run);
  if (!number) return number.error();
  if (Status forgotten = forget_senders(*number); !forgotten) return forgotten;
  if (Status made = database_->execute(
          fmt::format("CREATE TABLE permuted_{} (place INTEGER PRIMARY KEY, message BLOB NOT NULL)", *number));
      !made) {
    return made;
  }
  for (std::size_t place = 0; place < permuted.messages.size(); ++place) {
    Result<store::Statement> insert = database_->prepare(fmt::format("INSERT INTO permuted_{} VALUES (?, ?)", *number));
    if (!insert) return insert.error();
    if (Status done = insert->bind(1, static_cast<std::int64_t>(place)).bind_blob(2, permuted.messages[place]).run();
        !done) {
      return done;
    }
  }
  return set_state(*number, BatchState::Forwarding, permuted.messages.size());
}

Status BatchStore::write(const BatchFailed& failed) {
  const Result<std::int64_t> number = number_of(failed.run);
  if (!number) return number.error();
  if (Status forgotten = forget_senders(*number); !forgotten) return forgotten;
  return set_state(*number, BatchState::Failed, failed.replies);
}

Status BatchStore::write(const BatchFinished& finished) {
  const Result<std::int64_t> number = number_of(finished.run);
  if (!number) return number.error();
  if (Status dropped = database_->execute(fmt::format("DROP TABLE permuted_{}", *number)); !dropped) return dropped;
  Result<store::Statement> update = database_->prepare("UPDATE runs SET state = ? WHERE number = ?");
  if (!update) return update.error();
  return update->bind(1, shuffler::number_of(BatchState::Final)).bind(2, *number).run();
}

Status BatchStore::set_state(std::int64_t number, BatchState state, std::size_t replies) {
  Result<store::Statement> update = database_->prepare("UPDATE runs SET state = ?, replies = ? WHERE number = ?");
  if (!update) return update.error();
  update->bind(1, shuffler::number_of(state)).bind(2, static_cast<std::int64_t>(replies)).bind(3, number);
  return update->run();
}

Status BatchStore::forget_senders(std::int64_t number) {
  return database_->execute(fmt::format("DROP TABLE silos_{0}; DROP TABLE received_{0};", number));
}

Result<std::vector<Batch>> BatchStore::load() {
  Result<store::Statement> row = database_->prepare(
      "SELECT number, run, round, attempt, state, replies_min, message_bytes, deadline_ms, replies FROM runs"
      " ORDER BY number");
  if (!row) return row.error();
  std::vector<Batch> batches;
  while (true) {
    const Result<bool> more = row->step();
    if (!more) return more.error();
    if (!*more) return batches;
    Batch batch;
    const Result<RunId> run = RunId::from_bytes(row->bytes(1));
    const Result<BatchState> state = state_of(row->integer(4));
    if (!run) return unreadable("run");
    if (!state) return state.error();
    batch.spec.run = *run;
    batch.spec.round = RoundIndex{static_cast<std::uint64_t>(row->integer(2))};
    batch.spec.attempt = static_cast<std::uint32_t>(row->integer(3));
    batch.state = *state;
    batch.spec.replies_min = static_cast<std::size_t>(row->integer(5));
    batch.spec.message_bytes = static_cast<std::size_t>(row->integer(6));
    batch.spec.deadline = std::chrono::milliseconds(row->integer(7));
    batch.replies = static_cast<std::size_t>(row->integer(8));
    const std::int64_t number = row->integer(0);
    if (batch.state == BatchState::Collecting) {
      if (Status read = read_collected(number, batch); !read) return read.error();
    } else if (batch.state == BatchState::Forwarding) {
      if (Status read = read_permuted(number, batch); !read) return read.error();
    }
    batches.push_back(std::move(batch));
  }
}

Status BatchStore::read_collected(std::int64_t number, Batch& batch) {
  Result<store::Statement> silos =
      database_->prepare(fmt::format("SELECT slot, silo FROM silos_{} ORDER BY slot", number));
  if (!silos) return silos.error();
  while (true) {
    const Result<bool> more = silos->step();
    if (!more) return more.error();
    if (!*more) break;
    const Result<SiloId> silo = SiloId::create(silos->bytes(1));
    if (!silo || silos->integer(0) != static_cast<std::int64_t>(batch.spec.expected.size()) ||
        (!batch.spec.expected.empty() && !(batch.spec.expected.back() < *silo))) {
      return unreadable("silos");
    }
    batch.spec.expected.push_back(*silo);
  }
  Result<store::Statement> received =
      database_->prepare(fmt::format("SELECT slot, message FROM received_{} ORDER BY slot", number));
  if (!received) return received.error();
  while (true) {
    const Result<bool> more = received->step();
    if (!more) return more.error();
    if (!*more) return {};
    const auto slot = static_cast<std::size_t>(received->integer(0));
    std::string message = received->bytes(1);
    if (slot >= batch.spec.expected.size() || message.size() != batch.spec.message_bytes) return unreadable("messages");
    batch.received.emplace(slot, std::move(message));
  }
}

Status BatchStore::read_permuted(std::int64_t number, Batch& batch) {
  Result<store::Statement> permuted =
      database_->prepare(fmt::format("SELECT place, message FROM permuted_{} ORDER BY place", number));
  if (!permuted) return permuted.error();
  while (true) {
    const Result<bool> more = permuted->step();
    if (!more) return more.error();
    if (!*more) break;
    std::string message = permuted->bytes(1);
    if (permuted->integer(0) != static_cast<std::int64_t>(batch.permuted.size()) ||
        message.size() != batch.spec.message_bytes) {
      return unreadable("messages");
    }
    batch.permuted.push_back(std::move(message));
  }
  if (batch.permuted.size() != batch.replies || batch.replies < batch.spec.replies_min) return unreadable("batch");
  return {};
}

}  // namespace undertone::shuffler
