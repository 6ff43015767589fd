#include "silo/owner/schema_draft.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "shared/base/nearest_word.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/dates.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using data::ColumnSurvey;

constexpr std::size_t kCategoriesDrafted = 100;
constexpr std::size_t kClassesDrafted = 20;
constexpr std::size_t kNameShown = 60;
constexpr std::size_t kFewValues = 6;  // of whole numbers that may be codes

constexpr const char* kNote =
    "A draft. Replace each null by a bound that you know without the data: what is plausible in the world, such as 0 "
    "to "
    "120 for an age in years. Bounds and lists are public and the same at every silo; the least or largest value of a "
    "file is one person's, and whoever publishes it publishes that person's. `missing.value` stands where a value is "
    "missing: something ordinary, known without the data as well.";

enum class Kind { Empty, Number, Date, Category, Code, Text };

struct Guess {
  Kind kind = Kind::Text;
  std::vector<const data::DateForm*> dates;  // the forms that every cell has
  /// Whether a day and a month may be exchanged.
  [[nodiscard]] bool is_ambiguous() const {
    return dates.size() > 1 && dates.front()->format == data::DateFormat::MonthDayYear;
  }
};

/// Of 1,000 cells so many numbers make a column of numbers, whose other cells are to be mended.
constexpr std::int64_t kMostlyOfThousand = 500;

bool mostly(std::int64_t count, const ColumnSurvey& column) { return 1000 * count >= kMostlyOfThousand * column.cells; }

/// The forms in which every cell is a date.
std::vector<const data::DateForm*> dates_of(const ColumnSurvey& column) {
  std::vector<const data::DateForm*> out;
  for (const data::DateForm& form : data::kDateForms) {
    if (column.dates[static_cast<std::size_t>(form.format)] == column.cells) out.push_back(&form);
  }
  return out;
}

Guess guess(const ColumnSurvey& column, const data::CsvSurvey& survey) {
  if (column.cells == 0) return {Kind::Empty, {}};
  const bool few = !column.many_values && column.values.size() <= 2;
  const auto forms = dates_of(column);
  const bool listed = !column.many_values && column.values.size() <= kCategoriesDrafted &&
                      (static_cast<std::int64_t>(column.values.size()) <= column.cells / 2 || few);
  // Eight digits are a day before they are a number, and digits that begin with a zero are a code.
  if (!forms.empty() && !few) return {Kind::Date, forms};
  const std::int64_t numbers = column.numbers_in(survey.dialect.numbers);
  if (mostly(numbers, column) && column.zero_led > 0) return {listed ? Kind::Category : Kind::Code, {}};
  if (numbers == column.cells) return {few ? Kind::Category : Kind::Number, {}};
  if (numbers > 0 && mostly(numbers + column.limits, column) && !few) return {Kind::Number, {}};
  return {listed ? Kind::Category : Kind::Text, {}};
}

