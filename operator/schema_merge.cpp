#include "operator/schema_merge.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/dates.hpp"

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownBytes = 400;

std::string shown(const Json& value) {
  return plain_beginning(value.dump(-1, ' ', false, Json::error_handler_t::replace), kShownBytes);
}

/// A party and the column as its schema has it.
struct Said {
  std::string party;
  const Json* column;
};

/// One key of a column, by who says what.
struct SaidOfKey {
  std::string party;
  const Json* value;  // null where the party does not say it
};

class ColumnMerge {
 public:
  /// @param what of people: the feature "age"
  ColumnMerge(std::string what, MergedSchemas& out) : what_(std::move(what)), out_(&out) {}

  /// @return nothing where the parties contradict each other
  std::optional<Json> merge(const std::vector<Said>& said, const std::string& within = "") {
    std::vector<std::string> keys;
    for (const Said& one : said) {
      for (const auto& [key, value] : one.column->items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
    if (within.empty()) {
      date_ = Json();
      for (const Said& one : said) {
        if (date_.is_null() && one.column->contains("date")) date_ = one.column->at("date");
      }
    }
    Json merged = Json::object();
    bool good = true;
    for (const std::string& key : keys) {
      std::vector<SaidOfKey> of_key;
      of_key.reserve(said.size());
      for (const Said& one : said)
        of_key.push_back({one.party, one.column->contains(key) ? &one.column->at(key) : nullptr});
      std::optional<Json> value = merge_key(within.empty() ? key : fmt::format("{}.{}", within, key), key, of_key);
      good = good && value;
      if (value && !value->is_discarded()) merged[key] = *std::move(value);
    }
    return good ? std::optional(std::move(merged)) : std::nullopt;
  }

 private:
  static Json nothing() { return Json(Json::value_t::discarded); }  // the merged column does not have the key

  std::optional<Json> merge_key(const std::string& path, const std::string& key, const std::vector<SaidOfKey>& said) {
    const auto differs = [&](const SaidOfKey& one) {
      const SaidOfKey& first = said.front();
      return (one.value == nullptr) != (first.value == nullptr) || (one.value != nullptr && *one.value != *first.value);
    };
    // One column may be written in several ways that people see alike.
    if (path == "column" || std::none_of(said.begin(), said.end(), differs)) return *said.front().value;
    std::vector<const Json*> there;
    for (const SaidOfKey& one : said) {
      if (one.value != nullptr && !one.value->is_null()) there.push_back(one.value);
    }
    if (there.empty()) return Json();
    const bool all = there.size() == said.size();
    // These keys make a column a number, a list or two values.
    const bool of_kind = key == "min" || key == "categories" || key == "classes" || key == "positive";
    if (of_kind && !blank(said)) {
      say(path, said, &out_->conflicts, "it is of one kind here and of another there");
      return std::nullopt;
    }
    std::optional<Json> value;
    if (key == "min" || key == "max") {
      value = bound(there, key == "min");
    } else if (key == "categories" || key == "classes" || key == "texts") {
      value = united(there);
    } else if (key == "others_allowed" || key == "indicator" || key == "also_feature") {
      value = std::any_of(there.begin(), there.end(), [](const Json* one) { return *one == true; });
    } else if (key == "outside") {
      value = all ? Json("clamp") : nothing();
    } else if (key == "limits") {
      value = std::any_of(there.begin(), there.end(), [](const Json* one) { return *one == "bound"; }) ? Json("bound")
                                                                                                       : nothing();
    } else if (key == "missing" &&
               std::all_of(there.begin(), there.end(), [](const Json* one) { return one->is_object(); })) {
      std::vector<Said> parts;
      for (const SaidOfKey& one : said) {
        if (one.value != nullptr && !one.value->is_null()) parts.push_back({one.party, one.value});
      }
      if (parts.size() < said.size()) say(path, said, &out_->differences, "the merged schema has it");
      return merge(parts, path);
    } else if (std::all_of(there.begin(), there.end(), [&](const Json* one) { return *one == *there.front(); }) &&
               blank(said)) {
      value = *there.front();
    }
    if (!value) {
      say(path, said, &out_->conflicts, advice(key));
      return std::nullopt;
    }
    // Two words for one thing look like two things here.
    const bool words = key == "categories" || key == "classes";
    say(path, said, &out_->differences,
        value->is_discarded()
            ? "the merged schema does not say it"
            : fmt::format("the merged schema has {}{}", shown(*value),
                          words ? " (if these are other words for the same, a map at a silo exchanges them)" : ""));
    return value;
  }
  /// Whether every party has the key, if only blank.
  static bool blank(const std::vector<SaidOfKey>& said) {
    return std::all_of(said.begin(), said.end(), [](const SaidOfKey& one) { return one.value != nullptr; });
  }
  static std::string advice(const std::string& key) {
    if (key == "date") return "a map at a silo exchanges forms of dates (docs/sources.md)";
    if (key == "positive" || key == "negative")
      return "which value is which has to be agreed upon; a map at a silo exchanges words";
    return "this has to be agreed upon";
  }
  /// The wider bound, of numbers or of dates of the column's form.
  [[nodiscard]] std::optional<Json> bound(const std::vector<const Json*>& there, bool least) const {
    const auto number_of = [this](const Json& value) -> std::optional<double> {
      if (value.is_number()) return value.get<double>();
      if (!value.is_string() || !date_.is_string()) return std::nullopt;
      const auto form = std::find_if(data::kDateForms.begin(), data::kDateForms.end(),
                                     [this](const data::DateForm& one) { return date_ == one.pattern; });
      return form == data::kDateForms.end() ? std::nullopt : data::parse_date(value.get<std::string>(), form->format);
    };
    const Json* out = nullptr;
    double best = 0.0;
    for (const Json* value : there) {
      const std::optional<double> number = number_of(*value);
      if (!number || value->is_string() != there.front()->is_string()) return std::nullopt;
      if (out == nullptr || (least ? *number < best : *number > best)) {
        out = value;
        best = *number;
      }
    }
    return *out;
  }
  /// Every text once, the first party's first.
  static std::optional<Json> united(const std::vector<const Json*>& there) {
    Json out = Json::array();
    std::set<std::string> known;
    for (const Json* list : there) {
      if (!list->is_array()) return std::nullopt;
      for (const Json& text : *list) {
        if (!text.is_string()) return std::nullopt;
        if (known.insert(text.get<std::string>()).second) out.push_back(text);
      }
    }
    return out;
  }
  void say(const std::string& path, const std::vector<SaidOfKey>& said, std::vector<std::string>* where,
           const std::string& then) {
    std::vector<std::string> parts;
    parts.reserve(said.size());
    for (const SaidOfKey& one : said)
      parts.push_back(fmt::format("{} in {}",
                                  one.value == nullptr   ? "none"
                                  : one.value->is_null() ? "blank"
                                                         : shown(*one.value),
                                  one.party));
    where->push_back(fmt::format("{}: {} is {}; {}", what_, path, fmt::join(parts, ", "), then));
  }

  std::string what_;
  MergedSchemas* out_;
  Json date_;  // the column's form, if it holds dates
};

/// The columns of one list, merged one by one.
void merge_list(const std::string& key, const std::string& what, const std::vector<ProposedSchema>& proposals,
                MergedSchemas& out) {
  struct Found {
    std::string name;
    std::vector<Said> said;
  };
  std::vector<Found> columns;
  std::map<std::string, std::size_t> places;
  for (const ProposedSchema& proposal : proposals) {
    if (!proposal.data.contains(key)) continue;
    for (const Json& column : proposal.data.at(key)) {
      const std::string name = column.at("column").get<std::string>();
      const auto [place, fresh] = places.try_emplace(data::comparable_name(name), columns.size());
      if (fresh) columns.push_back({name, {}});
      columns[place->second].said.push_back({proposal.name, &column});
    }
  }
  Json merged = Json::array();
  for (const Found& column : columns) {
    const std::string called = fmt::format("{} \"{}\"", what, plain_beginning(column.name, kShownBytes));
    if (column.said.size() != proposals.size()) {
      std::vector<std::string> who;
      for (const Said& one : column.said) who.push_back(one.party);
      out.conflicts.push_back(
          fmt::format("{}: {} alone {} it; all must have it, a column of a file by this name or by a map", called,
                      fmt::join(who, ", "), who.size() == 1 ? "has" : "have"));
      continue;
    }
    if (std::optional<Json> one = ColumnMerge(called, out).merge(column.said)) merged.push_back(*std::move(one));
  }
  if (!merged.empty() || key == "features") out.data[key] = std::move(merged);
}

}  // namespace

Result<ProposedSchema> proposed_schema(const std::string& name, const Json& document) {
  const auto refuse = [&name](const char* what) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: expected a schema, a draft or a job: {}", name, what)};
  };
  if (!document.is_object()) return refuse("it is no object");
  const Json& data = document.contains("data") ? document.at("data") : document;
  if (!data.is_object() || !data.contains("label") || !data.contains("features"))
    return refuse("it has no label and features");
  const auto is_column = [](const Json& column) {
    return column.is_object() && column.contains("column") && column.at("column").is_string();
  };
  constexpr std::size_t kKeysMax = 64;  // of a column
  const auto is_small = [](const Json& column) { return column.size() <= kKeysMax; };
  if (!is_column(data.at("label"))) return refuse("its label has no column; a draft names one with --label");
  if (!is_small(data.at("label"))) return refuse("its label has too many keys");
  for (const char* key : {"features", "derived", "sensitive"}) {
    if (!data.contains(key)) continue;
    const Json& list = data.at(key);
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_column)) return refuse("a column has no name");
    if (!std::all_of(list.begin(), list.end(), is_small)) return refuse("a column has too many keys");
    std::set<std::string> names;
    for (const Json& column : list) {
      if (!names.insert(data::comparable_name(column.at("column").get<std::string>())).second)
        return refuse("a column stands twice");
    }
  }
  return ProposedSchema{name, data};
}

MergedSchemas merge_schemas(const std::vector<ProposedSchema>& proposals) {
  MergedSchemas out;
  out.data = Json::object();
  std::vector<Said> labels;
  std::vector<std::string> names;
  bool alike = true;
  for (const ProposedSchema& proposal : proposals) {
    labels.push_back({proposal.name, &proposal.data.at("label")});
    const std::string name = labels.back().column->at("column").get<std::string>();
    alike = alike && data::is_same_name(name, labels.front().column->at("column").get<std::string>());
    names.push_back(fmt::format("\"{}\" in {}", plain_beginning(name, kShownBytes), proposal.name));
  }
  std::optional<Json> label;
  if (alike) {
    label = ColumnMerge("the label", out).merge(labels);
  } else {
    out.conflicts.push_back(fmt::format(
        "the label: its column is {}; a map at a silo renames a column (docs/sources.md)", fmt::join(names, ", ")));
  }
  if (label) out.data["label"] = *std::move(label);
  for (const auto& [key, what] : {std::pair("features", "the feature"), std::pair("sensitive", "the sensitive column"),
                                  std::pair("derived", "the derived column")})
    merge_list(key, what, proposals, out);
  return out;
}

}  // namespace undertone::operators
