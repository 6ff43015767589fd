#include "shared/jobs/schema_section.hpp"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/record_encoder.hpp"
#include "shared/jobs/derived_section.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;
using data::CategoricalColumn;
using data::DateFormat;
using data::NumericColumn;

constexpr std::size_t kFeaturesMax = 100'000;
constexpr std::size_t kCategoriesMax = 10'000;
constexpr std::size_t kSensitiveMax = 16;  // columns
// What follows from a column's bounds, their squares, the products of several columns' widths and the inverses of all
// of them, is finite and not 0: up to the sixth power.
constexpr double kBoundMax = 1e50;
constexpr double kWidthMin = 1e-50;
double parse_date_bound(config::Section& section, const std::string& key, DateFormat format, const char* about) {
  const std::string text = section.text(key, about);
  const std::optional<double> days = data::parse_date(text, format);
  if (!days && !text.empty())
    section.problem(key, fmt::format("expected a date of the column's form, got \"{}\"", text));
  return days.value_or(0.0);
}

data::MissingRule parse_missing(config::Section section, const std::optional<DateFormat>& date) {
  data::MissingRule rule;
  rule.texts = section.texts("texts", "what stands for a missing value, e.g. [\"\", \"NA\"]", {1});
  rule.value =
      date && !section.recording()
          ? parse_date_bound(section, "value", *date, "a date in its place")
          : section.number("value", -kBoundMax, kBoundMax, "used in its place, in the column's unit; a date for dates");
  if (section.has("indicator"))
    rule.indicator =
        section.boolean("indicator", "adds a feature that is 1 where the value was missing (default false)");
  section.finish();
  return rule;
}

NumericColumn parse_numeric(config::Section& section) {
  NumericColumn column;
  column.name = section.text("column", "the column's name in the file's header");
  if (section.has("date")) {
    column.date = parse_date_format(
        section, "date", "the column holds dates of this form; min, max and missing.value are then dates too");
  }
  const char* about_min = "public lower bound; scaled to -1";
  const char* about_max = "public upper bound; scaled to 1";
  if (column.date && section.holds_text("min")) {
    column.min = parse_date_bound(section, "min", *column.date, about_min);
    column.max = parse_date_bound(section, "max", *column.date, about_max);
  } else {
    // Of dates these are days since 1970.
    column.min = section.number("min", column.date ? data::kDaysMin : -kBoundMax,
                                column.date ? data::kDaysMax : kBoundMax, about_min);
    column.max = section.number("max", column.date ? data::kDaysMin : -kBoundMax,
                                column.date ? data::kDaysMax : kBoundMax, about_max);
  }
  if (!(column.min < column.max)) {
    section.problem("max", fmt::format("expected more than min {}, got {}", column.min, column.max));
  } else if (!(column.max - column.min >= kWidthMin)) {
    section.problem("max", fmt::format("expected at least {} more than min {}, got {}: choose a larger unit", kWidthMin,
                                       column.min, column.max));
  }
  if (section.has("outside")) {
    column.outside = section.choice<data::Outside>(
        "outside", {{"clamp", data::Outside::Clamp}, {"refuse", data::Outside::Refuse}},
        "values outside the bounds are clamped and counted for the owner (default), or an error");
  }
  if (section.has("limits")) {
    column.limits = section.choice<data::Limits>(
        "limits", {{"refuse", data::Limits::Refuse}, {"bound", data::Limits::AsBounds}},
        "a cell such as <0.6 or >200 is an error (default), or counts as the limit that it names");
    if (column.date && column.limits != data::Limits::Refuse)
      section.problem("limits", "expected none: the column holds dates");
  }
  if (section.has("missing")) {
    column.missing = parse_missing(
        section.object("missing", "what is done with a missing value; without it one is an error"), column.date);
    // Clamped to a bound it would count as a value that nobody chose.
    if (const double value = column.missing->value;
        !section.recording() && column.min < column.max && !(value >= column.min && value <= column.max))
      section.problem("missing/value",
                      fmt::format("expected a value from min {} to max {}, got {}", column.min, column.max, value));
  }
  return column;
}

/// @param width of the features before it
CategoricalColumn parse_categorical(config::Section& section, const DerivedByName& all, std::size_t width) {
  CategoricalColumn column;
  column.name = section.text("column", "the column's name in the file's header");
  const char* about =
      "the public list of values; each becomes a feature in {0, 1}. \"all\": every value of a derived column";
  if (section.holds_text("categories")) {
    (void)section.one_of("categories", {"all"}, about);
    const data::DerivedColumn* const derived = all.find(column.name);
    const std::size_t count = derived == nullptr ? 0 : all.values(*derived).list.size();
    if (width + count > kFeaturesMax) {  // many short texts may mean many long lists
      section.problem("categories", fmt::format("expected at most {} encoded features in all", kFeaturesMax));
    } else if (count > 0) {
      column.categories = all.values(*derived).list;
    } else if (!section.recording())
      section.problem("categories", "expected a list: the values of this column are not known from the schema");
  } else {
    column.categories = section.texts("categories", about, {1, kCategoriesMax, true});
  }
  check_reads_list(section, all, column.name, "categories", column.categories);
  if (section.has("others_allowed")) {
    column.others_allowed = section.boolean(
        "others_allowed", "a value that is not listed sets no feature, instead of being an error (default false)");
  }
  return column;
}

