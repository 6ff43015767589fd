#include "shared/jobs/statistics_section.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace undertone::jobs {
namespace {

using algorithms::CountAsked;
using algorithms::MeanAsked;
using algorithms::StatisticAsked;

enum class Kind : std::uint8_t { Count, Mean, Missing };

/// A column of the schema, and its first coordinate of an encoded record.
struct Column {
  const data::FeatureColumn* feature = nullptr;  // null of the label
  std::size_t coordinate = 0;
};

std::optional<Column> find_column(const data::Schema& schema, const std::string& name) {
  std::size_t coordinate = 0;
  for (const data::FeatureColumn& feature : schema.features) {
    if (data::name_of(feature) == name) return Column{&feature, coordinate};
    coordinate += data::encoded_width(feature);
  }
  if (data::label_column(schema) == name) return Column{nullptr, coordinate};
  return std::nullopt;
}

/// The column if it is of numbers, a feature or the label.
const data::NumericColumn* numeric_of(const data::Schema& schema, const Column& column) {
  if (column.feature != nullptr) return std::get_if<data::NumericColumn>(column.feature);
  const auto* label = std::get_if<data::NumericLabel>(&schema.label);
  return label == nullptr ? nullptr : &label->column;
}

std::optional<std::size_t> place_of(const std::vector<std::string>& values, const std::string& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

/// A value's indicator; of a label its positive value's, and the records less that for the other.
std::optional<StatisticAsked> indicator_of(const data::Schema& schema, const Column& column, const std::string& value) {
  StatisticAsked asked{{}, column.coordinate, CountAsked{}};
  if (column.feature != nullptr) {
    const auto place = place_of(std::get<data::CategoricalColumn>(*column.feature).categories, value);
    if (!place) return std::nullopt;
    asked.coordinate += *place;
    return asked;
  }
  const auto& binary = std::get<data::BinaryLabel>(schema.label);
  if (value != binary.negative && value != binary.positive) return std::nullopt;
  asked.what = CountAsked{value == binary.negative};
  return asked;
}

/// @return nothing where a problem was noted
std::optional<StatisticAsked> parse_question(config::Section& section, const data::Schema& schema) {
  const auto kind = section.choice<Kind>(
      "kind", {{"count", Kind::Count}, {"mean", Kind::Mean}, {"missing", Kind::Missing}},
      "count: records with a value; mean: of a column of numbers, where the value used for a missing one counts; "
      "missing: records whose number was missing, of a column with an indicator");
  const std::string name = section.text("column", "a feature or the label, by its name in data");
  std::string value;
  if (section.recording() || kind == Kind::Count)
    value = section.text("value", "of count: one of the values that data lists for the column");
  section.finish();
  if (section.recording() || name.empty() || (kind == Kind::Count && value.empty())) return std::nullopt;
  const std::optional<Column> column = find_column(schema, name);
  if (!column) {
    section.problem("column", fmt::format("expected a feature or the label of data, got \"{}\"", name));
    return std::nullopt;
  }
  const data::NumericColumn* numeric = numeric_of(schema, *column);
  if (kind == Kind::Count) {
    if (numeric != nullptr) {
      section.problem("column", fmt::format("expected a column with listed values: \"{}\" has numbers, of which there "
                                            "is a mean",
                                            name));
      return std::nullopt;
    }
    if (column->feature == nullptr && std::holds_alternative<data::ClassLabel>(schema.label)) {
      section.problem("column",
                      fmt::format("expected a column with an indicator for each value: the classes of the "
                                  "label \"{}\" are one number; as a feature with categories they are counted",
                                  name));
      return std::nullopt;
    }
    std::optional<StatisticAsked> asked = indicator_of(schema, *column, value);
    if (!asked) {
      section.problem("value", fmt::format("expected a value that data lists for \"{}\", got \"{}\"", name, value));
      return std::nullopt;
    }
    asked->name = fmt::format("count of {}={}", name, value);
    return asked;
  }
  if (numeric == nullptr) {
    section.problem("column",
                    fmt::format("expected a column of numbers: \"{}\" has listed values, which are counted", name));
    return std::nullopt;
  }
  if (kind == Kind::Missing) {
    if (column->feature == nullptr || data::encoded_width(*column->feature) != 2) {
      section.problem("column", fmt::format("expected a feature with a missing indicator, and \"{}\" has none", name));
      return std::nullopt;
    }
    return StatisticAsked{fmt::format("count of {} missing", name), column->coordinate + 1, CountAsked{}};
  }
  return StatisticAsked{fmt::format("mean of {}{}", name, numeric->date ? ", in days since 1970-01-01" : ""),
                        column->coordinate, MeanAsked{numeric->min, numeric->max}};
}

}  // namespace

algorithms::StatisticsSettings parse_statistics(config::Section section, const data::Schema& schema) {
  algorithms::StatisticsSettings out;
  std::map<std::tuple<std::size_t, std::size_t, bool>, std::size_t> places;
  std::size_t place = 0;
  for (config::Section question : section.objects("questions", 1, algorithms::Statistics::kQuestionsMax,
                                                  "each a release of its own: they share the promise equally")) {
    std::optional<StatisticAsked> asked = parse_question(question, schema);
    if (asked) {
      const auto* count = std::get_if<CountAsked>(&asked->what);
      const auto [first, is_new] = places.emplace(
          std::tuple(asked->coordinate, asked->what.index(), count != nullptr && count->complement), place);
      if (!is_new) question.problem("column", fmt::format("question {} asks for the same", first->second));
      out.questions.push_back(*std::move(asked));
    }
    ++place;
  }
  section.finish();
  return out;
}

}  // namespace undertone::jobs
