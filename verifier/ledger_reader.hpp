#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include "verifier/ledger_texts.hpp"
#include "verifier/problems.hpp"

namespace undertone::verifier {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

/// The rows of one query. One that cannot be read to its end is a problem.
class Rows {
 public:
  /// @param what begins the sentence of a problem
  Rows(sqlite3* database, std::string_view what, const char* sql, Problems& problems);

  /// False at the end, and when the list of problems is full: a damaged tree can name one page without end.
  [[nodiscard]] bool next();

  [[nodiscard]] std::int64_t integer(int column) { return sqlite3_column_int64(statement_.get(), column); }
  [[nodiscard]] bool is_integer(int column) { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }
  /// Unset for a value of another type.
  [[nodiscard]] std::optional<Bytes> blob(int column);
  [[nodiscard]] std::string text(int column);

 private:
  Bytes bytes(const void* data, int column);
  void fail();

  sqlite3* database_;
  std::string what_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement_;
  Problems& problems_;
  bool ready_ = false;
};

/// Read-only, and in a transaction that sees one state of the file. Null when that fails, which is then a problem.
[[nodiscard]] Database open_snapshot(const std::filesystem::path& path, Problems& problems);

/// False when the tables are not the format's, and reading them would say nothing.
[[nodiscard]] bool has_schema(sqlite3* database, Problems& problems);

}  // namespace undertone::verifier
