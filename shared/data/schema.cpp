#include "shared/data/schema.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "shared/data/column_name.hpp"

namespace undertone::data {

const std::string& name_of(const FeatureColumn& column) {
  return std::visit([](const auto& c) -> const std::string& { return c.name; }, column);
}

const std::string& label_column(const Schema& schema) {
  if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) return binary->column;
  if (const auto* classes = std::get_if<ClassLabel>(&schema.label)) return classes->column;
  return std::get<NumericLabel>(schema.label).column.name;
}

std::vector<std::string> columns_of_file(const Schema& schema) {
  std::vector<std::string> asked;
  for (const FeatureColumn& column : schema.features) asked.push_back(name_of(column));
  asked.push_back(label_column(schema));
  for (const SensitiveColumn& column : schema.sensitive) asked.push_back(column.name);
  return columns_behind(schema, std::move(asked));
}

std::vector<std::string> columns_behind(const Schema& schema, std::vector<std::string> asked) {
  std::unordered_map<std::string, const DerivedColumn*> derived;
  for (const DerivedColumn& column : schema.derived) derived.emplace(comparable_name(column.name), &column);
  std::unordered_set<std::string> seen;
  std::vector<std::string> out;
  while (!asked.empty()) {
    std::vector<std::string> sources;
    for (const std::string& name : asked) {
      const std::string comparable = comparable_name(name);
      if (!seen.insert(comparable).second) continue;
      if (const auto found = derived.find(comparable); found == derived.end()) {
        out.push_back(name);
      } else {
        for (std::string& source : sources_of(*found->second)) sources.push_back(std::move(source));
      }
    }
    asked = std::move(sources);
  }
  return out;
}

std::vector<DerivedColumn> derived_behind(const Schema& schema, const std::vector<std::string>& columns) {
  std::set<std::string> wanted;
  for (const std::string& column : columns) wanted.insert(comparable_name(column));
  std::vector<DerivedColumn> out;
  for (auto column = schema.derived.rbegin(); column != schema.derived.rend(); ++column) {  // sources stand before
    if (!wanted.contains(comparable_name(column->name))) continue;
    for (const std::string& source : sources_of(*column)) wanted.insert(comparable_name(source));
    out.push_back(*column);
  }
  return out;
}

std::size_t class_count(const Schema& schema) {
  if (std::holds_alternative<BinaryLabel>(schema.label)) return 2;
  const auto* several = std::get_if<ClassLabel>(&schema.label);
  return several == nullptr ? 0 : several->classes.size();
}

std::size_t encoded_width(const FeatureColumn& column) {
  if (const auto* categorical = std::get_if<CategoricalColumn>(&column)) return categorical->categories.size();
  const auto& missing = std::get<NumericColumn>(column).missing;
  return missing && missing->indicator ? 2 : 1;
}

std::size_t encoded_width(const Schema& schema) {
  std::size_t width = 0;
  for (const FeatureColumn& column : schema.features) width += encoded_width(column);
  return width;
}

std::vector<std::string> encoded_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const FeatureColumn& column : schema.features) {
    if (const auto* categorical = std::get_if<CategoricalColumn>(&column)) {
      for (const std::string& category : categorical->categories) names.push_back(categorical->name + "=" + category);
      continue;
    }
    names.push_back(name_of(column));
    if (encoded_width(column) == 2) names.push_back(name_of(column) + " missing");
  }
  return names;
}

ColumnGroups groups_of(const SensitiveColumn& column) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  ColumnGroups out;
  out.of_values.assign(column.categories.size(), kNone);
  for (std::size_t value = 0; value < column.categories.size(); ++value) {
    if (out.of_values[value] != kNone) continue;
    out.of_values[value] = out.names.size();
    std::string name = column.categories[value];
    for (const std::vector<std::string>& together : column.merged) {
      if (std::find(together.begin(), together.end(), column.categories[value]) == together.end()) continue;
      for (std::size_t other = value + 1; other < column.categories.size(); ++other) {
        if (std::find(together.begin(), together.end(), column.categories[other]) == together.end()) continue;
        out.of_values[other] = out.names.size();
        name += " or " + column.categories[other];
      }
    }
    out.names.push_back(std::move(name));
  }
  return out;
}

std::size_t group_count(const Schema& schema) {
  if (schema.sensitive.empty()) return 0;
  std::size_t count = 1;
  for (const SensitiveColumn& column : schema.sensitive)
    count = std::min(count * groups_of(column).names.size(), kGroupsMax + 1);
  return count;
}

std::vector<std::string> group_names(const Schema& schema) {
  std::vector<std::string> names;
  for (const SensitiveColumn& column : schema.sensitive) {
    const ColumnGroups own = groups_of(column);
    std::vector<std::string> longer;
    for (std::size_t before = 0; before < std::max<std::size_t>(names.size(), 1); ++before) {
      for (const std::string& name : own.names)
        longer.push_back((names.empty() ? "" : names[before] + ", ") + column.name + "=" + name);
    }
    names = std::move(longer);
  }
  return names;
}

}  // namespace undertone::data