data::SensitiveColumn parse_sensitive(config::Section& section) {
  data::SensitiveColumn column;
  column.name = section.text("column", "the column's name in the file's header");
  column.categories =
      section.texts("categories", "the public list of values; each is a group of its own but for what is merged",
                    {1, data::kGroupsMax, true});
  if (section.has("merged")) {
    std::set<std::string> taken;
    for (config::Section together :
         section.objects("merged", 0, data::kGroupsMax, "values that count as one group, list by list")) {
      column.merged.push_back(
          together.texts("values", "two or more of the categories, in no other list", {2, data::kGroupsMax, true}));
      for (const std::string& value : column.merged.back()) {
        const bool listed =
            std::find(column.categories.begin(), column.categories.end(), value) != column.categories.end();
        if (section.recording() || (listed && taken.insert(value).second)) continue;
        together.problem("values", fmt::format("expected categories of the column, each in one list, got \"{}\"",
                                               plain_text(value)));
        column.merged.pop_back();
        break;
      }
      together.finish();
    }
  }
  if (section.has("missing")) {
    column.missing = section.texts(
        "missing", "what is written where the value is not known; without it such a value is an error", {1});
    for (const std::string& text : column.missing)
      if (std::find(column.categories.begin(), column.categories.end(), text) != column.categories.end())
        section.problem("missing", fmt::format("\"{}\" is a category besides", plain_text(text)));
  }
  if (section.has("also_feature"))
    column.also_feature = section.boolean(
        "also_feature", "the column may be one of the features, too, so that models read it (default false)");
  return column;
}

void parse_sensitive_columns(config::Section& section, const DerivedByName& derived, data::Schema& schema) {
  if (!section.has("sensitive")) return;
  // What a feature or the label comes from, it tells, whatever it is called.
  const auto behind = [&schema](std::vector<std::string> columns) {
    std::set<std::string> out;
    for (const std::string& column : data::columns_behind(schema, std::move(columns)))
      out.insert(data::comparable_name(column));
    return out;
  };
  const auto meet = [](const std::set<std::string>& one, const std::set<std::string>& other) {
    return std::any_of(one.begin(), one.end(), [&other](const std::string& name) { return other.contains(name); });
  };
  std::vector<std::string> read;
  read.reserve(schema.features.size());
  for (const data::FeatureColumn& column : schema.features) read.push_back(data::name_of(column));
  const std::set<std::string> features = behind(std::move(read));
  const std::set<std::string> label = behind({data::label_column(schema)});
  std::set<std::string> names;
  for (config::Section sensitive :
       section.objects("sensitive", 1, kSensitiveMax,
                       "the columns that say which group a record is in, for fairness: no features, and not the label. "
                       "Of several columns every combination of their values is a group")) {
    schema.sensitive.push_back(parse_sensitive(sensitive));
    const data::SensitiveColumn& column = schema.sensitive.back();
    check_reads_list(sensitive, derived, column.name, "categories", column.categories);
    const std::string name = data::comparable_name(column.name);
    if (!names.insert(name).second) sensitive.problem("column", "stands twice");
    const std::set<std::string> own = behind({column.name});
    if (meet(own, label)) sensitive.problem("column", "is the label, or the label comes from what it comes from");
    if (meet(own, features) && !column.also_feature)
      sensitive.problem(
          "column",
          "is a feature, too, or a feature comes from what it comes from: models would read it. If that is "
          "meant, add \"also_feature\": true");
    sensitive.finish();
  }
  if (data::group_count(schema) > data::kGroupsMax)
    section.problem("sensitive", fmt::format("make more than {} groups together: merge some, or name fewer columns",
                                             data::kGroupsMax));
}

Json to_json(const data::SensitiveColumn& column) {
  Json out = {{"column", column.name}, {"categories", column.categories}};
  for (const std::vector<std::string>& together : column.merged) out["merged"].push_back({{"values", together}});
  if (!column.missing.empty()) out["missing"] = column.missing;
  if (column.also_feature) out["also_feature"] = true;
  return out;
}

Json to_json(const NumericColumn& column) {
  const auto shown = [&column](double value) -> Json {
    return column.date ? Json(data::show_date(value, *column.date)) : Json(value);
  };
  Json out = {{"column", column.name}};
  if (column.date) out["date"] = data::pattern_of(*column.date);
  out["min"] = shown(column.min);
  out["max"] = shown(column.max);
  if (column.outside == data::Outside::Refuse) out["outside"] = "refuse";
  if (column.limits == data::Limits::AsBounds) out["limits"] = "bound";
  if (column.missing) {
    out["missing"] = {{"texts", column.missing->texts},
                      {"value", shown(column.missing->value)},
                      {"indicator", column.missing->indicator}};
  }
  return out;
}

}  // namespace

