#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/mapped_file.hpp"
#include "shared/data/numbers.hpp"
#include "shared/data/table_sink.hpp"

namespace undertone::data {

/// A snapshot is a table as it was at one moment: the columns that are wanted, cell by cell, in blocks of rows, each
/// column packed by itself. Where all cells of a block are plain decimals they are whole numbers of the fewest bytes,
/// else they are places in the list of the block's different texts. What is read of it is the very text that was put
/// in, and it says how its numbers are written. It is a silo's own file and holds its records as they are: no digest or
/// key is in it. Format: docs/sources.md.
class SnapshotWriter final : public TableSink {
 public:
  /// Takes the file's bytes as they come. @return an error where they could not be kept; nothing comes after it
  using Bytes = std::function<Status(std::string_view)>;

  /// @param wanted names of columns; the table's others are left out
  /// @param numbers how the source writes them: the snapshot keeps that with it
  SnapshotWriter(std::vector<std::string> wanted, const NumberForm& numbers, Bytes bytes);

  /// @return an error where a wanted column is missing or stands twice; names are compared as people see them
  [[nodiscard]] Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override;
  void cell(std::size_t column, std::span<char> text, TableProblems& problems) override;
  void missing(std::size_t column, TableProblems& problems) override;
  void end_row(TableProblems& problems) override;
  /// Writes what is left, and the end. @return how many rows there are
  [[nodiscard]] Result<std::int64_t> finish();

 private:
  /// The cells of a column in the block at hand.
  struct Cells {
    std::string texts;  // one after the other
    std::vector<std::uint32_t> ends;
    std::vector<bool> missing;
  };
  void close_cell(std::size_t wanted, bool missing);
  [[nodiscard]] Status write_block();

  std::vector<std::string> wanted_;
  NumberForm numbers_;
  Bytes bytes_;
  std::vector<std::string> columns_;          // of the source
  std::vector<std::size_t> wanted_by_place_;  // [columns]: the wanted column that it is; wanted_.size(): none
  std::vector<Cells> block_;                  // [wanted]
  std::size_t block_bytes_ = 0;
  std::size_t block_rows_ = 0;
  std::int64_t rows_ = 0;
};

inline constexpr std::size_t kSnapshotBlockRows = 65'536;

/// This is what a snapshot says of itself.
struct SnapshotFacts {
  NumberForm numbers;  // how they are written
  std::uint64_t rows = 0;
};
[[nodiscard]] Result<SnapshotFacts> facts_of_snapshot(const std::filesystem::path& file);

/// Hands a snapshot's cells on, block by block.
/// @param bytes sees every byte of the file, in order: for a digest
/// @return an error that names the file where it is none, where it is damaged, or where the sink refused
[[nodiscard]] Status read_snapshot_into(const std::filesystem::path& file,
                                        const std::function<void(std::string_view)>& bytes, TableSink& sink);
/// The same of a snapshot that is mapped: the packed cells that the sink is given refer to the mapping, and stay valid
/// as long as it does.
/// @param name of the file, for errors
[[nodiscard]] Status read_snapshot_into(const MappedFile& mapped, const std::filesystem::path& name,
                                        const std::function<void(std::string_view)>& bytes, TableSink& sink);

}  // namespace undertone::data
