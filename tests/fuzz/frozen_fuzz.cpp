#include <optional>
#include <string>
#include <vector>

#include "shared/data/csv_reader.hpp"
#include "shared/data/snapshot.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

using namespace data;

using Cell = std::optional<std::string>;

/// Keeps what it is handed, and hands it on.
class Cells final : public TableSink {
 public:
  explicit Cells(TableSink* next) : next_(next) {}
  Status begin(const std::vector<std::string>& names, std::int64_t rows_at_most) override {
    columns = names;
    return next_ != nullptr ? next_->begin(names, rows_at_most) : Status();
  }
  void cell(std::size_t column, std::span<char> text, TableProblems& problems) override {
    UNDERTONE_CHECK(column < columns.size());
    cells.emplace_back(std::string(text.begin(), text.end()));
    if (next_ != nullptr) next_->cell(column, text, problems);
  }
  void missing(std::size_t column, TableProblems& problems) override {
    UNDERTONE_CHECK(column < columns.size());
    cells.emplace_back(std::nullopt);
    if (next_ != nullptr) next_->missing(column, problems);
  }
  void end_row(TableProblems& problems) override {
    ++rows;
    if (next_ != nullptr) next_->end_row(problems);
  }

  std::vector<std::string> columns;
  std::vector<Cell> cells;
  std::int64_t rows = 0;

 private:
  TableSink* next_;
};

/// A snapshot that somebody wrote over, and one of a table: every cell of that comes back as it was.
void frozen(std::string_view input) {
  static const MemoryFile file;
  file.hold(input);
  Cells damaged(nullptr);
  if (read_snapshot_into(file.path(), nullptr, damaged))
    UNDERTONE_CHECK(damaged.cells.size() == damaged.columns.size() * static_cast<std::size_t>(damaged.rows));
  const std::string header = std::string(input.substr(0, input.find('\n')));
  std::vector<std::string> wanted;
  for (std::size_t at = 0; at <= header.size();) {  // names without marks of their own
    const std::size_t end = std::min(header.find(',', at), header.size());
    wanted.push_back(header.substr(at, end - at));
    at = end + 1;
  }
  std::string bytes;
  SnapshotWriter writer(wanted, {}, [&bytes](std::string_view part) {
    bytes += part;
    return Status();
  });
  Cells table(&writer);
  if (!read_csv_into(file.path(), {}, table) || table.columns.size() != wanted.size()) return;
  UNDERTONE_CHECK(writer.finish().value() == table.rows);
  file.hold(bytes);
  Cells again(nullptr);
  UNDERTONE_CHECK(read_snapshot_into(file.path(), nullptr, again).has_value());
  UNDERTONE_CHECK(again.rows == table.rows && again.cells == table.cells);
}

const Target kTarget("frozen", frozen);

}  // namespace
}  // namespace undertone::fuzz
