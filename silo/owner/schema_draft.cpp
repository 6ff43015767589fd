#include "silo/owner/schema_draft.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "shared/base/nearest_word.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using data::ColumnSurvey;

constexpr std::size_t kCategoriesDrafted = 100;
constexpr std::size_t kClassesDrafted = 20;
constexpr std::size_t kNameShown = 60;

constexpr const char* kNote =
    "A draft. Replace each null by a bound that you know without the data: what is plausible in the world, such as 0 "
    "to "
    "120 for an age in years. Bounds and lists are public and the same at every silo; the least or largest value of a "
    "file is one person's, and whoever publishes it publishes that person's. `missing.value` stands where a value is "
    "missing: something ordinary, known without the data as well.";

enum class Kind { Empty, Number, Date, Category, Text };

struct Guess {
  Kind kind = Kind::Text;
  std::optional<std::size_t> date;  // of kDates
};

constexpr std::array<const char*, 3> kDates = {"YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY"};

Guess guess(const ColumnSurvey& column, const data::CsvSurvey& survey) {
  if (column.cells == 0) return {Kind::Empty, {}};
  const bool few = !column.many_values && column.values.size() <= 2;
  if ((survey.dialect.decimal_comma ? column.comma_numbers : column.numbers) == column.cells)
    return {few ? Kind::Category : Kind::Number, {}};
  for (std::size_t i = 0; i < kDates.size(); ++i) {
    if (column.dates[i] == column.cells) return {Kind::Date, i};
  }
  const bool listed = !column.many_values && column.values.size() <= kCategoriesDrafted &&
                      (static_cast<std::int64_t>(column.values.size()) <= column.cells / 2 || few);
  return {listed ? Kind::Category : Kind::Text, {}};
}

bool named_as_identifier(const std::string& name) {
  std::string low = name;
  std::transform(low.begin(), low.end(), low.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto ends = [&low](std::string_view end) {
    return low.size() >= end.size() && low.compare(low.size() - end.size(), end.size(), end) == 0;
  };
  constexpr std::array<std::string_view, 8> kNames = {"id",     "patient", "patientid", "subject",
                                                      "person", "mrn",     "pid",       "personid"};
  return std::find(kNames.begin(), kNames.end(), low) != kNames.end() || ends("_id") || ends(" id") || ends("-id") ||
         ends("#");
}

Json numeric(const ColumnSurvey& column, const Guess& guessed) {
  Json out = {{"column", column.name}};
  if (guessed.date) out["date"] = kDates[*guessed.date];
  out["min"] = nullptr;
  out["max"] = nullptr;
  if (!column.missing.empty()) {
    Json texts = Json::array();
    for (const auto& [text, count] : column.missing) texts.push_back(text);
    out["missing"] = {{"texts", std::move(texts)}, {"value", nullptr}, {"indicator", true}};
  }
  return out;
}

/// How many records hold what.
std::string counted(const ColumnSurvey& column) {
  std::string out;
  for (const auto& [value, count] : column.values)
    out += fmt::format("{}\"{}\" {}", out.empty() ? "" : ", ", value, count);
  return out;
}

/// Whether so few records have a value that a public list of values would tell of them.
bool is_rare(std::int64_t records) { return records < kCategoryRecordsMin; }

Json categorical(const ColumnSurvey& column, std::vector<std::string>& remarks) {
  Json list = Json::array();
  std::size_t rare = 0;
  for (const auto& [value, count] : column.values) {
    if (is_rare(count)) {
      ++rare;
    } else {
      list.push_back(value);
    }
  }
  std::string remark = fmt::format("column \"{}\": categories {}", column.name, counted(column));
  if (rare > 0)
    remark +=
        fmt::format("; {} of them, with fewer than {} records, are left out of the list", rare, kCategoryRecordsMin);
  if (!column.missing.empty()) remark += "; where the value is missing no category is set";
  remarks.push_back(remark);
  if (list.empty()) return nullptr;
  Json out = {{"column", column.name}, {"categories", std::move(list)}};
  if (rare > 0 || !column.missing.empty()) out["others_allowed"] = true;
  return out;
}

Result<SchemaDraft> with_label(const data::CsvSurvey& survey, const ColumnSurvey& column, SchemaDraft draft) {
  const Guess guessed = guess(column, survey);
  if (guessed.kind == Kind::Empty || (!column.many_values && column.values.size() < 2))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the label's column \"{}\" holds one value alone", column.name)};
  Json& label = draft.document["data"]["label"];
  if (guessed.kind == Kind::Number || guessed.kind == Kind::Date) {
    label = numeric(column, guessed);
    label.erase("missing");
    draft.remarks.push_back(fmt::format("label \"{}\": a number", column.name));
  } else if (column.many_values || column.values.size() > kClassesDrafted) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the label's column \"{}\" holds more than {} different texts",
                                                         column.name, kClassesDrafted)};
  } else if (column.values.size() == 2) {
    const auto listed = [](const auto& value) { return is_rare(value.second) ? Json(nullptr) : Json(value.first); };
    const auto& first = *column.values.begin();
    const auto& second = *std::next(column.values.begin());
    label = {{"column", column.name}, {"negative", listed(first)}, {"positive", listed(second)}};
    draft.remarks.push_back(
        fmt::format("label \"{}\": {}; exchange negative and positive if it is the other that is "
                    "looked for",
                    column.name, counted(column)));
    if (is_rare(first.second) || is_rare(second.second))
      draft.remarks.push_back(fmt::format(
          "label \"{}\": fewer than {} records have one of its values, so that it is left blank: the schema "
          "is public, and the value would tell of these people; write it yourself if everybody may know it",
          column.name, kCategoryRecordsMin));
  } else {
    Json classes = Json::array();
    std::size_t rare = 0;
    for (const auto& [value, count] : column.values) {
      if (is_rare(count)) {
        ++rare;
      } else {
        classes.push_back(value);
      }
    }
    if (classes.size() < 2)
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("the label's column \"{}\": fewer than two of its values are those of {} records or more, "
                      "and what fewer have is not written into a public schema: merge values first",
                      column.name, kCategoryRecordsMin)};
    label = {{"column", column.name}, {"classes", std::move(classes)}};
    draft.remarks.push_back(fmt::format("label \"{}\": classes {}", column.name, counted(column)));
    if (rare > 0)
      draft.remarks.push_back(
          fmt::format("label \"{}\": {} of its classes, with fewer than {} records, are left out of the list, which is "
                      "public: merge them into others or take their records out of the file, which `dataset add` "
                      "refuses otherwise",
                      column.name, rare, kCategoryRecordsMin));
  }
  if (!column.missing.empty())
    draft.remarks.push_back(
        fmt::format("label \"{}\": some records have none, and a label must not be missing: take "
                    "these records out of the file",
                    column.name));
  return draft;
}

}  // namespace

