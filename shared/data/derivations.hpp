#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/derived_column.hpp"
#include "shared/data/numbers.hpp"

namespace undertone::data {

/// Makes the cells of derived columns from those of a table, row after row. Every row's cells come in the columns'
/// order, and a derived cell is there as soon as the last one is known that it comes from.
class Derivations {
 public:
  /// A derived cell: nothing where a cell that it comes from has no value.
  using Cell = std::variant<std::monostate, double, std::string_view>;
  struct Made {
    std::size_t column;  // the table's columns come first, then the derived ones in their order
    Cell cell;           // its text holds until the next cell is taken
  };

  Derivations() = default;
  /// @param columns of the table
  /// @param wanted for each derived column whether something reads it. What it comes from is made, too.
  /// @return an error where a column is missing, stands twice, or has the name of a derived one
  [[nodiscard]] static Result<Derivations> create(const std::vector<std::string>& columns,
                                                  const std::vector<DerivedColumn>& derived, std::vector<bool> wanted,
                                                  const NumberForm& numbers);

  /// Whether anything comes from a column of the table.
  [[nodiscard]] bool reads(std::size_t column) const { return column < uses_.size() && !uses_[column].empty(); }
  /// Takes a cell, or nothing where it is known to hold nothing.
  /// @return what was expected where the cell is not good, never what was found; null if it is
  [[nodiscard]] const std::string* take(std::size_t column, std::optional<std::string_view> cell);
  /// The row is over, whether or not it had all cells.
  void next_row() {
    for (Step& step : steps_) step.refused = false;
  }
  /// These cells were made by the last one that was taken.
  [[nodiscard]] const std::vector<Made>& made() const noexcept { return made_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  using Index = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;
  /// This stands in one of the cells that a derived cell comes from.
  using Argument = std::variant<std::monostate, double, std::string>;
  struct Step {
    DerivedColumn how;
    std::vector<std::string> values;                     // of which each cell is one, where they are listed
    Index listed;                                        // the group of each value
    Index prefixes;                                      // and of each prefix
    std::vector<std::size_t> lengths = {};               // of prefixes, the longest first
    std::vector<std::optional<std::size_t>> steps = {};  // for each source the step that makes it, or the table does
    std::vector<Argument> arguments = {};
    std::string expected;
    bool refused = false;  // a cell of this record was not good, and nothing is made of it
    bool made = false;
    Cell cell;
  };
  struct Use {
    std::size_t step;
    std::size_t argument;
  };
  [[nodiscard]] static Step step_of(const DerivedColumn& how);
  [[nodiscard]] const std::string* read(Step& step, std::size_t argument, std::optional<std::string_view> cell) const;
  /// @return false where a cell that it comes from was refused
  [[nodiscard]] bool make(Step& step);
  [[nodiscard]] static std::string_view group_of(const Step& step, const std::string& text);

  std::size_t columns_ = 0;
  NumberForm numbers_;
  std::vector<Step> steps_;                          // one a derived column
  std::vector<std::vector<Use>> uses_;               // by column of the table
  std::vector<std::vector<std::size_t>> completes_;  // by column: the steps that it is the last one for, in order
  std::vector<Made> made_;
};

}  // namespace undertone::data
