#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/data/schema.hpp"

namespace undertone::data {

/// What the cells of a column look like, without a schema. Private: for the administrator's terminal (decision 12).
struct ColumnSurvey {
  std::string name;
  std::int64_t cells = 0;                       // that hold a value
  std::map<std::string, std::int64_t> missing;  // what stands for none, with counts
  std::int64_t numbers = 0;                     // with a decimal point, or whole
  std::int64_t comma_numbers = 0;               // with a decimal comma, or whole
  std::array<std::int64_t, 3> dates = {};       // by DateFormat
  /// Counts of the different values, unless there are too many of them or one is no plain text.
  std::map<std::string, std::int64_t> values;
  bool many_values = false;
};

struct CsvSurvey {
  CsvDialect dialect;
  std::int64_t records = 0;
  std::vector<ColumnSurvey> columns;
};

/// As many different values of a column are counted, and of all columns together.
inline constexpr std::size_t kSurveyedValuesMax = 1'000;
inline constexpr std::size_t kSurveyedValuesInAllMax = 1'000'000;

/// Texts that are taken for a missing value: "", "NA", "?" and the like.
[[nodiscard]] const std::vector<std::string>& missing_texts();

/// Reads a file with a header and says what its columns look like.
/// @param separator none: the one of comma, semicolon and tab that the header has most of
/// @return an error with file and line, and never a cell's value, where it is no such file
[[nodiscard]] Result<CsvSurvey> survey_csv(const std::filesystem::path& file, std::optional<char> separator);

}  // namespace undertone::data
