#include "verifier/ledger_reader.hpp"

#include <cstddef>
#include <system_error>

namespace undertone::verifier {
namespace {

constexpr int kBusyMs = 5000;

bool has_columns(sqlite3* database, const std::string& table, std::string_view expected, Problems& problems) {
  const std::string sql =
      "SELECT name || ' ' || type || iif(\"notnull\", ' NOT NULL', '') || iif(pk, ' KEY ' || pk, '') "
      "|| iif(hidden, ' HIDDEN', '') FROM pragma_table_xinfo('" +
      table + "') ORDER BY cid";
  std::string found;
  for (Rows rows(database, "the schema", sql.c_str(), problems); rows.next();) found += rows.text(0) + ", ";
  if (found == expected) return true;
  problems.add("table {}: expected the columns {}, found {}", table, printable(expected), printable(found));
  return false;
}

}  // namespace

Rows::Rows(sqlite3* database, std::string_view what, const char* sql, Problems& problems)
    : database_(database), what_(what), statement_(nullptr, sqlite3_finalize), problems_(problems) {
  sqlite3_stmt* statement = nullptr;
  ready_ = sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK;
  statement_.reset(statement);
  if (!ready_) fail();
}

bool Rows::next() {
  if (!ready_ || problems_.full()) return false;
  const int code = sqlite3_step(statement_.get());
  ready_ = code == SQLITE_ROW;
  if (!ready_ && code != SQLITE_DONE) fail();
  return ready_;
}

std::optional<Bytes> Rows::blob(int column) {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return std::nullopt;
  return bytes(sqlite3_column_blob(statement_.get(), column), column);
}

std::string Rows::text(int column) { return bytes(sqlite3_column_text(statement_.get(), column), column); }

Bytes Rows::bytes(const void* data, int column) {
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? Bytes() : Bytes(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void Rows::fail() { problems_.add("{} cannot be read to the end: {}", what_, printable(sqlite3_errmsg(database_))); }

Database open_snapshot(const std::filesystem::path& path, Problems& problems) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    problems.add("expected a ledger at {}, found no file", printable(path.string()));
    return nullptr;
  }
  sqlite3* raw = nullptr;
  // Absolute, since SQLite gives some relative names a meaning of its own.
  int code = sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  Database database(raw);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(raw, kBusyMs);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    code = sqlite3_exec(raw,
                        "PRAGMA cell_size_check = ON; PRAGMA ignore_check_constraints = ON; BEGIN;"
                        "SELECT count(*) FROM sqlite_master",
                        nullptr, nullptr, nullptr);
  }
  if (code == SQLITE_OK) return database;
  problems.add("expected an SQLite database at {}, found: {}", printable(path.string()),
               printable(sqlite3_errmsg(raw)));
  return nullptr;
}

bool has_schema(sqlite3* database, Problems& problems) {
  // Names that start so are SQLite's own: the indexes of primary keys, and statistics.
  const char* sql =
      "SELECT type, name FROM sqlite_master WHERE NOT (name GLOB 'sqlite_*' AND (type = 'table' OR sql IS NULL)) "
      "ORDER BY name";
  std::string found;
  for (Rows rows(database, "the schema", sql, problems); rows.next();) {
    found += rows.text(0) + " " + rows.text(1) + ", ";
  }
  constexpr std::string_view kExpected = "table entries, table jobs, table replies, ";
  if (found != kExpected) {
    problems.add("the schema: expected {}, found {}", printable(kExpected), printable(found));
    return false;
  }
  const bool entries = has_columns(database, "entries",
                                   "sequence INTEGER KEY 1, previous BLOB NOT NULL, body BLOB NOT NULL, "
                                   "hash BLOB NOT NULL, signature BLOB NOT NULL, ",
                                   problems);
  const bool jobs = has_columns(database, "jobs", "run BLOB KEY 1, job BLOB NOT NULL, ", problems);
  const bool replies = has_columns(
      database, "replies", "run BLOB KEY 1, round INTEGER KEY 2, query BLOB NOT NULL, bytes BLOB NOT NULL, ", problems);
  return entries && jobs && replies;
}

}  // namespace undertone::verifier
