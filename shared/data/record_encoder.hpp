#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/derivations.hpp"
#include "shared/data/numbers.hpp"
#include "shared/data/packed_encoding.hpp"
#include "shared/data/schema.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// What a column was seen to hold. For `undertone-silo check` on the administrator's terminal and nowhere else.
struct ColumnFacts {
  std::string name;
  std::int64_t missing = 0;
  std::int64_t clamped = 0;  // outside the bounds, or not a listed category where others are allowed
  double least = std::numeric_limits<double>::infinity();  // of numeric values, as they stood
  double most = -std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> counts;  // of each category or label value
};

/// Turns cells into numbers by a schema, from public bounds and lists alone. A record's cells come one after the other,
/// in the columns' order, before the next record's: a derived column is put where the last cell is that it comes from.
class RecordEncoder {
 public:
  /// @param with_label false for files without the target, to predict on
  /// @return an error where a column is missing or stands twice. Names are compared as people see them.
  /// @see comparable_name
  [[nodiscard]] static Result<RecordEncoder> create(const std::vector<std::string>& header, const Schema& schema,
                                                    bool with_label, const NumberForm& numbers = {});

  /// Why a cell was refused: what was expected, never what was found (decision 12).
  using Expected = const std::string*;

  /// Where a record's numbers are put.
  struct Row {
    double* features = nullptr;  // [width], zero before the record's first cell
    double* target = nullptr;
    std::int32_t* group = nullptr;  // 0 before the first cell; not looked at without sensitive columns
  };
  /// The row of an encoded table. @param records with columns of the width, and groups where there are `groups()`
  [[nodiscard]] static Row row_of(models::Records& records, Eigen::Index row);

  /// Encodes one cell of a record. Columns that the schema does not name are skipped.
  /// @return null if the cell is good
  [[nodiscard]] Expected encode(std::size_t column, std::string_view cell, const Row& row);
  /// Whether a column may be asked for `put_common`: its numbers have a decimal point, and nothing else reads it.
  [[nodiscard]] bool has_common(std::size_t column) const { return fields_[column].has_common; }
  /// Encodes the commonest cell, which is a short decimal within its column's bounds, as encode() does.
  /// @return false where it is another, and nothing was done. @pre has_common(column)
  [[nodiscard]] bool put_common(std::size_t column, std::string_view cell, const Row& row) {
    const Field& field = fields_[column];
    const std::optional<double> value = short_decimal(cell);
    if (!value || *value < field.numeric.min || *value > field.numeric.max) return false;
    ColumnFacts& facts = facts_[field.facts];
    facts.least = std::min(facts.least, *value);
    facts.most = std::max(facts.most, *value);
    (field.kind == Kind::Number ? row.features[field.offset] : *row.target) = scaled(field.numeric, *value);
    return true;
  }
  /// What a row that was too short has left behind is forgotten.
  void next_row() { derivations_.next_row(); }
  /// The same of a cell that is known to hold nothing, however its column writes that.
  [[nodiscard]] Expected encode_missing(std::size_t column, const Row& row);

  /// Where the records are that packed cells are put into: as `Row`, from the first one on.
  struct Rows {
    double* features = nullptr;  // [width] for each record
    double* targets = nullptr;
  };
  /// Reads a packed column as its cells' texts would be read one by one, each different text once.
  /// @return what puts the cells into records; nothing where a cell would be refused, or where a column is looked at
  /// for a group or for what is derived of it
  [[nodiscard]] std::optional<PackedEncoding> encode_packed(std::size_t column, const PackedCells& cells);
  /// @param encoding of this column @param rows whose first is that of the cell `from`
  void put_packed(std::size_t column, const PackedCells& cells, const PackedEncoding& encoding, std::size_t from,
                  std::size_t count, const Rows& rows) const;
  /// The same of some rows of the cells. @param rows_of_cells which @param slots which record each of them becomes
  void put_packed_at(std::size_t column, const PackedCells& cells, const PackedEncoding& encoding,
                     std::span<const std::uint32_t> rows_of_cells, std::span<const std::uint32_t> slots,
                     const Rows& rows) const;

