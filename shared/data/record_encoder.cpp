#include "shared/data/record_encoder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fmt/ranges.h>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_survey.hpp"

namespace undertone::data {
namespace {

double scale(const NumericColumn& column, double value) {
  return 2.0 * (std::clamp(value, column.min, column.max) - column.min) / (column.max - column.min) - 1.0;
}

/// Digits only, so many and no other.
std::optional<int> digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

const char* pattern_of(DateFormat format) {
  switch (format) {
    case DateFormat::YearMonthDay:
      return "YYYY-MM-DD";
    case DateFormat::DayMonthYear:
      return "DD.MM.YYYY";
    case DateFormat::MonthDayYear:
      return "MM/DD/YYYY";
  }
  return "";
}

std::string expected_of(const NumericColumn& column, bool decimal_comma) {
  std::string out = column.date     ? fmt::format("a date {}", pattern_of(*column.date))
                    : decimal_comma ? "a finite number with a decimal comma"
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

}  // namespace

std::optional<double> parse_number(std::string_view text, bool decimal_comma) {
  std::array<char, 64> pointed{};
  if (decimal_comma && text.find(',') != std::string_view::npos) {
    if (text.size() > pointed.size() || text.find('.') != std::string_view::npos) return std::nullopt;
    std::replace_copy(text.begin(), text.end(), pointed.begin(), ',', '.');  // two of them are no number either
    text = {pointed.data(), text.size()};
  } else if (decimal_comma && text.find('.') != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> parse_date(std::string_view text, DateFormat format) {
  if (text.size() != 10) return std::nullopt;
  const bool year_first = format == DateFormat::YearMonthDay;
  const char mark = year_first ? '-' : format == DateFormat::DayMonthYear ? '.' : '/';
  const std::size_t first_mark = year_first ? 4 : 2;
  const std::size_t second_mark = year_first ? 7 : 5;
  if (text[first_mark] != mark || text[second_mark] != mark) return std::nullopt;
  const auto year = digits(year_first ? text.substr(0, 4) : text.substr(6, 4));
  const auto middle = digits(text.substr(first_mark + 1, 2));
  const auto outer = digits(year_first ? text.substr(8, 2) : text.substr(0, 2));
  if (!year || !middle || !outer || *year < 1) return std::nullopt;
  const int month = format == DateFormat::MonthDayYear ? *outer : *middle;
  const int day = format == DateFormat::MonthDayYear ? *middle : *outer;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::string show_date(double days, DateFormat format) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  const int year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const auto day = static_cast<unsigned>(date.day());
  switch (format) {
    case DateFormat::YearMonthDay:
      return fmt::format("{:04}-{:02}-{:02}", year, month, day);
    case DateFormat::DayMonthYear:
      return fmt::format("{:02}.{:02}.{:04}", day, month, year);
    case DateFormat::MonthDayYear:
      return fmt::format("{:02}/{:02}/{:04}", month, day, year);
  }
  return {};
}

namespace {

/// Says which columns of a file a schema does not name, where they are so few that one may be a column with a slip in
/// it.
std::string unnamed_columns(const std::vector<std::string>& header, const Schema& schema) {
  constexpr std::size_t kFew = 5;
  if (header.size() < 2) return {};
  std::vector<std::string> unnamed;
  for (const std::string& name : header) {
    const bool named = name == label_column(schema) ||
                       std::any_of(schema.features.begin(), schema.features.end(),
                                   [&name](const FeatureColumn& column) { return name_of(column) == name; });
    if (!named) unnamed.push_back(fmt::format("\"{}\"", plain_text(name)));
  }
  if (unnamed.empty() || unnamed.size() > kFew) return {};
  return fmt::format("; of the file's columns the schema does not name {}", fmt::join(unnamed, ", "));
}

}  // namespace

Result<RecordEncoder> RecordEncoder::create(const std::vector<std::string>& header, const Schema& schema,
                                            bool with_label, bool decimal_comma) {
  RecordEncoder out;
  out.decimal_comma_ = decimal_comma;
  out.fields_.resize(header.size());
  const auto take = [&](const std::string& name) -> Result<Field*> {
    const auto first = std::find(header.begin(), header.end(), name);
    if (first == header.end())
      return Error{ErrorCode::InvalidData,
                   fmt::format("the schema's column \"{}\" is missing{}", name, unnamed_columns(header, schema))};
    if (std::find(first + 1, header.end(), name) != header.end())
      return Error{ErrorCode::InvalidData, fmt::format("the column \"{}\" stands twice", name)};
    Field& field = out.fields_[static_cast<std::size_t>(first - header.begin())];
    if (field.kind != Kind::Skipped)
      return Error{ErrorCode::InvalidData, fmt::format("the schema uses the column \"{}\" twice", name)};
    field.facts = out.facts_.size();
    ColumnFacts facts;
    facts.name = name;
    out.facts_.push_back(std::move(facts));
    return &field;
  };
  const auto as_number = [decimal_comma](Field& field, Kind kind, const NumericColumn& column) {
    field.kind = kind;
    field.numeric = column;
    field.expected = expected_of(column, decimal_comma);
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

RecordEncoder::Expected RecordEncoder::encode_number(Field& field, std::string_view cell, double* features,
                                                     double& out) {
  ColumnFacts& facts = facts_[field.facts];
  const NumericColumn& column = field.numeric;
  if (column.missing &&
      std::find(column.missing->texts.begin(), column.missing->texts.end(), cell) != column.missing->texts.end()) {
    ++facts.missing;
    out = scale(column, column.missing->value);
    if (column.missing->indicator && features != nullptr) features[field.offset + 1] = 1.0;
    return nullptr;
  }
  const std::optional<double> value = column.date ? parse_date(cell, *column.date) : parse_number(cell, decimal_comma_);
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
