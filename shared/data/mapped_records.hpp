#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shared/base/mapped_file.hpp"
#include "shared/data/record_gatherer.hpp"
#include "shared/data/record_source.hpp"

namespace undertone::data {

/// A snapshot whose rows become records when they are asked for. It holds the packed cells where they lie in the file,
/// how each block's cells become numbers, and as numbers only what no packed column gives: derived columns, groups, and
/// columns of which a block holds some unusual cell. What is made of a row is to the bit what reading the whole
/// snapshot makes of it.
class MappedTable {
 public:
  /// A row of the table, and the place that its record gets.
  struct Slot {
    std::uint32_t row = 0;
    std::uint32_t slot = 0;
  };

  /// Reads the snapshot through, as a gatherer does, and maps it.
  /// @param options without `numbers_of_rows` @param bytes sees every byte of the file, in order
  /// @param gathered receives all that a gatherer gives but the numbers of records
  /// @return an error where the file is no whole snapshot, a cell is refused, or rows are too many to be numbered
  [[nodiscard]] static Result<std::shared_ptr<const MappedTable>> read(
      const std::filesystem::path& file, const Schema& schema, const GatherOptions& options,
      const std::function<void(std::string_view)>& bytes, TableRecords& gathered);

  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] Eigen::Index features() const noexcept { return static_cast<Eigen::Index>(encoder_->width()); }
  /// @param wanted by ascending rows, a row perhaps several times @param out with as many records, overwritten
  void make(std::span<const Slot> wanted, models::Records& out) const;

 private:
  struct Block {
    std::uint32_t first = 0;  // row
    std::vector<PackedCells> columns;
    std::vector<std::optional<PackedEncoding>> encodings;
    std::vector<Eigen::Index> kept_features;  // that no packed column gives
    Eigen::MatrixXd kept;                     // [kept_features, rows]
    std::vector<double> targets;              // likewise, or none
    std::vector<std::int32_t> groups;         // or none
  };
  explicit MappedTable(MappedFile file) : file_(std::move(file)) {}
  void add(EncodedRows&& rows, const RecordEncoder& encoder);
  void make_of_block(const Block& block, std::span<const std::uint32_t> rows, std::span<const std::uint32_t> slots,
                     models::Records& out) const;

  MappedFile file_;
  std::optional<RecordEncoder> encoder_;
  std::vector<Block> blocks_;
  std::uint32_t rows_ = 0;
};

/// Some rows of such a table, in an order.
class MappedRecords final : public RecordSource {
 public:
  /// @param rows of the records by their positions, all different
  MappedRecords(std::shared_ptr<const MappedTable> table, std::vector<std::uint32_t> rows);

  [[nodiscard]] Eigen::Index count() const noexcept override { return static_cast<Eigen::Index>(rows_.size()); }
  [[nodiscard]] Eigen::Index features() const noexcept override { return table_->features(); }
  void make(std::span<const std::int64_t> positions, models::Records& out) const override;
  void make_all(Eigen::Index at_once, const std::function<void(const models::Records&)>& use) const override;

 private:
  std::shared_ptr<const MappedTable> table_;
  std::vector<std::uint32_t> rows_;  // by position
  std::vector<bool> here_;           // [rows of the table]: whether it is one of them
};

}  // namespace undertone::data
