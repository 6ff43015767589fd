#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shared/data/csv_dialect.hpp"
#include "shared/data/record_gatherer.hpp"

namespace undertone::data {

/// How a file is read, whoever takes what stands in it.
struct CsvReading {
  CsvDialect dialect = {};
  /// So many records at most: a file of many more lines is refused before memory is taken for them.
  std::optional<std::int64_t> records_max = {};
  std::function<void(std::string_view)> bytes = {};  // sees every byte of the file, in order: for a digest
  /// Is told each 16 MiB how far it is.
  std::function<void(std::uint64_t bytes, std::uint64_t of, std::int64_t records)> progress = {};
};

/// The same with what its records are made into. The numbers' form is the dialect's.
struct CsvOptions : CsvReading, GatherOptions {};

/// Bounds on what a file can make this process hold.
inline constexpr std::size_t kCsvLineBytesMax = std::size_t{4} << 20U;
inline constexpr std::size_t kCsvColumnsMax = 100'000;

/// Reads separated text with a header (RFC 4180, but for the dialect) in one pass over its cells.
/// @return an error that lists the first problems with file, line and column, and never a cell's value (decision 12)
[[nodiscard]] Status read_csv_into(const std::filesystem::path& file, const CsvReading& reading, TableSink& sink);

/// The same of a pipe, whose rows nobody has counted: the sink is told 0.
/// @param descriptor is closed @param name of what comes out of it, for errors
[[nodiscard]] Status read_csv_stream_into(int descriptor, const std::string& name, const CsvReading& reading,
                                          TableSink& sink);

/// Reads a file by a schema. Memory is that of the records.
[[nodiscard]] Result<TableRecords> read_csv(const std::filesystem::path& file, const Schema& schema,
                                            const CsvOptions& options);

}  // namespace undertone::data
