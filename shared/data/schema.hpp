#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/data/dates.hpp"
#include "shared/data/derived_column.hpp"

namespace undertone::data {

/// What is done with a cell that holds no value.
struct MissingRule {
  std::vector<std::string> texts;  // what stands for a missing value, e.g. "" and "NA"
  double value = 0.0;              // used in its place, in the column's own unit
  bool indicator = false;          // adds a feature: 1 where the value was missing, else 0
  friend bool operator==(const MissingRule&, const MissingRule&) = default;
};

/// What is done with a value outside the public bounds or lists.
enum class Outside { Clamp, Refuse };

/// What is done with a cell that says that a value is below or above a limit: "<0.6", ">200", "<= 5".
enum class Limits { Refuse, AsBounds };

/// A numeric feature, scaled from its public bounds to [-1, 1].
struct NumericColumn {
  std::string name;
  double min = 0.0;
  double max = 1.0;  // > min
  Outside outside = Outside::Clamp;
  std::optional<MissingRule> missing;  // none: a missing value is an error
  std::optional<DateFormat> date;      // a date counts as days since 1970-01-01, in bounds and values alike
  Limits limits = Limits::Refuse;      // as bounds: "<0.6" counts as 0.6
  friend bool operator==(const NumericColumn&, const NumericColumn&) = default;
};

/// A feature of listed values: one indicator in {0, 1} for each, in the list's order.
struct CategoricalColumn {
  std::string name;
  std::vector<std::string> categories;
  bool others_allowed = false;  // a value that is not listed: no indicator is set; else an error
  friend bool operator==(const CategoricalColumn&, const CategoricalColumn&) = default;
};

using FeatureColumn = std::variant<NumericColumn, CategoricalColumn>;

/// A target of two values, mapped to -1 and 1.
struct BinaryLabel {
  std::string column;
  std::string negative;
  std::string positive;
  friend bool operator==(const BinaryLabel&, const BinaryLabel&) = default;
};

/// A numeric target, scaled like a feature.
struct NumericLabel {
  NumericColumn column;
  friend bool operator==(const NumericLabel&, const NumericLabel&) = default;
};

/// A target of several values, mapped to 0, 1, ... in the list's order.
struct ClassLabel {
  std::string column;
  std::vector<std::string> classes;
  friend bool operator==(const ClassLabel&, const ClassLabel&) = default;
};

/// A column that says which group a record is in, for fairness. It is no feature: models do not read it.
struct SensitiveColumn {
  std::string name;
  std::vector<std::string> categories;  // the public list of values
  /// Values that count as one group, such as several that are too rare for groups of their own. Each is one of the
  /// categories, and is in one list at most.
  std::vector<std::vector<std::string>> merged;
  std::vector<std::string> missing;  // what is written where the value is not known; without it that is an error
  bool also_feature = false;         // the column may be a feature besides: then models read it
  friend bool operator==(const SensitiveColumn&, const SensitiveColumn&) = default;
};

/// What every silo's file holds. Everything here is public and fixed without looking at records.
struct Schema {
  std::variant<BinaryLabel, NumericLabel, ClassLabel> label;
  std::vector<FeatureColumn> features;
  std::vector<SensitiveColumn> sensitive = {};
  std::vector<DerivedColumn> derived = {};  // label, features and sensitive columns may be among them
  friend bool operator==(const Schema&, const Schema&) = default;
};

[[nodiscard]] const std::string& name_of(const FeatureColumn& column);
[[nodiscard]] const std::string& label_column(const Schema& schema);
/// The columns that a file must have, each once: of label, features and sensitive columns, or what these come from.
[[nodiscard]] std::vector<std::string> columns_of_file(const Schema& schema);
/// The derived columns that some columns are or come from, the last of the schema first.
[[nodiscard]] std::vector<DerivedColumn> derived_behind(const Schema& schema, const std::vector<std::string>& columns);
/// The same of some columns alone. @param columns of the file, or derived
[[nodiscard]] std::vector<std::string> columns_behind(const Schema& schema, std::vector<std::string> columns);
/// How many values the label has: 0 of a number.
[[nodiscard]] std::size_t class_count(const Schema& schema);
/// How many numbers a record's features become.
[[nodiscard]] std::size_t encoded_width(const FeatureColumn& column);
/// A value within the column's bounds, where the lower one becomes -1 and the upper one 1.
[[nodiscard]] inline double scaled(const NumericColumn& column, double value) {
  return 2.0 * (std::clamp(value, column.min, column.max) - column.min) / (column.max - column.min) - 1.0;
}
[[nodiscard]] std::size_t encoded_width(const Schema& schema);
/// One name for each encoded feature: "age", "age missing", "sex=female".
[[nodiscard]] std::vector<std::string> encoded_names(const Schema& schema);

/// The groups of one column: each a category, or several that were merged. A group stands where its first category
/// stands in the list.
struct ColumnGroups {
  std::vector<std::string> names;      // "Female", or "Amer-Indian or Other"
  std::vector<std::size_t> of_values;  // [categories]: the group that each value is in
};
[[nodiscard]] ColumnGroups groups_of(const SensitiveColumn& column);
inline constexpr std::size_t kGroupsMax = 1024;
/// How many groups the sensitive columns make together: the product over them, at most kGroupsMax + 1; 0 without any.
[[nodiscard]] std::size_t group_count(const Schema& schema);
/// One name for each group, the last column's groups fastest: "sex=Female, race=White". @pre at most kGroupsMax
[[nodiscard]] std::vector<std::string> group_names(const Schema& schema);

}  // namespace undertone::data
