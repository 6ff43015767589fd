#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// A column of the schema, and its first coordinate of an encoded record.
struct Column {
  const data::FeatureColumn* feature = nullptr;  // null of the label
  std::size_t coordinate = 0;
};

/// The columns of a schema by their names: finding one takes logarithmic time, whatever their names are.
class ColumnIndex {
 public:
  /// @param schema outlives the index
  explicit ColumnIndex(const data::Schema& schema);
  [[nodiscard]] const data::Schema& schema() const noexcept { return *schema_; }
  [[nodiscard]] std::optional<Column> find(const std::string& name) const;
  /// The column that was probably meant by a name that there is not; empty where none is near. Only the first few names
  /// are looked for, since a file may hold any number of them.
  [[nodiscard]] std::string nearest(const std::string& name) const;

 private:
  const data::Schema* schema_;
  std::map<std::string_view, Column, std::less<>> columns_;
  mutable std::size_t looked_for_ = 0;
};
/// The column if it is of numbers, a feature or the label; else null.
[[nodiscard]] const data::NumericColumn* numeric_of(const ColumnIndex& known, const Column& column);
/// The count of a value: its indicator; of a label its positive value's, and the records less that for the other.
/// @return nothing where the value is not listed @pre listed values, not the classes of a label
[[nodiscard]] std::optional<algorithms::StatisticAsked> indicator_of(const ColumnIndex& known, const Column& column,
                                                                     const std::string& value);

/// Those that a question names, by the key that names them. @return nothing where a problem was noted
[[nodiscard]] std::optional<Column> named_column(config::Section& section, const char* key, const ColumnIndex& known,
                                                 const std::string& name);
/// A column of numbers.
[[nodiscard]] std::optional<algorithms::NumberColumn> number_column(config::Section& section, const char* key,
                                                                    const ColumnIndex& known, const std::string& name);
/// The same, or a label of two values, as -1 and 1.
[[nodiscard]] std::optional<algorithms::NumberColumn> response_column(config::Section& section, const char* key,
                                                                      const ColumnIndex& known,
                                                                      const std::string& name);
/// A column of listed values as an axis of cells.
[[nodiscard]] std::optional<algorithms::TableAxis> table_axis(config::Section& section, const char* key,
                                                              const ColumnIndex& known, const std::string& name);

}  // namespace undertone::jobs
