#include "shared/jobs/schema_difference.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/schema_part.hpp"
#include "shared/jobs/schema_section.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBytes = 80;

std::string shown_value(const Json& value) { return plain_beginning(value.dump(), kShownBytes); }
std::string column_said(const Json& column) { return shown_value(column.at("column")); }

/// What one key of two columns says.
std::string key_difference(const std::string& what, const Json& asked, const Json& own) {
  for (const auto& [key, value] : asked.items()) {
    if (!own.contains(key))
      return fmt::format("{} has {} {} in the job, and none in the data set", what, key, shown_value(value));
    if (own.at(key) != value)
      return fmt::format("{} has {} {} in the job, and {} in the data set", what, key, shown_value(value),
                         shown_value(own.at(key)));
  }
  for (const auto& [key, value] : own.items()) {
    if (!asked.contains(key))
      return fmt::format("{} has {} {} in the data set, and none in the job", what, key, shown_value(value));
  }
  return "";
}

/// Lists of columns: one that the data set does not have, or one that differs.
std::string list_difference(const std::string& what, const Json& asked, const Json& own) {
  const auto by_name = [](const Json& list) {
    std::unordered_map<std::string, const Json*> out;
    for (const Json& column : list) out.emplace(data::comparable_name(column.at("column").get<std::string>()), &column);
    return out;
  };
  const auto known = by_name(own);
  for (const Json& column : asked) {
    const auto found = known.find(data::comparable_name(column.at("column").get<std::string>()));
    if (found == known.end()) return fmt::format("the data set has no {} {}", what, column_said(column));
    if (const std::string difference =
            key_difference(fmt::format("the {} {}", what, column_said(column)), column, *found->second);
        !difference.empty())
      return difference;
  }
  return "";
}

}  // namespace

std::string schema_difference(const data::Schema& of_job, const data::Schema& of_dataset) {
  if (data::part_of(of_job, of_dataset)) return "";
  const Json asked = to_json(of_job);
  const Json own = to_json(of_dataset);
  if (asked.at("label").at("column") != own.at("label").at("column"))
    return fmt::format("the label is {} in the job, and {} in the data set", column_said(asked.at("label")),
                       column_said(own.at("label")));
  if (std::string label = key_difference(fmt::format("the label {}", column_said(asked.at("label"))), asked.at("label"),
                                         own.at("label"));
      !label.empty())
    return label;
  for (const auto& [key, what] : {std::pair("derived", "derived column"), std::pair("features", "feature"),
                                  std::pair("sensitive", "sensitive column")}) {
    const Json none = Json::array();
    if (std::string columns =
            list_difference(what, asked.contains(key) ? asked.at(key) : none, own.contains(key) ? own.at(key) : none);
        !columns.empty())
      return columns;
  }
  return "the job names some of the sensitive or derived columns that it needs, and not all of them";
}

}  // namespace undertone::jobs
