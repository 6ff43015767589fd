#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shared/data/dates.hpp"
#include "shared/data/numbers.hpp"
#include "shared/data/table_sink.hpp"

namespace undertone::silo {

/// How a column of this silo's table becomes one of the schema's: by another name, other words, another unit or another
/// form of dates. It is the silo's own, and nobody else learns it.
struct ColumnMapping {
  struct Words {
    std::vector<std::string> from;
    std::string to;
  };
  struct Dates {
    data::DateFormat from;
    data::DateFormat to;
  };
  std::string column;  // in the table
  std::string as;      // in the schema
  std::vector<Words> words = {};
  std::optional<Dates> dates = {};
  std::vector<std::string> kept = {};  // texts that stay as they are, such as those that mean missing
  double factor = 1.0;                 // above 0
  double offset = 0.0;                 // is added after the factor
};

/// Hands a table on as a map says. A word that its mapping does not know goes on as it is, and so does a text that is
/// no number, and one that is kept: the schema says what may stand there. A date of another form is a problem, since it
/// could be read as another day.
class MappedTable final : public data::TableSink {
 public:
  /// @param map outlives this, and so does the next sink
  /// @param numbers how the table writes numbers, before and after
  MappedTable(const std::vector<ColumnMapping>& map, const data::NumberForm& numbers, data::TableSink& next)
      : map_(&map), numbers_(numbers), next_(&next) {}

  [[nodiscard]] Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override;
  void cell(std::size_t column, std::span<char> text, data::TableProblems& problems) override;
  void missing(std::size_t column, data::TableProblems& problems) override { next_->missing(column, problems); }
  void end_row(data::TableProblems& problems) override { next_->end_row(problems); }

 private:
  /// What a column's cells become.
  struct Change {
    const ColumnMapping* mapping = nullptr;
    bool of_cells = false;  // and not of the name alone
    std::unordered_map<std::string, const std::string*> words;
    std::unordered_set<std::string> kept;
  };
  [[nodiscard]] std::optional<std::string> changed(std::size_t column, const std::string& text,
                                                   data::TableProblems& problems) const;
  [[nodiscard]] std::string number_text(double value) const;

  const std::vector<ColumnMapping>* map_;
  data::NumberForm numbers_;
  data::TableSink* next_;
  std::vector<std::string> columns_;  // as the table has them
  std::vector<Change> changes_;       // one a column
};

}  // namespace undertone::silo
