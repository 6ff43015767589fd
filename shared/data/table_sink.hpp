#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/packed_cells.hpp"

namespace undertone::data {

/// This keeps what was found wrong with a table while it was read, with the places. It names no value (decision 12).
class TableProblems {
 public:
  /// @param name of the table, for people
  explicit TableProblems(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The next problems belong to the row that begins in this line of a file, or that has this number.
  void at(std::int64_t line) noexcept { line_ = line; }
  /// @param stop nothing more can be read
  void add(const std::string& what, bool stop);
  /// Whether reading on is of no use: it cannot, or there are enough problems to show.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  [[nodiscard]] bool none() const noexcept { return lines_.empty(); }
  /// This is an error with all of them, a line each. @pre not none()
  [[nodiscard]] Error error() const;

 private:
  std::string name_;
  std::int64_t line_ = 1;
  std::vector<std::string> lines_;
  bool stopped_ = false;
};

/// Takes a table as it comes: its columns, then cell by cell and row by row. Whoever reads files, databases or
/// snapshots drives it.
class TableSink {
 public:
  TableSink() = default;
  TableSink(const TableSink&) = delete;
  TableSink& operator=(const TableSink&) = delete;
  virtual ~TableSink() = default;

  /// @param rows_at_most as many rows may come; 0 where nobody knows
  /// @return an error without place where the columns are not those that are wanted
  [[nodiscard]] virtual Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) = 0;
  /// A cell of the row at hand. The table's columns come in their order. Of a row that is longer than the table is wide
  /// the cells beyond are not handed on.
  /// @param text UTF-8, unchecked; the sink may overwrite it
  virtual void cell(std::size_t column, std::span<char> text, TableProblems& problems) = 0;
  /// This is called in place of cell() where a cell is known to hold nothing, however files write that.
  virtual void missing(std::size_t column, TableProblems& problems) = 0;
  /// The row is whole.
  virtual void end_row(TableProblems& problems) = 0;
  /// Takes whole rows, all columns of them. A sink that has no faster way is handed their cells one by one.
  /// @param before rows that the table had before these
  virtual void take_rows(const PackedRows& rows, std::int64_t before, TableProblems& problems);
};

/// A column, for problems: its number from 1 and its name.
[[nodiscard]] std::string describe_column(const std::vector<std::string>& columns, std::size_t at);

}  // namespace undertone::data
