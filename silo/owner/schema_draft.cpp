#include "silo/owner/schema_draft.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "shared/base/nearest_word.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/dates.hpp"

namespace undertone::silo {
namespace {

using Json = nlohmann::ordered_json;
using data::ColumnSurvey;

constexpr std::size_t kCategoriesDrafted = 100;
constexpr std::size_t kClassesDrafted = 20;
constexpr std::size_t kNameShown = 60;
constexpr const char* kDeriveTexts =
    ". If they are codes, such as diagnoses, the schema may derive a column of them: \"merge\" by a public list, or "
    "\"buckets\" by a public hash";
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

/// Nine of ten cells make a column what it is, and the others are to be mended.
bool mostly(std::int64_t count, const ColumnSurvey& column) { return 10 * count >= 9 * column.cells; }

/// The forms in which most cells are dates, and no others have more.
std::vector<const data::DateForm*> dates_of(const ColumnSurvey& column) {
  const std::int64_t most = *std::max_element(column.dates.begin(), column.dates.end());
  std::vector<const data::DateForm*> out;
  for (const data::DateForm& form : data::kDateForms) {
    const std::int64_t count = column.dates[static_cast<std::size_t>(form.format)];
    if (count == most && mostly(count, column)) out.push_back(&form);
  }
  return out;
}

/// Whether digits are codes: several begin with a zero.
bool has_codes(const ColumnSurvey& column) { return 20 * column.zero_led >= column.cells && column.zero_led > 0; }

Guess guess(const ColumnSurvey& column, const data::CsvSurvey& survey) {
  if (column.cells == 0) return {Kind::Empty, {}};
  const bool few = !column.many_values && column.values.size() <= 2;
  const auto forms = dates_of(column);
  const bool listed = !column.many_values && column.values.size() <= kCategoriesDrafted &&
                      (static_cast<std::int64_t>(column.values.size()) <= column.cells / 2 || few);
  // Eight digits are a day before they are a number.
  if (!forms.empty() && !few) return {Kind::Date, forms};
  const std::int64_t numbers = column.numbers_in(survey.dialect.numbers);
  const std::int64_t digits = std::max(column.numbers, numbers);
  if (2 * digits >= column.cells && has_codes(column)) return {listed ? Kind::Category : Kind::Code, {}};
  if (numbers == column.cells) return {few ? Kind::Category : Kind::Number, {}};
  if (numbers > 0 && mostly(numbers + column.limits, column) && !few) return {Kind::Number, {}};
  return {listed ? Kind::Category : Kind::Text, {}};
}

/// The form that most cells of a column of texts have; empty where there is none, or where it tells nothing: what
/// begins with a letter is a name.
std::string common_shape(const ColumnSurvey& column) {
  const auto most = std::max_element(column.shapes.begin(), column.shapes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool told = most != column.shapes.end() && 2 * most->second >= column.cells && most->first.front() != 'a';
  return told ? most->first : "";
}

/// Whether most cells have digits in them, as ids have.
bool has_digits(const ColumnSurvey& column) {
  std::int64_t with = 0;
  std::int64_t all = 0;
  for (const auto& [shape, count] : column.shapes) {
    all += count;
    with += shape.find('9') != std::string::npos ? count : 0;
  }
  return 2 * with > all;
}

/// Says what most cells of a column look like, and shows no value.
std::string likeness(const ColumnSurvey& column, const std::string& shape) {
  return fmt::format("{} of {} cells look like \"{}\" (9 stands for digits, a for letters)", column.shapes.at(shape),
                     column.cells, shape);
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
         ends("#") || ends("-nr") || ends(" nr") || ends("_nr") || ends("-nr.") || ends(" nr.") || ends("nummer");
}

/// Whether so few records have a value that a public list of values would tell of them.
bool is_rare(std::int64_t records) { return records < kCategoryRecordsMin; }

Json numeric(const ColumnSurvey& column, const Guess& guessed) {
  Json out = {{"column", column.name}};
  if (!guessed.dates.empty())
    out["date"] = guessed.is_ambiguous() ? Json(nullptr) : Json(guessed.dates.front()->pattern);
  out["min"] = nullptr;
  out["max"] = nullptr;
  if (!column.missing.empty()) {
    Json texts = Json::array();
    for (const auto& [text, count] : column.missing) {
      if (text.empty() || !is_rare(count)) texts.push_back(text);
    }
    if (!texts.empty()) out["missing"] = {{"texts", std::move(texts)}, {"value", nullptr}, {"indicator", true}};
  }
  return out;
}

/// Values that stand far from all others, as codes for "unknown" do: -9, or 998 and 999; the nearest end's. Empty where
/// there are none.
std::vector<double> far_values(const ColumnSurvey& column) {
  constexpr std::size_t kLeastValues = 4;
  if (column.least.size() < kLeastValues || column.greatest.size() < kLeastValues) return {};
  std::vector<double> low;
  for (const auto& [value, count] : column.least) low.push_back(value);
  std::vector<double> high;
  for (const auto& [value, count] : column.greatest) high.push_back(value);
  for (std::size_t codes = 1; codes <= 2; ++codes) {
    const double others = high.back() - low[codes];
    if (low[codes] - low[codes - 1] > others / 2.0 && low[codes - 1] < 0.0 && low[codes] >= 0.0)
      return {low.begin(), low.begin() + static_cast<std::ptrdiff_t>(codes)};
  }
  for (std::size_t codes = 1; codes <= 2; ++codes) {
    const std::size_t last = high.size() - 1 - codes;  // of the others
    if (high[last + 1] - high[last] > high[last] - low.front())
      return {high.end() - static_cast<std::ptrdiff_t>(codes), high.end()};
  }
  return {};
}

/// Cells that are not what their column is, with counts.
std::string odd_cells(const ColumnSurvey& column, const std::function<bool(const std::string&)>& is_odd) {
  constexpr std::size_t kShown = 200;
  std::string out;
  for (const auto* const cells : {&column.odd, &column.values}) {
    for (const auto& [text, count] : *cells) {
      if (out.size() < kShown && is_odd(text) && (cells == &column.odd || !column.odd.contains(text)))
        out += fmt::format("{}\"{}\" {}", out.empty() ? "" : ", ", text, count);
    }
  }
  return out.empty() ? "others" : out;
}

/// Whether every record has a whole number of its own, as far as can be seen.
bool may_number_records(const ColumnSurvey& column, const data::CsvSurvey& survey) {
  constexpr std::int64_t kFewRecords = 50;
  const auto once = [](const auto& value) { return value.second == 1; };
  const bool whole = column.shapes.size() == 1 && column.shapes.begin()->first == "9";
  return whole && column.cells == survey.records && survey.records > kFewRecords &&
         (column.many_values || static_cast<std::int64_t>(column.values.size()) == survey.records) &&
         std::all_of(column.least.begin(), column.least.end(), once) &&
         std::all_of(column.greatest.begin(), column.greatest.end(), once);
}

/// Tells the owner which cells of a column of dates are no dates.
void remark_dates(const ColumnSurvey& column, const data::DateForm& form, std::vector<std::string>& remarks) {
  const std::int64_t dates = column.dates[static_cast<std::size_t>(form.format)];
  if (dates == column.cells) return;
  const std::string others =
      odd_cells(column, [&form](const std::string& text) { return !data::parse_date(text, form.format).has_value(); });
  remarks.push_back(fmt::format("column \"{}\": {} of {} cells are dates, not: {}; mend them in the file", column.name,
                                dates, column.cells, others));
}

/// Tells the owner which cells of a column of numbers are none, and which numbers may mean something else.
void remark_number(const ColumnSurvey& column, const data::CsvSurvey& survey, bool is_label,
                   std::vector<std::string>& remarks) {
  const data::NumberForm& form = survey.dialect.numbers;
  const auto say = [&](const std::string& what) {
    remarks.push_back(fmt::format("column \"{}\": {}", column.name, what));
  };
  const std::int64_t numbers = column.numbers_in(form);
  if (numbers < column.cells) {
    const std::string others =
        odd_cells(column, [&form](const std::string& text) { return !data::parse_number(text, form).has_value(); });
    const std::string mend = is_label ? "mend them in the file"
                                      : "mend them in the file, or list them in \"texts\" of \"missing\" if everybody "
                                        "may know that they occur";
    say(column.limits > 0
            ? fmt::format(
                  "{} of {} cells are numbers, and {} say that a value is below or above a limit: \"limits\": "
                  "\"bound\" "
                  "in the schema counts each as the limit that it names; or list them in \"texts\" of \"missing\" if "
                  "everybody may know that they occur; not numbers: {}",
                  numbers, column.cells, column.limits, others)
            : fmt::format("{} of {} cells are numbers, not: {}; {}", numbers, column.cells, others, mend));
  }
  // Marks that are read in one way and might be meant in the other.
  if (form.decimal_comma && column.with_comma > 0 && column.one_group_commas == column.with_comma)
    say("12,345 is read as little more than twelve, since the file has decimal commas");
  if (form.decimal_comma && form.grouped && column.one_group_points > 0)
    say("12.345 is read as twelve thousand, since the file has decimal commas");
  if (!form.decimal_comma && form.grouped && column.grouped_numbers > column.numbers)
    say("12,345 is read as twelve thousand, since the file has decimal points");
  if (!form.decimal_comma && column.with_point > 0 && column.one_group_points == column.with_point)
    say("every point is followed by three digits, and is read as a decimal point: 12.345 is little more than twelve; "
        "if it is twelve thousand, draft again with --decimal comma");
  const char* list = is_label ? "classes" : "categories";
  if (!column.many_values && column.values.size() <= kFewValues && column.with_point + column.with_comma == 0)
    say(fmt::format("it has only {} different values: if they are codes, write \"{}\" in place of its bounds",
                    column.values.size(), list));
  if (column.zero_led > 0 && !has_codes(column))
    say(fmt::format("{} of its cells begin with a zero: if its digits are codes, write \"{}\" in place of its bounds",
                    column.zero_led, list));
  if (may_number_records(column, survey))
    say("it may number the records: if it does, take it out of the schema, since a number of a person tells who she "
        "is");
  std::string far;
  for (const double value : far_values(column)) far += fmt::format("{}{}", far.empty() ? "" : " and ", value);
  if (!far.empty())
    say(is_label ? fmt::format("{} stands far from all other values: is it a code for a label that is missing?", far)
                 : fmt::format("{} stands far from all other values: if it means that there is none, and everybody may "
                               "know that, list it in \"texts\" of \"missing\"",
                               far));
}

/// How many records hold what.
std::string counted(const ColumnSurvey& column) {
  std::string out;
  for (const auto& [value, count] : column.values)
    out += fmt::format("{}\"{}\" {}", out.empty() ? "" : ", ", value, count);
  return out;
}

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
  const std::string shape = column.values.size() > kFewValues && !has_codes(column) ? common_shape(column) : "";
  if (shape.find('9') != std::string::npos)
    remarks.push_back(fmt::format("column \"{}\": {}: if they are amounts, write them as numbers in the file",
                                  column.name, likeness(column, shape)));
  if (list.empty()) return nullptr;
  Json out = {{"column", column.name}, {"categories", std::move(list)}};
  if (rare > 0 || !column.missing.empty()) out["others_allowed"] = true;
  return out;
}

/// Whether the first line holds names, and not a title or a record: names become public.
Status check_header(const data::CsvSurvey& survey) {
  constexpr std::size_t kAscending = 3;  // numbers that are names: of wavelengths, of years, of positions
  std::size_t blank = 0;
  std::size_t values = 0;
  std::vector<double> numbers;
  for (const ColumnSurvey& column : survey.columns) {
    const std::string& name = column.name;
    blank += name.empty() ? 1 : 0;
    const std::optional<double> number = data::parse_number(name, survey.dialect.numbers);
    const bool date =
        std::any_of(data::kDateForms.begin(), data::kDateForms.end(),
                    [&name](const data::DateForm& form) { return data::parse_date(name, form.format).has_value(); });
    if (number) {
      numbers.push_back(*number);
    } else if (date || column.values.contains(name)) {  // a value that its column has
      ++values;
    }
  }
  const std::size_t columns = survey.columns.size();
  if (columns > 1 && 2 * blank > columns)
    return Error{
        ErrorCode::InvalidArgument,
        "the first line names fewer than half of the columns: it looks like a title; take what stands before the "
        "line of names out of the file"};
  const bool ascending =
      numbers.size() >= kAscending && std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>());
  if (2 * (values + (ascending ? 0 : numbers.size())) > columns)
    return Error{ErrorCode::InvalidArgument,
                 "the first line looks like a record and not like names of columns, which would become public: write a "
                 "line of names before it"};
  return {};
}

std::string said_of(const Guess& guessed) {
  if (guessed.dates.empty()) return "a number";
  if (guessed.is_ambiguous()) return "dates, MM/DD/YYYY or DD/MM/YYYY: no day in it tells which; write one";
  return fmt::format("dates {}", guessed.dates.front()->pattern);
}

/// Two dates of a record are worth less to a model than the time between them.
void remark_durations(const data::CsvSurvey& survey, std::vector<std::string>& remarks) {
  std::vector<const ColumnSurvey*> dated;
  for (const ColumnSurvey& column : survey.columns) {
    if (!column.name.empty() && guess(column, survey).kind == Kind::Date) dated.push_back(&column);
  }
  if (dated.size() < 2) return;
  const Guess first = guess(*dated[0], survey);
  const Json example = {{"column", "years"},
                        {"how", "years_between"},
                        {"from", {dated[0]->name, dated[1]->name}},
                        {"date", first.dates.front()->pattern}};
  remarks.push_back(
      fmt::format("{} columns hold dates: an age or a stay is derived from two of them, and is a column like others: "
                  "\"derived\": [{}] beside \"features\", with a feature \"years\" and its bounds",
                  dated.size(), example.dump()));
}

/// Whether a value of two most likely is the one that is looked for.
bool says_yes(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::array<std::string_view, 10> kYes = {"yes", "y", "ja", "j", "oui", "o", "si", "sim", "true", "tak"};
  return std::find(kYes.begin(), kYes.end(), value) != kYes.end();
}

Result<SchemaDraft> with_label(const data::CsvSurvey& survey, const ColumnSurvey& column, SchemaDraft draft) {
  Guess guessed = guess(column, survey);
  // A few texts among numbers may be classes of their own.
  const bool all_numbers = column.numbers_in(survey.dialect.numbers) == column.cells;
  if (guessed.kind == Kind::Number && !all_numbers && !column.many_values && column.values.size() <= kClassesDrafted)
    guessed.kind = Kind::Category;
  if (guessed.kind == Kind::Empty || (!column.many_values && column.values.size() < 2))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the label's column \"{}\" holds one value alone", column.name)};
  Json& label = draft.document["data"]["label"];
  if (guessed.kind == Kind::Number || guessed.kind == Kind::Date) {
    label = numeric(column, guessed);
    label.erase("missing");
    draft.remarks.push_back(fmt::format("label \"{}\": {}", column.name, said_of(guessed)));
    if (guessed.dates.empty()) {
      remark_number(column, survey, true, draft.remarks);
    } else {
      remark_dates(column, *guessed.dates.front(), draft.remarks);
    }
  } else if (column.many_values || column.values.size() > kClassesDrafted) {
    return Error{ErrorCode::InvalidArgument, fmt::format("the label's column \"{}\" holds more than {} different texts",
                                                         column.name, kClassesDrafted)};
  } else if (column.values.size() == 2) {
    const auto listed = [](const auto& value) { return is_rare(value.second) ? Json(nullptr) : Json(value.first); };
    const bool exchanged = says_yes(column.values.begin()->first) && !says_yes(std::next(column.values.begin())->first);
    const auto& first = exchanged ? *std::next(column.values.begin()) : *column.values.begin();
    const auto& second = exchanged ? *column.values.begin() : *std::next(column.values.begin());
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
  if (dialect.separator != ',') draft.document["file"]["separator"] = data::named(dialect.separator).name;
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
  std::vector<std::string> header;
  for (const ColumnSurvey& column : survey.columns) header.push_back(column.name);
  const data::ColumnNames known(header);
  for (const ColumnSurvey& column : survey.columns) {
    if (!label.empty() && data::is_same_name(column.name, label)) {
      target = &column;
      continue;
    }
    const auto left_out = [&](const std::string& why) {
      draft.remarks.push_back(fmt::format("column \"{}\": left out, {}", column.name, why));
    };
    const Guess guessed = guess(column, survey);
    if (column.name.empty() || guessed.kind == Kind::Empty) {
      left_out(column.name.empty() ? "it has no name" : "it holds nothing");
    } else if (known.count(column.name) > 1) {
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
      const std::string shape = common_shape(column);
      // Whoever has several rows has one id in all of them, whatever the column is called.
      const bool repeats = column.many_values || static_cast<std::int64_t>(column.values.size()) < column.cells;
      if (repeats && has_digits(column))
        draft.remarks.push_back(fmt::format(
            "column \"{}\": its values repeat: if they are ids of persons who have several rows, `dataset add "
            "--person \"{}\"` protects persons",
            column.name, column.name));
      left_out(
          shape.empty()
              ? std::string("it holds too many different texts to be a category: names, identifiers or free text") +
                    kDeriveTexts
              : "its cells are no numbers and no dates of a form that is read: " + likeness(column, shape));
    } else if (guessed.kind == Kind::Code) {
      left_out(std::string(
                   "its digits begin with zeros, which codes do and amounts do not, and there are too many to list") +
               kDeriveTexts);
    } else if (guessed.kind == Kind::Category) {
      if (Json made = categorical(column, draft.remarks); !made.is_null()) features.push_back(std::move(made));
    } else {
      features.push_back(numeric(column, guessed));
      std::int64_t missing = 0;
      for (const auto& [text, count] : column.missing) missing += count;
      draft.remarks.push_back(fmt::format("column \"{}\": {}{}", column.name, said_of(guessed),
                                          missing > 0 ? fmt::format(", missing {} times", missing) : ""));
      for (const auto& [text, count] : column.missing) {
        if (!text.empty() && is_rare(count))
          draft.remarks.push_back(fmt::format(
              "column \"{}\": \"{}\" means that there is none, and fewer than {} records have it, so that it is left "
              "out of \"texts\" of \"missing\", which is public: write it there if everybody may know it, or mend the "
              "file",
              column.name, text, kCategoryRecordsMin));
      }
      if (guessed.dates.empty()) {
        remark_number(column, survey, false, draft.remarks);
      } else {
        remark_dates(column, *guessed.dates.front(), draft.remarks);
      }
    }
  }
  draft.document["data"]["features"] = std::move(features);
  remark_durations(survey, draft.remarks);
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
                                                     plain_beginning(names.front(), kNameShown))
                             : meant.empty() ? std::string()
                                             : fmt::format("; do you mean \"{}\"?", meant);
    return Error{ErrorCode::InvalidArgument, fmt::format("the file has no column \"{}\" for the label{}", label, hint)};
  }
  return with_label(survey, *target, std::move(draft));
}

}  // namespace undertone::silo