/// What a column of texts looks like, without its values; empty where its cells are of many forms.
std::string likeness(const ColumnSurvey& column) {
  const auto most = std::max_element(column.shapes.begin(), column.shapes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  // What begins with a letter is a name or a code, and the shape tells nothing.
  if (most == column.shapes.end() || !mostly(most->second, column) || most->first.front() == 'a') return "";
  return fmt::format(": {} of {} cells look like \"{}\" (9 for digits, a for letters)", most->second, column.cells,
                     most->first);
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
  if (!guessed.dates.empty())
    out["date"] = guessed.is_ambiguous() ? Json(nullptr) : Json(guessed.dates.front()->pattern);
  out["min"] = nullptr;
  out["max"] = nullptr;
  if (!column.missing.empty()) {
    Json texts = Json::array();
    for (const auto& [text, count] : column.missing) texts.push_back(text);
    out["missing"] = {{"texts", std::move(texts)}, {"value", nullptr}, {"indicator", true}};
  }
  return out;
}

/// The value that stands far from all others, as codes for "unknown" do: -9 or 999.
std::optional<std::string> far_value(const ColumnSurvey& column, const data::NumberForm& form) {
  constexpr std::size_t kLeastValues = 5;
  std::vector<std::pair<double, const std::string*>> values;
  for (const auto& [text, count] : column.values) {
    if (const std::optional<double> number = data::parse_number(text, form)) values.emplace_back(*number, &text);
  }
  if (values.size() < kLeastValues) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto& least = values[0];
  const auto& most = values[values.size() - 1];
  // Farther from its neighbour than half of what all others span.
  const double others_above = most.first - values[1].first;
  const double others_below = values[values.size() - 2].first - least.first;
  if (values[1].first - least.first > others_above / 2.0 && (least.first < 0.0) != (values[1].first < 0.0))
    return *least.second;
  if (most.first - values[values.size() - 2].first > others_below) return *most.second;
  return std::nullopt;
}

/// What the owner should look at in a column of numbers.
void remark_number(const ColumnSurvey& column, const data::CsvSurvey& survey, std::vector<std::string>& remarks) {
  const data::NumberForm& form = survey.dialect.numbers;
  const auto say = [&](const std::string& what) {
    remarks.push_back(fmt::format("column \"{}\": {}", column.name, what));
  };
  const std::int64_t numbers = column.numbers_in(form);
  if (numbers < column.cells) {
    std::string others;
    for (const auto& [text, count] : column.values) {
      if (!data::parse_number(text, form) && others.size() < 200)
        others += fmt::format("{}\"{}\" {}", others.empty() ? "" : ", ", text, count);
    }
    const std::string shown = others.empty() ? std::string("others") : others;
    say(column.limits > 0
            ? fmt::format(
                  "{} of {} cells are numbers, and {} say that a value is below or above a limit: write a number "
                  "in their place, which everybody may choose, such as the limit itself; not numbers: {}",
                  numbers, column.cells, column.limits, shown)
            : fmt::format("{} of {} cells are numbers, not: {}; mend them in the file, or list them in \"texts\" of "
                          "\"missing\" if everybody may know that they occur",
                          numbers, column.cells, shown));
  }
  const std::int64_t in_groups = form.decimal_comma ? column.one_group_points : column.one_group_commas;
  if (form.grouped && numbers > (form.decimal_comma ? column.comma_numbers : column.numbers))
    say(form.decimal_comma ? "12.345 is read as twelve thousand, since other numbers have a decimal comma"
                           : "12,345 is read as twelve thousand");
  const bool point = !form.decimal_comma && column.with_point > 0 && column.one_group_points == column.with_point;
  if (point && in_groups == 0)
    say("every point is followed by three digits, and is read as a decimal point: 12.345 is little more than twelve; "
        "if "
        "it is twelve thousand, --decimal comma says so");
  if (!column.many_values && column.values.size() <= kFewValues && column.with_point + column.with_comma == 0)
    say(fmt::format(
        "it has {} different values alone: if they are codes and no amounts, write \"categories\" in place of "
        "its bounds",
        column.values.size()));
  if (const std::optional<std::string> far = far_value(column, form))
    say(
        fmt::format("\"{}\" stands far from all other values: if it means that there is none, list it in \"texts\" of "
                    "\"missing\"",
                    *far));
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
  const std::string like = column.values.size() > kFewValues ? likeness(column) : "";
  if (like.find('9') < like.find('(') && column.zero_led == 0)
    remarks.push_back(
        fmt::format("column \"{}\"{}: if they are amounts, write them as numbers in the file", column.name, like));
  if (list.empty()) return nullptr;
  Json out = {{"column", column.name}, {"categories", std::move(list)}};
  if (rare > 0 || !column.missing.empty()) out["others_allowed"] = true;
  return out;
}

/// Whether the first line holds names, and not a title or a record: names become public.
Status check_header(const data::CsvSurvey& survey) {
  std::size_t blank = 0;
  std::size_t data = 0;
  for (const ColumnSurvey& column : survey.columns) {
    const std::string& name = column.name;
    blank += name.empty() ? 1 : 0;
    const std::optional<double> number = data::parse_number(name, survey.dialect.numbers);
    const bool year = number && name.size() == 4 && *number >= 1900.0 && *number <= 2100.0;
    const bool date =
        std::any_of(data::kDateForms.begin(), data::kDateForms.end(),
                    [&name](const data::DateForm& form) { return data::parse_date(name, form.format).has_value(); });
    data += (number && !year) || date ? 1 : 0;
  }
  const std::size_t columns = survey.columns.size();
  if (columns > 1 && 2 * blank > columns)
    return Error{
        ErrorCode::InvalidArgument,
        "the first line names fewer than half of the columns: it looks like a title; take what stands before the "
        "line of names out of the file"};
  if (2 * data > columns)
    return Error{ErrorCode::InvalidArgument,
                 "the first line looks like a record and not like names of columns, which would become public: write a "
                 "line of names before it"};
  return {};
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
    if (guessed.kind == Kind::Number) remark_number(column, survey, draft.remarks);
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
  UNDERTONE_TRY(check_header(survey));
  if (!survey.undecided.empty())
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("column \"{}\": every comma is followed by three digits, and no other column tells what that "
                    "means: --decimal point reads 12,345 as twelve thousand, --decimal comma as little more than "
                    "twelve",
                    survey.undecided)};
  SchemaDraft draft;
  draft.document["note"] = kNote;
  const data::CsvDialect& dialect = survey.dialect;
  if (dialect.separator != ',')
    draft.document["file"]["separator"] = dialect.separator == '\t'  ? std::string("tab")
                                          : dialect.separator == ' ' ? std::string("blank")
                                                                     : std::string(1, dialect.separator);
  if (dialect.numbers.decimal_comma) draft.document["file"]["decimal"] = "comma";
  if (dialect.numbers.grouped) draft.document["file"]["grouped"] = true;
  if (dialect.encoding != data::TextEncoding::Utf8) {
    draft.document["file"]["encoding"] = data::name_of(dialect.encoding);
    draft.remarks.push_back(
        fmt::format("the file is read as {}: see that names and categories are what they should be, "
                    "or say --encoding",
                    data::name_of(dialect.encoding)));
  }
  draft.document["data"]["label"] = nullptr;
  Json features = Json::array();
  const ColumnSurvey* target = nullptr;
  for (const ColumnSurvey& column : survey.columns) {
    if (!label.empty() && data::is_same_name(column.name, label)) {
      target = &column;
      continue;
    }
    const auto left_out = [&](const std::string& why) {
      draft.remarks.push_back(fmt::format("column \"{}\": left out, {}", column.name, why));
    };
    const Guess guessed = guess(column, survey);
    const auto twin = [&column](const ColumnSurvey& other) {
      return &other != &column && data::is_same_name(other.name, column.name);
    };
    if (column.name.empty() || guessed.kind == Kind::Empty) {
      left_out(column.name.empty() ? "it has no name" : "it holds nothing");
    } else if (std::any_of(survey.columns.begin(), survey.columns.end(), twin)) {
      left_out("another column has the same name: give each a name of its own");
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
      const std::string like = likeness(column);
      left_out(like.empty() ? "it holds too many different texts to be a category: names, identifiers or free text"
                            : "its cells are no numbers and no dates of a form that is read" + like);
    } else if (guessed.kind == Kind::Code) {
      left_out("its digits begin with zeros, which codes do and amounts do not, and there are too many to list");
    } else if (guessed.kind == Kind::Category) {
      if (Json made = categorical(column, draft.remarks); !made.is_null()) features.push_back(std::move(made));
    } else {
      features.push_back(numeric(column, guessed));
      std::int64_t missing = 0;
      for (const auto& [text, count] : column.missing) missing += count;
      draft.remarks.push_back(fmt::format("column \"{}\": {}{}", column.name,
                                          guessed.dates.empty() ? "a number"
                                          : guessed.is_ambiguous()
                                              ? "dates, MM/DD/YYYY or DD/MM/YYYY: no day in it tells which; write one"
                                              : fmt::format("dates {}", guessed.dates.front()->pattern),
                                          missing > 0 ? fmt::format(", missing {} times", missing) : ""));
      if (guessed.kind == Kind::Number) remark_number(column, survey, draft.remarks);
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
