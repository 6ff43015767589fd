#include "shared/jobs/statistic_columns.hpp"

#include <algorithm>

#include "shared/base/nearest_word.hpp"

namespace undertone::jobs {
namespace {

using algorithms::CountAsked;
using algorithms::NumberColumn;
using algorithms::StatisticAsked;

std::optional<std::size_t> place_of(const std::vector<std::string>& values, const std::string& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

}  // namespace

ColumnIndex::ColumnIndex(const data::Schema& schema) : schema_(&schema) {
  std::size_t coordinate = 0;
  for (const data::FeatureColumn& feature : schema.features) {
    columns_.emplace(data::name_of(feature), Column{&feature, coordinate});
    coordinate += data::encoded_width(feature);
  }
  columns_.emplace(data::label_column(schema), Column{nullptr, coordinate});
}

std::optional<Column> ColumnIndex::find(const std::string& name) const {
  const auto found = columns_.find(name);
  if (found == columns_.end()) return std::nullopt;
  return found->second;
}

std::string ColumnIndex::nearest(const std::string& name) const {
  constexpr std::size_t kNamedMax = 8;
  if (++looked_for_ > kNamedMax) return {};
  std::vector<std::string> names{std::string(data::label_column(*schema_))};
  for (const data::FeatureColumn& feature : schema_->features) names.emplace_back(data::name_of(feature));
  return nearest_word(name, names);
}

const data::NumericColumn* numeric_of(const ColumnIndex& known, const Column& column) {
  if (column.feature != nullptr) return std::get_if<data::NumericColumn>(column.feature);
  const auto* label = std::get_if<data::NumericLabel>(&known.schema().label);
  return label == nullptr ? nullptr : &label->column;
}

std::optional<StatisticAsked> indicator_of(const ColumnIndex& known, const Column& column, const std::string& value) {
  StatisticAsked asked{{}, column.coordinate, CountAsked{}};
  if (column.feature != nullptr) {
    const auto place = place_of(std::get<data::CategoricalColumn>(*column.feature).categories, value);
    if (!place) return std::nullopt;
    asked.coordinate += *place;
    return asked;
  }
  const auto& binary = std::get<data::BinaryLabel>(known.schema().label);
  if (value != binary.negative && value != binary.positive) return std::nullopt;
  asked.what = CountAsked{value == binary.negative};
  return asked;
}

std::optional<Column> named_column(config::Section& section, const char* key, const ColumnIndex& known,
                                   const std::string& name) {
  std::optional<Column> column = known.find(name);
  if (!column) {
    const std::string meant = known.nearest(name);
    section.problem(key, fmt::format("expected a feature or the label of data, got \"{}\"{}", name,
                                     meant.empty() ? "" : fmt::format("; do you mean \"{}\"?", meant)));
  }
  return column;
}

std::optional<NumberColumn> number_column(config::Section& section, const char* key, const ColumnIndex& known,
                                          const std::string& name) {
  const std::optional<Column> column = named_column(section, key, known, name);
  if (!column) return std::nullopt;
  const data::NumericColumn* numeric = numeric_of(known, *column);
  if (numeric == nullptr) {
    section.problem(key,
                    fmt::format("expected a column of numbers: \"{}\" has listed values, which are counted", name));
    return std::nullopt;
  }
  return NumberColumn{name, column->coordinate, numeric->min, numeric->max};
}

std::optional<NumberColumn> response_column(config::Section& section, const char* key, const ColumnIndex& known,
                                            const std::string& name) {
  const std::optional<Column> column = named_column(section, key, known, name);
  if (!column) return std::nullopt;
  if (column->feature == nullptr && std::holds_alternative<data::BinaryLabel>(known.schema().label))
    return NumberColumn{name, column->coordinate, -1.0, 1.0};
  return number_column(section, key, known, name);
}

std::optional<algorithms::TableAxis> table_axis(config::Section& section, const char* key, const ColumnIndex& known,
                                                const std::string& name) {
  const std::optional<Column> column = named_column(section, key, known, name);
  if (!column) return std::nullopt;
  if (numeric_of(known, *column) != nullptr) {
    section.problem(key, fmt::format("expected a column with listed values: \"{}\" has numbers, of which there is a "
                                     "histogram",
                                     name));
    return std::nullopt;
  }
  if (column->feature != nullptr) {
    const auto& listed = std::get<data::CategoricalColumn>(*column->feature);
    return algorithms::TableAxis{name, listed.categories,
                                 statistics::IndicatorCells{column->coordinate, listed.categories.size()},
                                 !listed.others_allowed};
  }
  if (const auto* classes = std::get_if<data::ClassLabel>(&known.schema().label)) {
    return algorithms::TableAxis{name, classes->classes,
                                 statistics::ClassCells{column->coordinate, classes->classes.size()}};
  }
  const auto& binary = std::get<data::BinaryLabel>(known.schema().label);
  return algorithms::TableAxis{name, {binary.negative, binary.positive}, statistics::SignCells{column->coordinate}};
}

}  // namespace undertone::jobs
