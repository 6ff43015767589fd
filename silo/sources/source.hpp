#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>

#include "shared/base/overloaded.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/data/table_sink.hpp"

namespace undertone::silo {

/// A file of separated text.
struct CsvSource {
  std::filesystem::path file;
  data::CsvDialect dialect = {};
};

/// What a query of a database finds.
struct SqlSource {
  std::filesystem::path query;            // a file with one SELECT
  std::filesystem::path connection = {};  // a file that its owner and group alone may read; empty: `variable`
  std::string variable = {};              // of the environment, that holds what the file would
  std::map<std::string, std::string> parameters = {};  // what stands for :name in the query
  std::int64_t rows_max = 10'000'000;
  std::chrono::seconds limit{600};
};

/// A Parquet or Feather file.
struct ParquetSource {
  std::filesystem::path file;
};

/// Where the rows of a data set come from.
using Source = std::variant<CsvSource, SqlSource, ParquetSource>;

/// The file that says what the source is, for people and for comparing: the table itself, or its query.
[[nodiscard]] inline const std::filesystem::path& file_of(const Source& source) {
  return std::visit(Overloaded{[](const SqlSource& sql) -> const std::filesystem::path& { return sql.query; },
                               [](const auto& other) -> const std::filesystem::path& { return other.file; }},
                    source);
}

using SourceProgress = std::function<void(std::uint64_t bytes, std::uint64_t of, std::int64_t rows)>;

/// Hands the whole table on.
/// @return an error for the owner's terminal. Of a file it names line and column and never a value; what a database
/// says is said again.
[[nodiscard]] Status read_source_into(const Source& source, const SourceProgress& progress, data::TableSink& sink);

}  // namespace undertone::silo
