#include "shared/store/sqlite.hpp"

#include <map>
#include <sqlite3.h>
#include <utility>

#include "shared/base/files.hpp"
#include "shared/base/spans.hpp"

namespace undertone::store {
namespace {

constexpr int kBusyMs = 2000;

/// The file that a failure is about, so that somebody can look at its disk.
std::string file_of(sqlite3* handle) {
  const char* file = handle == nullptr ? nullptr : sqlite3_db_filename(handle, "main");
  return file == nullptr || *file == '\0' ? "SQLite" : file;
}

Error failure_of(sqlite3* handle, const char* what) {
  const int code = handle == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle);
  // What is not to be mended by trying again is told apart: a file that is no database, or one with damaged pages. So
  // is a full disk, under which a transaction has certainly not been committed.
  const bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
  return {damaged               ? ErrorCode::InvalidData
          : code == SQLITE_FULL ? ErrorCode::NoRoom
                                : ErrorCode::StorageFailed,
          fmt::format("{}: {}", what, handle == nullptr ? "out of memory" : sqlite3_errmsg(handle))};
}

}  // namespace

class StatementCache {
 public:
  StatementCache() = default;
  StatementCache(const StatementCache&) = delete;
  StatementCache& operator=(const StatementCache&) = delete;
  ~StatementCache() {
    for (const auto& [sql, statement] : idle_) sqlite3_finalize(statement);
  }
  [[nodiscard]] sqlite3_stmt* take(std::string_view sql) {
    const auto found = idle_.find(sql);
    if (found == idle_.end()) return nullptr;
    sqlite3_stmt* statement = found->second;
    idle_.erase(found);
    return statement;
  }
  void put(sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (idle_.size() >= kIdleMax) {
      sqlite3_finalize(statement);
    } else {
      idle_.emplace(sqlite3_sql(statement), statement);
    }
  }

 private:
  static constexpr std::size_t kIdleMax = 64;
  std::multimap<std::string, sqlite3_stmt*, std::less<>> idle_;
};

Database::Database(sqlite3* handle) : handle_(handle), cache_(std::make_shared<StatementCache>()) {}

Statement::Statement(Statement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), refused_(other.refused_), home_(std::move(other.home_)) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  if (const std::shared_ptr<StatementCache> home = home_.lock()) {
    home->put(statement_);
  } else {
    sqlite3_finalize(statement_);
  }
}

Statement& Statement::bound(int code) noexcept {
  if (refused_ == SQLITE_OK) refused_ = code;
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  return bound(sqlite3_bind_int64(statement_, parameter, value));
}

Statement& Statement::bind_real(int parameter, double value) {
  return bound(sqlite3_bind_double(statement_, parameter, value));
}

Statement& Statement::bind_text(int parameter, std::string_view value) {
  return bound(sqlite3_bind_text64(statement_, parameter, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bind_blob(int parameter, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  return bound(sqlite3_bind_blob64(statement_, parameter, data, value.size(), SQLITE_TRANSIENT));
}

Result<bool> Statement::step() {
  const Span span(Activity::Querying);
  return step_uncounted();
}

Result<bool> Statement::step_uncounted() {
  sqlite3* handle = sqlite3_db_handle(statement_);
  if (refused_ != SQLITE_OK)
    return Error{ErrorCode::StorageFailed,
                 fmt::format("{}: a value was not taken: {}", file_of(handle), sqlite3_errstr(refused_))};
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failure_of(handle, file_of(handle).c_str());
}

Status Statement::run() {
  UNDERTONE_TRY(step());
  return {};
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string() : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string_view Statement::view(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return {static_cast<const char*>(data), data == nullptr ? 0 : static_cast<std::size_t>(size)};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

void Database::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

Result<Database> Database::open(const std::filesystem::path& path, Sync sync, const char* vfs) {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, vfs);
  Database database(handle);
  if (code != SQLITE_OK) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", path.string(), failure_of(handle, "SQLite").message)};
  }
  sqlite3_busy_timeout(handle, kBusyMs);
  const std::string pragmas = std::string("PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; PRAGMA synchronous=") +
                              (sync == Sync::Full ? "FULL;" : "NORMAL;");
  const Status ready = database.execute(pragmas);
  if (!ready) return Error{ready.error().code, fmt::format("{}: {}", path.string(), ready.error().message)};
  if (sync == Sync::Full) {
    // A process that was killed between writing a commit and syncing it leaves one that is read again and yet is gone
    // when the power goes: nobody may act upon it before a checkpoint has synced the log.
    const Status synced = database.execute("PRAGMA wal_checkpoint(PASSIVE)");
    if (!synced) return Error{synced.error().code, fmt::format("{}: {}", path.string(), synced.error().message)};
  }
  return database;
}

Result<Database> Database::open_to_read(const std::filesystem::path& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", path.string(), failure_of(handle, "SQLite").message)};
  }
  sqlite3_busy_timeout(handle, kBusyMs);
  return database;
}

Status Database::copy_to(const std::filesystem::path& path) {
  if (std::filesystem::exists(path))
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: exists already", path.string())};
  UNDERTONE_TRY(Statement copy, prepare("VACUUM INTO ?"));
  if (Status copied = copy.bind_text(1, path.string()).run(); !copied)
    return Error{ErrorCode::StorageFailed, fmt::format("{}: {}", path.string(), copied.error().message)};
  return sync_file(path);
}

Result<std::int64_t> Database::size() {
  UNDERTONE_TRY(Statement row, prepare("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"));
  if (const Result<bool> found = row.step(); !found) return found.error();
  return row.integer(0);
}

Result<Database> Database::in_memory() {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open(":memory:", &handle);
  Database database(handle);
  if (code != SQLITE_OK) return failure_of(handle, file_of(handle).c_str());
  return database;
}

Error Database::failure(const char* what) const { return failure_of(handle_.get(), what); }

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failure("SQLite");
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  const Span span(Activity::Querying);
  sqlite3_stmt* statement = cache_->take(sql);
  if (statement != nullptr) return Statement(statement, cache_);
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    return failure("SQLite");
  }
  return Statement(statement, cache_);
}

Status Database::transaction(const std::function<Status()>& body) {
  const auto run = [this](const char* sql) -> Status {
    Result<Statement> statement = prepare(sql);
    return statement ? statement->run() : Status(statement.error());
  };
  UNDERTONE_TRY(run("BEGIN IMMEDIATE"));
  struct Rollback {
    Database* database;
    ~Rollback() {
      if (database != nullptr) (void)database->execute("ROLLBACK");
    }
  } rollback{this};
  UNDERTONE_TRY(body());
  if (observer_) observer_(CommitPoint::Before);
  {
    UNDERTONE_TRY(Statement commit, prepare("COMMIT"));
    const Span span(Activity::Committing);
    UNDERTONE_TRY(commit.step_uncounted());
  }
  rollback.database = nullptr;
  if (observer_) observer_(CommitPoint::After);
  return {};
}

}  // namespace undertone::store
