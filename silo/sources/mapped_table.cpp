#include "silo/sources/mapped_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"

namespace undertone::silo {

Status MappedTable::begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) {
  const data::ColumnNames names(columns);
  std::vector<std::string> renamed = columns;
  columns_ = columns;
  changes_.assign(columns.size(), {});
  for (const ColumnMapping& mapping : *map_) {
    const std::optional<std::size_t> place = names.find(mapping.column);
    if (!place)
      return Error{ErrorCode::InvalidData, fmt::format("the map names the column \"{}\", which the table does not have",
                                                       plain_text(mapping.column))};
    if (names.count(mapping.column) > 1)
      return Error{ErrorCode::InvalidData, fmt::format("the column \"{}\" stands twice", plain_text(mapping.column))};
    renamed[*place] = mapping.as;
    Change& change = changes_[*place];
    change.mapping = &mapping;
    change.of_cells = mapping.dates || !mapping.words.empty() || mapping.factor != 1.0 || mapping.offset != 0.0;
    change.kept.insert(mapping.kept.begin(), mapping.kept.end());
    for (const ColumnMapping::Words& words : mapping.words) {
      for (const std::string& word : words.from) change.words.emplace(word, &words.to);
    }
  }
  const data::ColumnNames after(renamed);
  for (const ColumnMapping& mapping : *map_) {
    if (after.count(mapping.as) > 1)
      return Error{ErrorCode::InvalidData,
                   fmt::format("after the map two columns are called \"{}\"", plain_text(mapping.as))};
  }
  return next_->begin(renamed, rows_at_most);
}

std::string MappedTable::number_text(double value) const {
  std::array<char, 32> digits{};
  std::string out(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  if (numbers_.decimal_comma) std::replace(out.begin(), out.end(), '.', ',');
  return out;
}

std::optional<std::string> MappedTable::changed(std::size_t column, const std::string& text,
                                                data::TableProblems& problems) const {
  const Change& change = changes_[column];
  if (change.kept.contains(text)) return std::nullopt;
  if (const auto word = change.words.find(text); word != change.words.end()) return *word->second;
  const ColumnMapping& mapping = *change.mapping;
  if (mapping.dates) {
    const std::optional<double> days = data::parse_date(text, mapping.dates->from);
    if (!days && !text.empty())
      problems.add(fmt::format("{}: expected a date {}, or a text that \"keep\" of the map lists",
                               data::describe_column(columns_, column), data::pattern_of(mapping.dates->from)),
                   false);
    return days ? std::optional(data::show_date(*days, mapping.dates->to)) : std::nullopt;
  }
  if (mapping.factor == 1.0 && mapping.offset == 0.0) return std::nullopt;
  const auto scaled = [&](double value) { return value * mapping.factor + mapping.offset; };
  const std::optional<double> number = data::parse_number(text, numbers_);
  const std::optional<double> limit = number ? std::nullopt : data::parse_limit(text, numbers_);
  if (!number && !limit) return std::nullopt;
  const double value = scaled(number ? *number : *limit);
  if (!std::isfinite(value)) return std::nullopt;
  return number ? number_text(value)
                : (text.front() == '<' || text.starts_with("\u2264") ? "<" : ">") + number_text(value);
}

void MappedTable::cell(std::size_t column, std::span<char> text, data::TableProblems& problems) {
  // A column that has another name alone is handed on without a copy: it may hold persons' ids.
  if (!changes_[column].of_cells) return next_->cell(column, text, problems);
  std::string own(text.data(), text.size());
  std::optional<std::string> other = changed(column, own, problems);
  explicit_bzero(own.data(), own.size());
  if (!other) return next_->cell(column, text, problems);
  explicit_bzero(text.data(), text.size());
  const std::span<char> made(*other);
  next_->cell(column, made, problems);
  explicit_bzero(made.data(), made.size());
}

}  // namespace undertone::silo
