#include "shared/data/record_encoder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>

#include "shared/base/overloaded.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/csv_survey.hpp"
#include "shared/data/text_encoding.hpp"

namespace undertone::data {
namespace {

std::string expected_of(const NumericColumn& column, const NumberForm& numbers) {
  std::string out = column.date             ? fmt::format("a date {}", pattern_of(*column.date))
                    : numbers.decimal_comma ? "a finite number with a decimal comma"
                                            : "a finite number";
  if (column.limits == Limits::AsBounds) out += ", a limit such as <0.6";
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
  const ColumnNames known(columns_of_file(schema));
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
  out.fields_.resize(header.size() + schema.derived.size());
  out.sensitive_.resize(header.size() + schema.derived.size());
  const ColumnNames names(header);
  std::vector<std::string> derived_names;
  for (const DerivedColumn& column : schema.derived) derived_names.push_back(column.name);
  const ColumnNames derived(derived_names);
  std::vector<bool> wanted(schema.derived.size(), false);
  const auto place_of = [&](const std::string& name) -> Result<std::size_t> {
    if (const std::optional<std::size_t> made = derived.find(name)) {
      wanted[*made] = true;
      return header.size() + *made;
    }
    const std::optional<std::size_t> first = names.find(name);
    if (!first)
      return Error{ErrorCode::InvalidData,
                   fmt::format("the schema's column \"{}\" is missing{}", name, unnamed_columns(header, schema))};
    if (names.count(name) > 1)
      return Error{ErrorCode::InvalidData, fmt::format("the column \"{}\" stands twice", name)};
    return *first;
  };
  const auto add_facts = [&](const std::string& name) {
    ColumnFacts facts;
    facts.name = name;
    out.facts_.push_back(std::move(facts));
    return out.facts_.size() - 1;
  };
  const auto take = [&](const std::string& name) -> Result<Field*> {
    UNDERTONE_TRY(const std::size_t place, place_of(name));
    Field& field = out.fields_[place];
    if (field.kind != Kind::Skipped)
      return Error{ErrorCode::InvalidData, fmt::format("the schema uses the column \"{}\" twice", name)};
    field.facts = add_facts(name);
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
    field->width = encoded_width(column);
    out.width_ += field->width;
    if (const auto* numeric = std::get_if<NumericColumn>(&column)) {
      as_number(*field, Kind::Number, *numeric);
    } else {
      const auto& categorical = std::get<CategoricalColumn>(column);
      as_list(*field, Kind::Category, categorical.categories);
      field->others_allowed = categorical.others_allowed;
    }
  }
  const auto with_derived = [&]() -> Result<RecordEncoder> {
    for (std::size_t i = 0; i < schema.derived.size(); ++i) {
      if (wanted[i]) out.say_derived(header.size() + i, schema.derived[i].name);
    }
    UNDERTONE_TRY(out.derivations_, Derivations::create(header, schema.derived, std::move(wanted), numbers));
    for (std::size_t i = 0; i < header.size(); ++i) {
      Field& field = out.fields_[i];
      field.has_common = (field.kind == Kind::Number || field.kind == Kind::NumericTarget) && !field.numeric.date &&
                         !numbers.decimal_comma && !out.number_may_be_missing(field.numeric) &&
                         out.sensitive_[i].step == 0 && !out.derivations_.reads(i);
    }
    return std::move(out);
  };
  if (!with_label) return with_derived();
  UNDERTONE_TRY(Field* const label, take(label_column(schema)));
  if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) {
    as_list(*label, Kind::BinaryTarget, {binary->negative, binary->positive});
  } else if (const auto* classes = std::get_if<ClassLabel>(&schema.label)) {
    as_list(*label, Kind::ClassTarget, classes->classes);
  } else {
    as_number(*label, Kind::NumericTarget, std::get<NumericLabel>(schema.label).column);
  }
  // From the last column to the first, so that each knows how many groups those after it make.
  auto step = static_cast<std::int32_t>(1);
  for (auto column = schema.sensitive.rbegin(); column != schema.sensitive.rend(); ++column) {
    UNDERTONE_TRY(const std::size_t place, place_of(column->name));
    Sensitive& own = out.sensitive_[place];
    ColumnGroups groups = groups_of(*column);
    if (own.step != 0 || (out.fields_[place].kind != Kind::Skipped && !column->also_feature))
      return Error{ErrorCode::InvalidData,
                   fmt::format("the schema uses the sensitive column \"{}\" for something else besides", column->name)};
    own.step = step;
    own.facts = add_facts(column->name);
    own.expected = listed(column->categories);
    own.missing = column->missing;
    for (std::size_t i = 0; i < column->categories.size(); ++i) own.values.emplace(column->categories[i], i);
    out.facts_[own.facts].counts.resize(column->categories.size());
    step *= static_cast<std::int32_t>(groups.names.size());
    own.groups = std::move(groups.of_values);
    out.groups_ = true;
  }
  return with_derived();
}

void RecordEncoder::say_derived(std::size_t column, const std::string& name) {
  const std::string of = fmt::format(" in the derived column \"{}\"", plain_text(name));
  Field& field = fields_[column];
  for (std::string* const expected : {&field.expected, &field.expected_inside, &sensitive_[column].expected})
    *expected += of;
  field.expected_declared = fmt::format(
      "a value of what the schema derives \"{}\" from; for values that are missing that feature needs \"missing\"",
      plain_text(name));
}

RecordEncoder::Row RecordEncoder::row_of(models::Records& records, Eigen::Index row) {
  return {records.features.col(row).data(), &records.targets[row],
          records.groups.empty() ? nullptr : &records.groups[static_cast<std::size_t>(row)]};
}

void RecordEncoder::put_missing(const Field& field, std::int64_t times, PackedEncoding::Put& put) {
  const NumericColumn& column = field.numeric;
  facts_[field.facts].missing += times;
  put.value = scaled(column, column.missing->value);
  put.indicator = column.missing->indicator && field.kind == Kind::Number;
}

RecordEncoder::Expected RecordEncoder::derive(std::size_t column, std::optional<std::string_view> cell,
                                              const Row& row) {
  if (const Expected expected = derivations_.take(column, cell); expected != nullptr) return expected;
  for (const Derivations::Made& made : derivations_.made()) {
    const auto as_number = [&](double value) -> Expected {
      Field& field = fields_[made.column];
      std::array<char, 32> digits{};  // of a list of whole numbers, such as months
      const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
      const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
      if (const Sensitive& sensitive = sensitive_[made.column]; sensitive.step != 0) {
        const Expected expected = encode_group(sensitive, text, facts_[sensitive.facts], *row.group);
        if (expected != nullptr) return expected;
      }
      if (field.kind == Kind::Number) return put_number(field, value, row.features[field.offset]);
      if (field.kind == Kind::NumericTarget) return put_number(field, value, *row.target);
      return encode_field(field, text, row);
    };
    const Expected expected =
        std::visit(Overloaded{[&](std::monostate) { return encode_own_missing(made.column, row); }, as_number,
                              [&](std::string_view text) { return encode_own(made.column, text, row); }},
                   made.cell);
    if (expected != nullptr) return expected;
  }
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode_missing(std::size_t column, const Row& row) {
  const Expected expected = encode_own_missing(column, row);
  const Expected derived = derivations_.reads(column) ? derive(column, std::nullopt, row) : nullptr;
  return expected != nullptr ? expected : derived;
}

RecordEncoder::Expected RecordEncoder::encode_own_missing(std::size_t column, const Row& row) {
  Field& field = fields_[column];
  if (const Sensitive& sensitive = sensitive_[column]; sensitive.step != 0) {
    // It is read as a file that has a text for what is not known would write it.
    const std::string_view nothing = sensitive.missing.empty() ? "" : std::string_view(sensitive.missing.front());
    if (Expected expected = encode_group(sensitive, nothing, facts_[sensitive.facts], *row.group); expected != nullptr)
      return expected;
  }
  PackedEncoding::Put put;
  const Expected expected = encode_nothing(field, 1, put);
  if (expected == nullptr) put_into(field, put, row);
  return expected;
}

RecordEncoder::Expected RecordEncoder::encode_nothing(Field& field, std::int64_t times, PackedEncoding::Put& put) {
  if (field.kind != Kind::Number && field.kind != Kind::NumericTarget) return encode_cell(field, "", times, put);
  if (!field.numeric.missing) return &field.expected_declared;
  put_missing(field, times, put);
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode_number(Field& field, std::string_view cell, std::int64_t times,
                                                     PackedEncoding::Put& put) {
  const NumericColumn& column = field.numeric;
  if (column.missing &&
      std::find(column.missing->texts.begin(), column.missing->texts.end(), cell) != column.missing->texts.end()) {
    put_missing(field, times, put);
    return nullptr;
  }
  std::optional<double> value = column.date ? parse_date(cell, *column.date) : parse_number(cell, numbers_);
  if (!value && column.limits == Limits::AsBounds) value = parse_limit(cell, numbers_);
  if (!value) return !column.missing && looks_missing(cell) ? &field.expected_declared : &field.expected;
  return put_number(field, *value, put.value, times);
}

RecordEncoder::Expected RecordEncoder::put_number(Field& field, double value, double& out, std::int64_t times) {
  ColumnFacts& facts = facts_[field.facts];
  const NumericColumn& column = field.numeric;
  facts.least = std::min(facts.least, value);
  facts.most = std::max(facts.most, value);
  if (value < column.min || value > column.max) {
    if (column.outside == Outside::Refuse) return &field.expected_inside;
    facts.clamped += times;
  }
  out = scaled(column, value);
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode_group(const Sensitive& sensitive, std::string_view cell,
                                                    ColumnFacts& facts, std::int32_t& group) {
  const auto found = sensitive.values.find(cell);
  if (found == sensitive.values.end()) {
    if (std::find(sensitive.missing.begin(), sensitive.missing.end(), cell) == sensitive.missing.end())
      return &sensitive.expected;
    ++facts.missing;
    group = models::Records::kUnknownGroup;
    return nullptr;
  }
  ++facts.counts[found->second];
  // Where one of the columns is not known, neither is the group.
  if (group != models::Records::kUnknownGroup)
    group += sensitive.step * static_cast<std::int32_t>(sensitive.groups[found->second]);
  return nullptr;
}

RecordEncoder::Expected RecordEncoder::encode(std::size_t column, std::string_view cell, const Row& row) {
  const Expected expected = encode_own(column, cell, row);
  const Expected derived = derivations_.reads(column) ? derive(column, cell, row) : nullptr;
  return expected != nullptr ? expected : derived;
}

RecordEncoder::Expected RecordEncoder::encode_own(std::size_t column, std::string_view cell, const Row& row) {
  if (const Sensitive& sensitive = sensitive_[column]; sensitive.step != 0) {
    if (Expected expected = encode_group(sensitive, cell, facts_[sensitive.facts], *row.group); expected != nullptr)
      return expected;
  }
  return encode_field(fields_[column], cell, row);
}

RecordEncoder::Expected RecordEncoder::encode_field(Field& field, std::string_view cell, const Row& row) {
  PackedEncoding::Put put;
  const Expected expected = encode_cell(field, cell, 1, put);
  if (expected == nullptr) put_into(field, put, row);
  return expected;
}

void RecordEncoder::put_into(const Field& field, const PackedEncoding::Put& put, const Row& row) {
  if (field.kind == Kind::Skipped) return;
  if (field.kind != Kind::Number && field.kind != Kind::Category) {
    *row.target = put.value;
    return;
  }
  row.features[field.offset + put.place] = put.value;
  if (put.indicator) row.features[field.offset + 1] = 1.0;
}

RecordEncoder::Expected RecordEncoder::encode_cell(Field& field, std::string_view cell, std::int64_t times,
                                                   PackedEncoding::Put& put) {
  switch (field.kind) {
    case Kind::Skipped:
      return nullptr;
    case Kind::Number:
    case Kind::NumericTarget:
      return encode_number(field, cell, times, put);
    case Kind::Category:
    case Kind::BinaryTarget:
    case Kind::ClassTarget:
      break;
  }
  const auto found = field.values.find(cell);
  if (found == field.values.end()) {
    if (!field.others_allowed) return &field.expected;
    facts_[field.facts].clamped += times;  // no indicator is set
    return nullptr;
  }
  const std::size_t place = found->second;
  facts_[field.facts].counts[place] += times;
  if (field.kind == Kind::Category) {
    put.place = static_cast<std::uint32_t>(place);
    put.value = 1.0;
  } else if (field.kind == Kind::ClassTarget) {
    put.value = static_cast<double>(place);
  } else {
    put.value = place == 1 ? 1.0 : -1.0;
  }
  return nullptr;
}

std::optional<PackedEncoding> RecordEncoder::encode_packed(std::size_t column, const PackedCells& cells) {
  constexpr std::uint64_t kSmall = 1024;  // so many numbers may always be looked up
  constexpr std::uint64_t kFew = 4;     // cells for each number that a table of more has, so that a block's tables stay
                                        // in proportion to the block
  constexpr std::uint64_t kAlike = 32;  // cells for each number, from which on looking it up is faster
  Field& field = fields_[column];
  if (sensitive_[column].step != 0 || derivations_.reads(column)) return std::nullopt;
  if (field.kind == Kind::Skipped) return PackedEncoding();
  std::optional<PackedEncoding> out;
  if (cells.decimals && cells.largest() > cells.rows() / kAlike) out = encode_decimals(field, cells);
  if (!out && (!cells.decimals || cells.largest() <= std::max(kSmall, cells.rows() / kFew)))
    out = encode_each(field, cells);
  return out;
}

std::optional<PackedEncoding> RecordEncoder::encode_each(Field& field, const PackedCells& cells) {
  std::vector<std::int64_t> times(cells.largest() + 1);
  each_value(cells, 0, cells.rows(), [&times](std::size_t, std::uint64_t value) { ++times[value]; });
  std::vector<PackedEncoding::Put> puts(times.size());
  PackedTexts texts(numbers_.decimal_comma ? ',' : '.');
  for (std::uint64_t value = 0; value < times.size(); ++value) {
    if (times[value] == 0) continue;
    const bool nothing = value == cells.nothing();
    const std::string_view text = nothing ? "" : texts.of(cells, value);
    if (!is_utf8(text)) return std::nullopt;
    const Expected expected = nothing ? encode_nothing(field, times[value], puts[value])
                                      : encode_cell(field, text, times[value], puts[value]);
    if (expected != nullptr) return std::nullopt;
  }
  const bool indicates = field.kind == Kind::Number && field.numeric.missing && field.numeric.missing->indicator;
  return PackedEncoding(std::move(puts), indicates);
}

bool RecordEncoder::number_may_be_missing(const NumericColumn& column) const {
  const auto is_number = [this](const std::string& text) { return parse_number(text, numbers_).has_value(); };
  return column.missing && std::any_of(column.missing->texts.begin(), column.missing->texts.end(), is_number);
}

std::optional<PackedEncoding> RecordEncoder::encode_decimals(Field& field, const PackedCells& cells) {
  const NumericColumn& column = field.numeric;
  if ((field.kind != Kind::Number && field.kind != Kind::NumericTarget) || column.date || !exactly_computed(cells))
    return std::nullopt;
  if (number_may_be_missing(column)) return std::nullopt;
  const std::uint64_t nothing = cells.nothing();
  std::uint64_t least = nothing;
  std::uint64_t most = 0;
  std::int64_t missing = 0;
  each_value(cells, 0, cells.rows(), [&](std::size_t, std::uint64_t value) {
    if (value == nothing) {
      ++missing;
      return;
    }
    least = std::min(least, value);
    most = std::max(most, value);
  });
  const auto is_outside = [&](std::uint64_t value) {
    const double number = decimal_value(cells, value);
    return number < column.min || number > column.max;
  };
  std::int64_t outside = 0;
  if (missing < static_cast<std::int64_t>(cells.rows()) && (is_outside(least) || is_outside(most))) {
    if (column.outside == Outside::Refuse) return std::nullopt;
    each_value(cells, 0, cells.rows(),
               [&](std::size_t, std::uint64_t value) { outside += value != nothing && is_outside(value) ? 1 : 0; });
  }
  PackedEncoding::Put put;
  if (missing > 0 && encode_nothing(field, missing, put) != nullptr) return std::nullopt;
  ColumnFacts& facts = facts_[field.facts];
  facts.clamped += outside;
  if (missing < static_cast<std::int64_t>(cells.rows())) {
    facts.least = std::min(facts.least, decimal_value(cells, least));
    facts.most = std::max(facts.most, decimal_value(cells, most));
  }
  return PackedEncoding(column, put);
}

void RecordEncoder::put_packed(std::size_t column, const PackedCells& cells, const PackedEncoding& encoding,
                               std::size_t from, std::size_t count, const Rows& rows) const {
  const Field& field = fields_[column];
  if (field.kind == Kind::Number || field.kind == Kind::Category) {
    encoding.write(cells, from, count, rows.features + field.offset, width_);
  } else {
    encoding.write(cells, from, count, rows.targets, 1);
  }
}

void RecordEncoder::put_packed_at(std::size_t column, const PackedCells& cells, const PackedEncoding& encoding,
                                  std::span<const std::uint32_t> rows_of_cells, std::span<const std::uint32_t> slots,
                                  const Rows& rows) const {
  const Field& field = fields_[column];
  if (field.kind == Kind::Number || field.kind == Kind::Category) {
    encoding.write_at(cells, rows_of_cells, slots, rows.features + field.offset, width_);
  } else {
    encoding.write_at(cells, rows_of_cells, slots, rows.targets, 1);
  }
}

}  // namespace undertone::data
