#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace undertone::store {

/// Statements that were prepared and are not in use, by their text: preparing costs more than most of them do.
class StatementCache;

/// A prepared statement. Parameters are numbered from 1, columns from 0.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  /// A value that cannot be bound, such as a text beyond SQLite's 10^9 bytes, makes `step` fail.
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind_real(int parameter, double value);
  Statement& bind_text(int parameter, std::string_view value);
  Statement& bind_blob(int parameter, std::string_view value);

  /// @return whether there is a row
  [[nodiscard]] Result<bool> step();
  /// Steps to the end; for statements without rows.
  [[nodiscard]] Status run();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string bytes(int column) const;
  /// The bytes where SQLite keeps them, until the next step.
  [[nodiscard]] std::string_view view(int column) const;
  [[nodiscard]] bool is_null(int column) const;

 private:
  [[nodiscard]] Result<bool> step_uncounted();
  friend class Database;
  Statement(sqlite3_stmt* statement, std::weak_ptr<StatementCache> home)
      : statement_(statement), home_(std::move(home)) {}
  Statement& bound(int code) noexcept;
  sqlite3_stmt* statement_;
  int refused_ = 0;                     // SQLite's code of the first value that could not be bound
  std::weak_ptr<StatementCache> home_;  // where it goes back to; a database that is closed has none
};

/// An SQLite database: one file, or memory for simulations.
class Database {
 public:
  enum class Sync { Full, Normal };
  /// Opens or creates, in WAL mode. A second process that holds the file makes this fail after `busy_ms`.
  /// @param vfs SQLite's name of the file system, of a simulated disk say; null: the operating system's
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, Sync sync, const char* vfs = nullptr);
  /// For looking beside the program that writes. @return an error where there is no such file
  [[nodiscard]] static Result<Database> open_to_read(const std::filesystem::path& path);
  [[nodiscard]] static Result<Database> in_memory();

  /// A consistent copy in a new file, taken while the database is in use (VACUUM INTO). Synced when this returns.
  [[nodiscard]] Status copy_to(const std::filesystem::path& path);
  /// Bytes of its pages, free ones too.
  [[nodiscard]] Result<std::int64_t> size();

  [[nodiscard]] Status execute(const std::string& sql);
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);

  /// Runs `body` in one transaction: all of it is on disk when this returns without an error, or none of it ever is.
  [[nodiscard]] Status transaction(const std::function<Status()>& body);

  /// Called just before and just after every commit; a simulation makes the process die there by throwing.
  enum class CommitPoint { Before, After };
  void observe_commits(std::function<void(CommitPoint)> observer) { observer_ = std::move(observer); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  explicit Database(sqlite3* handle);
  [[nodiscard]] Error failure(const char* what) const;
  std::unique_ptr<sqlite3, Close> handle_;
  std::shared_ptr<StatementCache> cache_;  // goes before the handle
  std::function<void(CommitPoint)> observer_;
};

}  // namespace undertone::store