data::Schema parse_schema(config::Section section) {
  data::Schema schema;
  schema.derived = parse_derived(section);
  const DerivedByName derived(schema.derived);
  config::Section label = section.object("label", "the target");
  const char* about_classes = "of softmax and network: the public list of values, in order";
  const config::TextCounts classes{2, kCategoriesMax, true};
  if (label.has("positive") || label.has("negative")) {
    const data::BinaryLabel binary{
        label.text("column", "the column's name; with min and max instead of negative and positive, a numeric target"),
        label.text("negative", "the value that counts as -1"), label.text("positive", "the value that counts as 1")};
    check_reads_list(label, derived, binary.column, "positive", {binary.negative, binary.positive});
    if (binary.negative == binary.positive) label.problem("positive", "expected a value other than the negative one");
    schema.label = binary;
    if (label.recording() && label.has("classes")) (void)label.texts("classes", about_classes, classes);
  } else if (label.has("classes")) {
    const data::ClassLabel several{label.text("column", "the column's name"),
                                   label.texts("classes", about_classes, classes)};
    check_reads_list(label, derived, several.column, "classes", several.classes);
    schema.label = several;
  } else {
    const data::NumericLabel number{parse_numeric(label)};
    check_reads_number(label, derived, number.column);
    schema.label = number;
  }
  label.finish();
  std::set<std::string> names = {data::label_column(schema)};
  std::size_t width = 0;
  for (config::Section feature : section.objects("features", 1, kFeaturesMax, "in this order")) {
    if (feature.has("categories")) {
      schema.features.emplace_back(parse_categorical(feature, derived, width));
      if (feature.recording()) (void)parse_numeric(feature);
    } else {
      NumericColumn column = parse_numeric(feature);
      check_reads_number(feature, derived, column);
      schema.features.emplace_back(std::move(column));
    }
    width += data::encoded_width(schema.features.back());
    if (!names.insert(data::name_of(schema.features.back())).second) feature.problem("column", "stands twice");
    feature.finish();
  }
  if (data::encoded_width(schema) > kFeaturesMax) {
    section.problem("features", fmt::format("expected at most {} encoded features, got {}", kFeaturesMax,
                                            data::encoded_width(schema)));
  }
  parse_sensitive_columns(section, derived, schema);
  section.finish();
  return schema;
}

Status check_bounds_said(const Json& data, const std::string& file) {
  std::vector<std::string> blank;
  const auto look = [&blank](const Json& column) {
    if (!column.is_object()) return;
    const auto is_blank = [](const Json& object, const char* key) {
      return object.contains(key) && object[key].is_null();
    };
    const bool missing =
        column.contains("missing") && column["missing"].is_object() && is_blank(column["missing"], "value");
    if (!is_blank(column, "min") && !is_blank(column, "max") && !missing) return;
    const Json name = column.value("column", Json());
    blank.push_back(fmt::format("\"{}\"", name.is_string() ? plain_text(name.get<std::string>()) : ""));
  };
  if (!data.is_object()) return {};
  if (data.contains("features") && data["features"].is_array()) {
    for (const Json& column : data["features"]) look(column);
  }
  if (data.contains("label")) look(data["label"]);
  if (blank.empty()) return {};
  constexpr std::size_t kNamed = 20;
  const std::size_t all = blank.size();
  if (all > kNamed) blank.resize(kNamed);
  return Error{ErrorCode::InvalidConfig,
               fmt::format("{}: what only you can say is still blank for {}{}: replace each null by what is plausible "
                           "in the world, known without the data, such as \"min\": 0, \"max\": 120 for an age in years",
                           file, fmt::join(blank, ", "),
                           all > kNamed ? fmt::format(" and {} more columns", all - kNamed) : std::string())};
}

Json to_json(const data::Schema& schema) {
  Json label;
  if (const auto* binary = std::get_if<data::BinaryLabel>(&schema.label)) {
    label = {{"column", binary->column}, {"negative", binary->negative}, {"positive", binary->positive}};
  } else if (const auto* several = std::get_if<data::ClassLabel>(&schema.label)) {
    label = {{"column", several->column}, {"classes", several->classes}};
  } else {
    label = to_json(std::get<data::NumericLabel>(schema.label).column);
  }
  Json features = Json::array();
  for (const data::FeatureColumn& column : schema.features) {
    if (const auto* numeric = std::get_if<NumericColumn>(&column)) {
      features.push_back(to_json(*numeric));
      continue;
    }
    const auto& categorical = std::get<CategoricalColumn>(column);
    features.push_back({{"column", categorical.name}, {"categories", categorical.categories}});
    if (categorical.others_allowed) features.back()["others_allowed"] = true;
  }
  Json out = {{"label", std::move(label)}, {"features", std::move(features)}};
  for (const data::SensitiveColumn& column : schema.sensitive) out["sensitive"].push_back(to_json(column));
  for (const data::DerivedColumn& column : schema.derived) out["derived"].push_back(to_json(column));
  return out;
}

}  // namespace undertone::jobs
