#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "shared/algorithms/one_round/statistic_asked.hpp"
#include "shared/config/section.hpp"
#include "shared/data/schema.hpp"

namespace undertone::jobs {

/// A column of the schema, and its first coordinate of an encoded record.
struct Column {
  const data::FeatureColumn* feature = nullptr;  // null of the label
  std::size_t coordinate = 0;
};
[[nodiscard]] std::optional<Column> find_column(const data::Schema& schema, const std::string& name);
/// The column if it is of numbers, a feature or the label; else null.
[[nodiscard]] const data::NumericColumn* numeric_of(const data::Schema& schema, const Column& column);
/// The count of a value: its indicator; of a label its positive value's, and the records less that for the other.
/// @return nothing where the value is not listed @pre listed values, not the classes of a label
[[nodiscard]] std::optional<algorithms::StatisticAsked> indicator_of(const data::Schema& schema, const Column& column,
                                                                     const std::string& value);

/// Those that a question names, by the key that names them. @return nothing where a problem was noted
[[nodiscard]] std::optional<Column> named_column(config::Section& section, const char* key, const data::Schema& schema,
                                                 const std::string& name);
/// A column of numbers.
[[nodiscard]] std::optional<algorithms::NumberColumn> number_column(config::Section& section, const char* key,
                                                                    const data::Schema& schema,
                                                                    const std::string& name);
/// The same, or a label of two values, as -1 and 1.
[[nodiscard]] std::optional<algorithms::NumberColumn> response_column(config::Section& section, const char* key,
                                                                      const data::Schema& schema,
                                                                      const std::string& name);
/// A column of listed values as an axis of cells.
[[nodiscard]] std::optional<algorithms::TableAxis> table_axis(config::Section& section, const char* key,
                                                              const data::Schema& schema, const std::string& name);

}  // namespace undertone::jobs
