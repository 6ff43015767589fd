#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/data/csv_dialect.hpp"
#include "shared/data/persons.hpp"
#include "shared/data/record_encoder.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// Which rows of a file are marked: those with this very text in a column that no schema reads.
struct RowMark {
  std::string column;
  std::string value;
};

/// What is read along the way.
struct CsvOptions {
  bool with_label = true;
  CsvDialect dialect = {};
  std::optional<RowMark> mark = {};
  std::optional<PersonColumn> person = {};
  std::optional<std::string> kept = {};  // a column whose texts are kept as they are
  /// So many records at most: a file of many more lines is refused before memory is taken for them.
  std::optional<std::int64_t> records_max = {};
  std::function<void(std::string_view)> bytes;  // sees every byte of the file, in order: for a digest
  std::function<void(std::uint64_t bytes, std::uint64_t of, std::int64_t records)> progress;  // each 16 MiB
};

struct CsvRecords {
  models::Records records;  // features in the schema's order, numeric ones scaled to [-1, 1]
  std::vector<ColumnFacts> columns;
  std::vector<bool> marked;              // one for each record, where there is a mark to look for; else none
  std::vector<PersonKey> persons = {};   // one for each record, where there are persons; else none
  std::vector<std::size_t> alone = {};   // the records without an id, whose entries of `persons` are of their content
  std::vector<PersonKey> near_ids = {};  // of each record the key of its loose id, where these were looked for
  std::vector<std::string> kept = {};    // one for each record, where a column is kept; else none
};

/// Bounds on what a file can make this process hold.
inline constexpr std::size_t kCsvLineBytesMax = std::size_t{4} << 20U;
inline constexpr std::size_t kCsvColumnsMax = 100'000;

/// Whether the text is UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text);
/// How a file of another encoding is mended: said after what is expected.
inline constexpr const char* kConvertHint =
    " (Windows often writes Windows-1252: write \"encoding\": \"Windows-1252\" under \"file\" of the data set)";

/// Reads separated text with a header (RFC 4180, but for the dialect) in one pass. Memory is that of the records.
/// @return an error that lists the first problems with file, line and column, and never a cell's value (decision 12)
[[nodiscard]] Result<CsvRecords> read_csv(const std::filesystem::path& file, const Schema& schema,
                                          const CsvOptions& options);

}  // namespace undertone::data
