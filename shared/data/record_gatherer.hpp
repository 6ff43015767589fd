#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/persons.hpp"
#include "shared/data/record_encoder.hpp"
#include "shared/data/table_sink.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// Which rows of a table are marked: those with this very text in a column that no schema reads.
struct RowMark {
  std::string column;
  std::string value;
};

/// Rows of a table, packed, and what they become.
struct EncodedRows {
  const PackedRows& rows;
  std::vector<std::optional<PackedEncoding>> encodings;  // of each column: nothing where its cells were read one by one
  Eigen::Ref<const Eigen::MatrixXd> features;            // [width, rows]
  std::span<const double> targets;                       // [rows]
  std::span<const std::int32_t> groups;                  // [rows] where the schema has sensitive columns; else none
};

/// This says what is gathered of a table beside its records.
struct GatherOptions {
  bool with_label = true;
  NumberForm numbers = {};
  std::optional<RowMark> mark = {};
  std::optional<PersonColumn> person = {};
  /// A keyed hash of what stands in a row, its person's id left out, for an order that nothing but it decides.
  std::function<PersonKey(std::string_view content)> content_key = {};
  std::optional<std::string> kept = {};  // a column whose texts are kept as they are
  /// Where it is set, the records' numbers are handed on as they come, a block of packed rows after the other, and are
  /// not kept. The table then comes in packed rows alone.
  std::function<void(EncodedRows&&)> numbers_of_rows = {};
};

struct TableRecords {
  models::Records records;  // features in the schema's order, numeric ones scaled to [-1, 1]
  std::vector<ColumnFacts> columns;
  std::vector<bool> marked;              // one for each record, where there is a mark to look for; else none
  std::vector<PersonKey> persons = {};   // one for each record, where there are persons; else none
  std::vector<std::size_t> alone = {};   // the records without an id, whose entries of `persons` are of their content
  std::vector<PersonKey> near_ids = {};  // of each record the key of its loose id, where these were looked for
  std::vector<std::string> kept = {};    // one for each record, where a column is kept; else none
  std::vector<PersonKey> contents = {};  // of each record the key of its content, where there is one; else none
};

/// Makes records of a table by a schema. Columns that nothing asks for are not looked at. Ids are overwritten as soon
/// as they are hashed.
class RecordGatherer final : public TableSink {
 public:
  /// @param schema outlives this, and so do the options
  RecordGatherer(const Schema& schema, const GatherOptions& options) : schema_(&schema), options_(&options) {}

  /// @param rows_at_most memory is taken for so many; a row beyond is a problem
  [[nodiscard]] Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override;
  void cell(std::size_t column, std::span<char> text, TableProblems& problems) override;
  void missing(std::size_t column, TableProblems& problems) override;
  void end_row(TableProblems& problems) override;
  void take_rows(const PackedRows& rows, std::int64_t before, TableProblems& problems) override;

  [[nodiscard]] std::int64_t rows() const noexcept { return record_; }
  /// @pre begin() was good
  [[nodiscard]] const RecordEncoder& encoder() const { return *encoder_; }
  /// This hands over what was gathered, and leaves nothing behind. @pre begin() was good
  [[nodiscard]] TableRecords take();

 private:
  [[nodiscard]] Status find_mark();
  [[nodiscard]] Status find_person();
  [[nodiscard]] Status find_kept();
  void take_id(std::span<char> text, TableProblems& problems);
  void add_content(std::string_view cell);
  void add_no_content() { content_ += '-'; }
  /// How a packed column's numbers are put into records at once; nothing where its cells are taken one by one.
  [[nodiscard]] std::optional<PackedEncoding> encoding_of(std::size_t column, const PackedCells& cells);
  /// Whether there is room for the row at hand; a problem if not.
  [[nodiscard]] bool fits(TableProblems& problems) const;
  [[nodiscard]] RecordEncoder::Row row();

  const Schema* schema_;
  const GatherOptions* options_;
  std::vector<std::string> columns_;
  std::optional<RecordEncoder> encoder_;
  std::vector<bool> common_;  // the columns that nothing reads but the encoder, and whose numbers it takes at once
  /// The place of the row at hand among those whose numbers are held.
  [[nodiscard]] Eigen::Index place() const noexcept { return record_ - first_; }
  /// Makes room for the numbers of so many rows.
  void hold(Eigen::Index rows);

  Eigen::MatrixXd features_;
  Eigen::VectorXd targets_;
  RecordEncoder::Row row_;            // the row at hand
  std::vector<std::int32_t> groups_;  // of the records, where the schema has sensitive columns
  Eigen::Index record_ = 0;
  Eigen::Index first_ = 0;  // the row whose numbers are held first
  Eigen::Index rows_max_ = 0;
  std::size_t mark_column_ = SIZE_MAX;
  std::vector<bool> marked_;
  std::size_t person_column_ = SIZE_MAX;
  std::vector<PersonKey> persons_;
  std::vector<std::size_t> alone_;
  std::vector<PersonKey> near_ids_;
  std::string loose_;
  bool without_id_ = false;  // the row at hand
  bool by_content_ = false;  // some row may be known by its content alone
  std::string content_;      // the cells of the row at hand, if so
  std::vector<PersonKey> contents_;
  std::size_t kept_column_ = SIZE_MAX;
  std::vector<std::string> kept_;
};

}  // namespace undertone::data
