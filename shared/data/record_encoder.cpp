#include "shared/data/record_encoder.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/csv_survey.hpp"

namespace undertone::data {
namespace {

double scale(const NumericColumn& column, double value) {
  return 2.0 * (std::clamp(value, column.min, column.max) - column.min) / (column.max - column.min) - 1.0;
}

std::string expected_of(const NumericColumn& column, const NumberForm& numbers) {
  std::string out = column.date             ? fmt::format("a date {}", pattern_of(*column.date))
                    : numbers.decimal_comma ? "a finite number with a decimal comma"
                                            : "a finite number";
  if (column.missing) out += " or a text that means missing";
  return out;
}

/// Whether a cell that is no number is most likely there because there was none.
bool looks_missing(std::string_view cell) {
  const std::vector<std::string>& texts = missing_texts();
  const std::size_t first = cell.find_first_not_of(' ');
  const std::string_view text =
      first == std::string_view::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first);
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string listed(const std::vector<std::string>& values) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 8); ++i)
    out += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", values[i]);
  return values.size() > 8 ? fmt::format("one of {} listed values ({}, ...)", values.size(), out) : "one of " + out;
}

/// Says which columns of a file a schema does not name, where they are so few that one may be a column with a slip in
/// it.
std::string unnamed_columns(const std::vector<std::string>& header, const Schema& schema) {
  constexpr std::size_t kFew = 5;
  if (header.size() < 2) return {};
  std::vector<std::string> names{label_column(schema)};
  for (const FeatureColumn& column : schema.features) names.push_back(name_of(column));
  const ColumnNames known(names);
  std::vector<std::string> unnamed;
  for (const std::string& name : header) {
    if (known.count(name) == 0) unnamed.push_back(fmt::format("\"{}\"", plain_text(name)));
  }
  if (unnamed.empty() || unnamed.size() > kFew) return {};
  return fmt::format("; of the file's columns the schema does not name {}", fmt::join(unnamed, ", "));
}

}  // namespace

Result<RecordEncoder> RecordEncoder::create(const std::vector<std::string>& header, const Schema& schema,
                                            bool with_label, const NumberForm& numbers) {
  RecordEncoder out;
  out.numbers_ = numbers;
  out.fields_.resize(header.size());
  const ColumnNames names(header);
  const auto take = [&](const std::string& name) -> Result<Field*> {
    const std::optional<std::size_t> first = names.find(name);
    if (!first)
      return Error{ErrorCode::InvalidData,
                   fmt::format("the schema's column \"{}\" is missing{}", name, unnamed_columns(header, schema))};
    if (names.count(name) > 1)
      return Error{ErrorCode::InvalidData, fmt::format("the column \"{}\" stands twice", name)};
    Field& field = out.fields_[*first];
    if (field.kind != Kind::Skipped)
      return Error{ErrorCode::InvalidData, fmt::format("the schema uses the column \"{}\" twice", name)};
    field.facts = out.facts_.size();
    ColumnFacts facts;
    facts.name = name;
    out.facts_.push_back(std::move(facts));
    return &field;
  };
  const auto as_number = [&numbers](Field& field, Kind kind, const NumericColumn& column) {
    field.kind = kind;
    field.numeric = column;
    field.expected = expected_of(column, numbers);
    field.expected_inside = column.date ? fmt::format("a date from {} to {}", show_date(column.min, *column.date),
                                                      show_date(column.max, *column.date))
                                        : fmt::format("a number from {} to {}", column.min, column.max);
    field.expected_declared = field.expected +
                              "; for values that are missing the schema's column needs \"missing\": how they are "
                              "written and what stands for them";
  };
  const auto as_list = [&out](Field& field, Kind kind, const std::vector<std::string>& values) {
    field.kind = kind;
    field.expected = listed(values);
    for (std::size_t i = 0; i < values.size(); ++i) field.values.emplace(values[i], i);
    out.facts_[field.facts].counts.resize(values.size());
  };
  for (const FeatureColumn& column : schema.features) {
    UNDERTONE_TRY(Field* const field, take(name_of(column)));
    field->offset = out.width_;
    out.width_ += encoded_width(column);
    if (const auto* numeric = std::get_if<NumericColumn>(&column)) {
      as_number(*field, Kind::Number, *numeric);
    } else {
      const auto& categorical = std::get<CategoricalColumn>(column);
      as_list(*field, Kind::Category, categorical.categories);
      field->others_allowed = categorical.others_allowed;
    }
  }
  if (!with_label) return out;
  UNDERTONE_TRY(Field* const label, take(label_column(schema)));
  if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) {
    as_list(*label, Kind::BinaryTarget, {binary->negative, binary->positive});
  } else if (const auto* classes = std::get_if<ClassLabel>(&schema.label)) {
    as_list(*label, Kind::ClassTarget, classes->classes);
  } else {
    as_number(*label, Kind::NumericTarget, std::get<NumericLabel>(schema.label).column);
  }
  return out;
}

void RecordEncoder::put_missing(const Field& field, double* features, double& out) {
  const NumericColumn& column = field.numeric;
  ++facts_[field.facts].missing;
  out = scale(column, column.missing->value);
  if (column.missing->indicator && features != nullptr) features[field.offset + 1] = 1.0;
}

RecordEncoder::Expected RecordEncoder::encode_missing(std::size_t column, double* features, double& target) {
  const Field& field = fields_[column];
  if (field.kind != Kind::Number && field.kind != Kind::NumericTarget) return encode(column, "", features, target);
  if (!field.numeric.missing) return &field.expected_declared;
  if (field.kind == Kind::Number) {
    put_missing(field, features, features[field.offset]);
  } else {
    put_missing(field, nullptr, target);
  }
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode_number(Field& field, std::string_view cell, double* features,
                                                     double& out) {
  ColumnFacts& facts = facts_[field.facts];
  const NumericColumn& column = field.numeric;
  if (column.missing &&
      std::find(column.missing->texts.begin(), column.missing->texts.end(), cell) != column.missing->texts.end()) {
    put_missing(field, features, out);
    return nullptr;
  }
  const std::optional<double> value = column.date ? parse_date(cell, *column.date) : parse_number(cell, numbers_);
  if (!value) return !column.missing && looks_missing(cell) ? &field.expected_declared : &field.expected;
  facts.least = std::min(facts.least, *value);
  facts.most = std::max(facts.most, *value);
  if (*value < column.min || *value > column.max) {
    if (column.outside == Outside::Refuse) return &field.expected_inside;
    ++facts.clamped;
  }
  out = scale(column, *value);
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode(std::size_t column, std::string_view cell, double* features,
                                              double& target) {
  Field& field = fields_[column];
  switch (field.kind) {
    case Kind::Skipped:
      return nullptr;
    case Kind::Number:
      return encode_number(field, cell, features, features[field.offset]);
    case Kind::NumericTarget:
      return encode_number(field, cell, nullptr, target);
    case Kind::Category:
    case Kind::BinaryTarget:
    case Kind::ClassTarget: {
      const auto found = field.values.find(cell);
      if (found == field.values.end()) {
        if (!field.others_allowed) return &field.expected;
        ++facts_[field.facts].clamped;
        return nullptr;
      }
      ++facts_[field.facts].counts[found->second];
      if (field.kind == Kind::Category) {
        features[field.offset + found->second] = 1.0;
      } else if (field.kind == Kind::ClassTarget) {
        target = static_cast<double>(found->second);
      } else {
        target = found->second == 1 ? 1.0 : -1.0;
      }
      return nullptr;
    }
  }
  return nullptr;
}

}  // namespace undertone::data
