#include "shared/data/record_gatherer.hpp"

#include <array>
#include <charconv>
#include <cstring>

#include "shared/base/large_memory.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/data/column_name.hpp"
#include "shared/data/text_encoding.hpp"

namespace undertone::data {

Status RecordGatherer::find_mark() {
  const std::string name = plain_text(options_->mark->column);
  const ColumnNames names(columns_);
  const std::optional<std::size_t> found = names.find(options_->mark->column);
  if (!found) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("expected the column \"{}\", which says whose records are public", name)};
  }
  mark_column_ = *found;
  if (names.count(options_->mark->column) > 1)
    return Error{ErrorCode::InvalidData, fmt::format("expected one column \"{}\", found several", name)};
  if (encoder_->reads(mark_column_)) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("the column \"{}\" says whose records are public, and so it may be no feature and no "
                             "label: what is public is settled before any value is looked at",
                             name)};
  }
  return {};
}

Status RecordGatherer::find_person() {
  const ColumnNames names(columns_);
  const std::optional<std::size_t> found = names.find(options_->person->column);
  // The column's name is the silo's own: errors are for its terminal, and yet do not say it.
  if (!found) return Error{ErrorCode::InvalidData, "expected the column of persons' ids that the configuration names"};
  person_column_ = *found;
  if (names.count(options_->person->column) > 1)
    return Error{ErrorCode::InvalidData, "expected one column of persons' ids, found several of its name"};
  if (encoder_->reads(person_column_))
    return Error{ErrorCode::InvalidData, "the column of persons' ids may be no feature and no label"};
  return {};
}

Status RecordGatherer::find_kept() {
  const std::optional<std::size_t> found = ColumnNames(columns_).find(*options_->kept);
  if (!found)
    return Error{ErrorCode::InvalidData, fmt::format("there is no column \"{}\"", plain_text(*options_->kept))};
  kept_column_ = *found;
  return {};
}

Status RecordGatherer::begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) {
  columns_ = columns;
  UNDERTONE_TRY(RecordEncoder encoder,
                RecordEncoder::create(columns_, *schema_, options_->with_label, options_->numbers));
  encoder_.emplace(std::move(encoder));
  if (options_->mark) UNDERTONE_TRY(find_mark());
  if (options_->person) UNDERTONE_TRY(find_person());
  if (options_->kept) UNDERTONE_TRY(find_kept());
  by_content_ = options_->content_key || (options_->person && options_->person->without_id_alone);
  const auto rows = static_cast<std::size_t>(rows_at_most);
  rows_max_ = rows_at_most;
  hold(options_->numbers_of_rows ? 0 : rows_at_most);
  if (options_->mark) marked_.assign(rows, false);
  if (options_->person) persons_.assign(rows, PersonKey{});
  if (options_->content_key) contents_.assign(rows, PersonKey{});
  if (options_->person && options_->person->looks_for_near_ids) near_ids_ = persons_;
  if (options_->kept) kept_.assign(rows, "");
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    common_.push_back(encoder_->has_common(i) && !by_content_ && i != mark_column_ && i != person_column_ &&
                      i != kept_column_);
  }
  return {};
}

void RecordGatherer::hold(Eigen::Index rows) {
  const auto width = static_cast<Eigen::Index>(encoder_->width());
  if (features_.cols() != rows || features_.rows() != width) {
    features_.resize(width, rows);
    expect_much(features_.data(), static_cast<std::size_t>(features_.size()) * sizeof(double));
  }
  features_.setZero();
  targets_.setZero(rows);
  if (encoder_->groups()) groups_.assign(static_cast<std::size_t>(rows), 0);
  first_ = record_;
  if (rows > 0) row_ = row();
}

bool RecordGatherer::fits(TableProblems& problems) const {
  if (record_ < rows_max_) return true;
  problems.add("the file grew while it was read", true);
  return false;
}

RecordEncoder::Row RecordGatherer::row() {
  return {features_.col(place()).data(), &targets_[place()],
          groups_.empty() ? nullptr : &groups_[static_cast<std::size_t>(place())]};
}

/// Keeps the keyed hash of an id, and overwrites the id.
void RecordGatherer::take_id(std::span<char> text, TableProblems& problems) {
  const std::string_view id = id_in({text.data(), text.size()});
  const auto record = static_cast<std::size_t>(record_);
  if (!id.empty()) {
    persons_[record] = options_->person->key(id);
    if (!near_ids_.empty()) {
      loose_id(id, loose_);
      near_ids_[record] = options_->person->key(loose_);
      explicit_bzero(loose_.data(), loose_.capacity());
    }
  } else if (options_->person->without_id_alone) {
    without_id_ = true;
  } else {
    problems.add(fmt::format("column {}: expected a person's id, found none", person_column_ + 1), false);
  }
  explicit_bzero(text.data(), text.size());
}

/// With its length, so that no two rows read alike.
void RecordGatherer::add_content(std::string_view cell) {
  std::array<char, 20> length{};
  char* const end = std::to_chars(length.data(), length.data() + length.size(), cell.size()).ptr;
  content_.append(length.data(), end).append(":").append(cell);
}

