#include "shared/jobs/schema_difference.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/schema_part.hpp"
#include "shared/jobs/schema_section.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBytes = 80;
constexpr std::size_t kDifferencesShown = 5;

std::string shown_value(const Json& value) { return plain_beginning(value.dump(), kShownBytes); }
std::string column_said(const Json& column) { return shown_value(column.at("column")); }

/// The first few differences, and how many there are.
class Differences {
 public:
  void add(std::string sentence) {
    if (all_++ < kDifferencesShown) sentences_.push_back(std::move(sentence));
  }
  [[nodiscard]] bool none() const noexcept { return all_ == 0; }
  [[nodiscard]] std::string text() const {
    const std::string more = all_ > sentences_.size() ? fmt::format("; and {} more", all_ - sentences_.size()) : "";
    return fmt::format("{}{}", fmt::join(sentences_, "; "), more);
  }

 private:
  std::vector<std::string> sentences_;
  std::size_t all_ = 0;
};

/// What the keys of two columns say.
void compare_columns(const std::string& what, const Json& asked, const Json& own, Differences& out) {
  for (const auto& [key, value] : asked.items()) {
    if (!own.contains(key)) {
      out.add(fmt::format("{} has {} {} in the job, and none in the data set", what, key, shown_value(value)));
    } else if (own.at(key) != value) {
      out.add(fmt::format("{} has {} {} in the job, and {} in the data set", what, key, shown_value(value),
                          shown_value(own.at(key))));
    }
  }
  for (const auto& [key, value] : own.items()) {
    if (!asked.contains(key))
      out.add(fmt::format("{} has {} {} in the data set, and none in the job", what, key, shown_value(value)));
  }
}

/// Lists of columns: those that the data set does not have, and those that differ.
void compare_lists(const std::string& what, const Json& asked, const Json& own, Differences& out) {
  std::unordered_map<std::string, const Json*> known;
  for (const Json& column : own) known.emplace(data::comparable_name(column.at("column").get<std::string>()), &column);
  for (const Json& column : asked) {
    const auto found = known.find(data::comparable_name(column.at("column").get<std::string>()));
    if (found == known.end()) {
      out.add(fmt::format("the data set has no {} {}", what, column_said(column)));
    } else {
      compare_columns(fmt::format("the {} {}", what, column_said(column)), column, *found->second, out);
    }
  }
}

}  // namespace

std::string schema_difference(const data::Schema& of_job, const data::Schema& of_dataset) {
  if (data::part_of(of_job, of_dataset)) return "";
  const Json asked = to_json(of_job);
  const Json own = to_json(of_dataset);
  Differences out;
  if (asked.at("label").at("column") != own.at("label").at("column")) {
    out.add(fmt::format("the label is {} in the job, and {} in the data set", column_said(asked.at("label")),
                        column_said(own.at("label"))));
  } else {
    compare_columns(fmt::format("the label {}", column_said(asked.at("label"))), asked.at("label"), own.at("label"),
                    out);
  }
  for (const auto& [key, what] : {std::pair("derived", "derived column"), std::pair("features", "feature"),
                                  std::pair("sensitive", "sensitive column")}) {
    const Json none = Json::array();
    compare_lists(what, asked.contains(key) ? asked.at(key) : none, own.contains(key) ? own.at(key) : none, out);
  }
  if (out.none()) return "the job names some of the sensitive or derived columns that it needs, and not all of them";
  return out.text();
}

}  // namespace undertone::jobs