  /// This says what a column's cells become: some encoded features that follow each other, or the target, or neither.
  struct Encoded {
    std::size_t first = 0;
    std::size_t count = 0;  // of features
    bool target = false;
  };
  [[nodiscard]] Encoded encoded(std::size_t column) const {
    const Field& field = fields_[column];
    return {field.offset, field.width, field.kind != Kind::Skipped && field.width == 0};
  }

  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// Whether records have groups.
  [[nodiscard]] bool groups() const noexcept { return groups_; }
  [[nodiscard]] bool reads(std::size_t column) const {
    return fields_[column].kind != Kind::Skipped || sensitive_[column].step != 0 || derivations_.reads(column);
  }
  [[nodiscard]] const std::vector<ColumnFacts>& facts() const noexcept { return facts_; }

 private:
  enum class Kind { Skipped, Number, Category, NumericTarget, BinaryTarget, ClassTarget };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  using Index = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;
  struct Field {
    Kind kind = Kind::Skipped;
    std::size_t offset = 0;  // of its first encoded feature
    std::size_t width = 0;   // how many encoded features it has
    std::size_t facts = 0;
    NumericColumn numeric;
    bool has_common = false;
    bool others_allowed = false;
    Index values;  // categories, or the two values of a label
    std::string expected;
    std::string expected_inside;
    std::string expected_declared;  // of a value that is missing where the schema has none missing
  };
  /// A sensitive column has the group that each of its values is in. Its groups are `step` apart in the numbers of the
  /// product's groups.
  struct Sensitive {
    std::int32_t step = 0;  // 0: the column is no sensitive one
    std::size_t facts = 0;
    Index values;
    std::vector<std::size_t> groups;  // [categories]
    std::vector<std::string> missing;
    std::string expected;
  };
  /// Errors of a derived column say which it is.
  void say_derived(std::size_t column, const std::string& name);
  [[nodiscard]] static Expected encode_group(const Sensitive& sensitive, std::string_view cell, ColumnFacts& facts,
                                             std::int32_t& group);
  /// Encodes a cell of a column, derived ones included, that is not looked at for what comes from it.
  [[nodiscard]] Expected encode_own(std::size_t column, std::string_view cell, const Row& row);
  [[nodiscard]] Expected encode_own_missing(std::size_t column, const Row& row);
  /// Takes a cell for what is derived of it, and encodes that.
  [[nodiscard]] Expected derive(std::size_t column, std::optional<std::string_view> cell, const Row& row);
  /// A number of a field as it is kept, and the facts of so many cells like it. @return null if it is good
  [[nodiscard]] Expected put_number(Field& field, double value, double& out, std::int64_t times = 1);
  [[nodiscard]] Expected encode_field(Field& field, std::string_view cell, const Row& row);
  /// A cell of a field by itself, which stands so many times: where it is put, and what.
  [[nodiscard]] Expected encode_cell(Field& field, std::string_view cell, std::int64_t times, PackedEncoding::Put& put);
  static void put_into(const Field& field, const PackedEncoding::Put& put, const Row& row);
  [[nodiscard]] Expected encode_nothing(Field& field, std::int64_t times, PackedEncoding::Put& put);
  [[nodiscard]] Expected encode_number(Field& field, std::string_view cell, std::int64_t times,
                                       PackedEncoding::Put& put);
  /// @pre the schema says what stands for missing values of this column
  void put_missing(const Field& field, std::int64_t times, PackedEncoding::Put& put);
  [[nodiscard]] std::optional<PackedEncoding> encode_each(Field& field, const PackedCells& cells);
  [[nodiscard]] std::optional<PackedEncoding> encode_decimals(Field& field, const PackedCells& cells);
  /// Whether a number of a column may be written as what stands for a missing one.
  [[nodiscard]] bool number_may_be_missing(const NumericColumn& column) const;

  std::vector<Field> fields_;         // one a column of the file, then one a derived column
  std::vector<Sensitive> sensitive_;  // likewise; a column may be a feature besides
  Derivations derivations_;
  bool groups_ = false;
  std::vector<ColumnFacts> facts_;
  std::size_t width_ = 0;
  NumberForm numbers_;
};

}  // namespace undertone::data