void RecordGatherer::cell(std::size_t column, std::span<char> text, TableProblems& problems) {
  if (!fits(problems)) return;
  const std::string_view cell(text.data(), text.size());
  if (common_[column] && encoder_->put_common(column, cell, row_)) return;
  const auto record = static_cast<std::size_t>(record_);
  if (column == mark_column_) marked_[record] = cell == options_->mark->value;
  if (column == kept_column_) {
    if (!is_utf8(cell)) problems.add(describe_column(columns_, column) + ": expected UTF-8 text" + kConvertHint, false);
    kept_[record] = cell;
  }
  if (column == person_column_) return take_id(text, problems);
  if (by_content_) add_content(cell);
  if (!encoder_->reads(column)) return;
  if (!is_utf8(cell))
    return problems.add(describe_column(columns_, column) + ": expected UTF-8 text" + kConvertHint, false);
  if (const RecordEncoder::Expected expected = encoder_->encode(column, cell, row_); expected != nullptr)
    problems.add(describe_column(columns_, column) + ": expected " + *expected, false);
}

void RecordGatherer::missing(std::size_t column, TableProblems& problems) {
  if (!fits(problems)) return;
  if (column == person_column_) return take_id({}, problems);
  if (by_content_) add_no_content();
  if (!encoder_->reads(column)) return;
  if (const RecordEncoder::Expected expected = encoder_->encode_missing(column, row_); expected != nullptr)
    problems.add(describe_column(columns_, column) + ": expected " + *expected, false);
}

void RecordGatherer::end_row(TableProblems& problems) {
  if (!fits(problems)) return;
  const auto record = static_cast<std::size_t>(record_);
  if (options_->content_key) contents_[record] = options_->content_key(content_);
  if (without_id_) {  // it is known by its content
    persons_[record] = options_->person->key(" " + content_);
    alone_.push_back(record);
  }
  without_id_ = false;
  content_.clear();
  encoder_->next_row();
  ++record_;
  if (place() < targets_.size()) row_ = row();
}

std::optional<PackedEncoding> RecordGatherer::encoding_of(std::size_t column, const PackedCells& cells) {
  if (column == mark_column_ || column == kept_column_ || column == person_column_) return std::nullopt;
  return encoder_->encode_packed(column, cells);
}

void RecordGatherer::take_rows(const PackedRows& rows, std::int64_t before, TableProblems& problems) {
  constexpr std::size_t kRowsAtOnce = 256;  // what is written of them, of all columns, stays in the processor's cache
  if (static_cast<Eigen::Index>(rows.count) > rows_max_ - record_) {
    if (options_->numbers_of_rows) return problems.add("the file grew while it was read", true);
    return TableSink::take_rows(rows, before, problems);
  }
  if (options_->numbers_of_rows) hold(static_cast<Eigen::Index>(rows.count));
  std::vector<std::optional<PackedEncoding>> encodings(rows.columns.size());
  std::vector<std::size_t> one_by_one;  // the columns whose cells are wanted as texts
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    encodings[i] = encoding_of(i, rows.columns[i]);
    if (!encodings[i] || by_content_) one_by_one.push_back(i);
  }
  PackedTexts texts(rows.mark);
  for (std::size_t from = 0; from < rows.count && !problems.stopped(); from += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, rows.count - from);
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      if (encodings[i])
        encoder_->put_packed(i, rows.columns[i], *encodings[i], from, count,
                             {features_.col(place()).data(), &targets_[place()]});
    }
    for (std::size_t row = from; row < from + count && !problems.stopped(); ++row) {
      problems.at(before + static_cast<std::int64_t>(row) + 1);
      for (const std::size_t i : one_by_one) {
        const std::uint64_t value = rows.columns[i].value(row);
        const bool nothing = value == rows.columns[i].nothing();
        if (encodings[i]) {  // its number stands where it belongs
          nothing ? add_no_content() : add_content(texts.of(rows.columns[i], value));
        } else {
          nothing ? missing(i, problems) : cell(i, texts.copy_of(rows.columns[i], value), problems);
        }
      }
      end_row(problems);
    }
  }
  if (!options_->numbers_of_rows || problems.stopped()) return;
  options_->numbers_of_rows(
      {rows, std::move(encodings), features_, {targets_.data(), static_cast<std::size_t>(targets_.size())}, groups_});
}

TableRecords RecordGatherer::take() {
  const auto rows = static_cast<std::size_t>(record_);
  if (options_->numbers_of_rows) hold(0);
  if (place() != targets_.size()) {
    features_.conservativeResize(Eigen::NoChange, record_);
    targets_.conservativeResize(record_);
    if (!groups_.empty()) groups_.resize(rows);
  }
  if (options_->mark) marked_.resize(rows);
  if (options_->person) persons_.resize(rows);
  if (options_->content_key) contents_.resize(rows);
  if (!near_ids_.empty()) near_ids_.resize(rows);
  if (options_->kept) kept_.resize(rows);
  return {{std::move(features_), std::move(targets_), {}, std::move(groups_)},
          encoder_->facts(),
          std::move(marked_),
          std::move(persons_),
          std::move(alone_),
          std::move(near_ids_),
          std::move(kept_),
          std::move(contents_)};
}

}  // namespace undertone::data