Result<SchemaDraft> draft_schema(const data::CsvSurvey& survey, const std::string& label) {
  SchemaDraft draft;
  draft.document["note"] = kNote;
  const data::CsvDialect& dialect = survey.dialect;
  if (dialect.separator != ',') draft.document["file"]["separator"] = dialect.separator == '\t' ? "tab" : ";";
  if (dialect.decimal_comma) draft.document["file"]["decimal"] = "comma";
  draft.document["data"]["label"] = nullptr;
  Json features = Json::array();
  const ColumnSurvey* target = nullptr;
  for (const ColumnSurvey& column : survey.columns) {
    if (column.name == label && !label.empty()) {
      target = &column;
      continue;
    }
    const auto left_out = [&](const char* why) {
      draft.remarks.push_back(fmt::format("column \"{}\": left out, {}", column.name, why));
    };
    const Guess guessed = guess(column, survey);
    if (column.name.empty() || guessed.kind == Kind::Empty) {
      left_out(column.name.empty() ? "it has no name" : "it holds nothing");
    } else if (named_as_identifier(column.name)) {
      left_out("by its name it identifies people");
      const bool repeats = column.many_values || static_cast<std::int64_t>(column.values.size()) < column.cells;
      if (repeats)
        draft.remarks.push_back(fmt::format(
            "column \"{}\": {}where one person has several rows, what protects a record protects one of her rows "
            "alone, "
            "and the promise to her is as many times weaker: `dataset add --person \"{}\"` protects persons",
            column.name,
            column.many_values ? std::string() : fmt::format("{} ids in {} rows; ", column.values.size(), column.cells),
            column.name));
    } else if (guessed.kind == Kind::Text) {
      left_out("it holds too many different texts to be a category: names, identifiers or free text");
    } else if (guessed.kind == Kind::Category) {
      if (Json made = categorical(column, draft.remarks); !made.is_null()) features.push_back(std::move(made));
    } else {
      features.push_back(numeric(column, guessed));
      std::int64_t missing = 0;
      for (const auto& [text, count] : column.missing) missing += count;
      draft.remarks.push_back(fmt::format("column \"{}\": {}{}", column.name,
                                          guessed.date ? fmt::format("dates {}", kDates[*guessed.date]) : "a number",
                                          missing > 0 ? fmt::format(", missing {} times", missing) : ""));
    }
  }
  draft.document["data"]["features"] = std::move(features);
  if (label.empty()) {
    draft.remarks.emplace_back("the label was not named: give --label COLUMN, or write it yourself");
    return draft;
  }
  if (target == nullptr) {
    std::vector<std::string> names;
    for (const ColumnSurvey& column : survey.columns) names.push_back(column.name);
    const std::string meant = nearest_word(label, names);
    const std::string hint = names.size() == 1 ? fmt::format(
                                                     ": its one column is \"{}\"; is another separator meant, as "
                                                     "--separator says it?",
                                                     names.front().substr(0, kNameShown))
                             : meant.empty() ? std::string()
                                             : fmt::format("; do you mean \"{}\"?", meant);
    return Error{ErrorCode::InvalidArgument, fmt::format("the file has no column \"{}\" for the label{}", label, hint)};
  }
  return with_label(survey, *target, std::move(draft));
}

}  // namespace undertone::silo
