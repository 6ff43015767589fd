#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/data/schema.hpp"
#include "shared/data/table_sink.hpp"

namespace undertone::data {

/// What the cells of a column look like, without a schema. Private: for the administrator's terminal (decision 12).
struct ColumnSurvey {
  std::string name;
  std::int64_t cells = 0;                                  // that hold a value
  std::map<std::string, std::int64_t> missing;             // what stands for none, with counts
  std::int64_t numbers = 0;                                // with a decimal point, or whole
  std::int64_t comma_numbers = 0;                          // with a decimal comma, or whole
  std::int64_t grouped_numbers = 0;                        // 12,345.6, and every one of `numbers`
  std::int64_t grouped_comma_numbers = 0;                  // 12.345,6, and every one of `comma_numbers`
  std::int64_t with_point = 0;                             // of `numbers`: 1.5 and 12.345
  std::int64_t with_comma = 0;                             // of `comma_numbers`: 1,5 and 12,345
  std::int64_t one_group_points = 0;                       // of these 12.345
  std::int64_t one_group_commas = 0;                       // of these 12,345
  std::int64_t zero_led = 0;                               // digits alone, of which the first is a zero: 02139
  std::int64_t limits = 0;                                 // "<0.6" and ">200"
  std::array<std::int64_t, kDateForms.size()> dates = {};  // by DateFormat
  std::map<std::string, std::int64_t> shapes;              // @see shape_of; of the first that were seen
  std::map<std::string, std::int64_t> odd;                 // cells that are no numbers, the first that were seen
  std::map<double, std::int64_t> least;                    // the least numbers, with counts
  std::map<double, std::int64_t> greatest;
  /// Counts of the different values, unless there are too many of them or one is no plain text.
  std::map<std::string, std::int64_t> values;
  bool many_values = false;

  /// How many cells are numbers where the file writes them so.
  [[nodiscard]] std::int64_t numbers_in(const NumberForm& form) const {
    if (form.grouped) return form.decimal_comma ? grouped_comma_numbers : grouped_numbers;
    return form.decimal_comma ? comma_numbers : numbers;
  }
};

/// A cell without what it says: 9 for every run of digits, a for every run of letters, and signs as they are.
/// "12/6/1941" becomes "9/9/9".
[[nodiscard]] std::string shape_of(std::string_view cell);

struct CsvSurvey {
  CsvDialect dialect;
  /// A column whose every comma may part thousands or decimals, while other columns do not tell or disagree; empty
  /// where there is none.
  std::string undecided;
  std::int64_t records = 0;
  std::vector<ColumnSurvey> columns;
};

/// As many different values of a column are counted, and of all columns together.
inline constexpr std::size_t kSurveyedValuesMax = 1'000;
inline constexpr std::size_t kSurveyedValuesInAllMax = 1'000'000;
inline constexpr std::size_t kSurveyedShapesMax = 16;
inline constexpr std::size_t kSurveyedOddMax = 16;
inline constexpr std::size_t kSurveyedEndsMax = 4;

/// Texts that are taken for a missing value: "", "NA", "?" and the like.
[[nodiscard]] const std::vector<std::string>& missing_texts();

/// These facts about a file are known beforehand. The survey guesses those that are not.
struct SurveyOptions {
  std::optional<char> separator = {};
  std::optional<bool> decimal_comma = {};
  std::optional<TextEncoding> encoding = {};  // none: by its mark, else UTF-8, else Windows-1252 where nothing is UTF-8
};

/// Says what the columns of a table look like whose source writes no dialect: a database's, for instance.
class TableSurvey final : public TableSink {
 public:
  TableSurvey();
  ~TableSurvey() override;
  [[nodiscard]] Status begin(const std::vector<std::string>& columns, std::int64_t rows_at_most) override;
  void cell(std::size_t column, std::span<char> text, TableProblems& problems) override;
  void missing(std::size_t column, TableProblems& problems) override;
  void end_row(TableProblems& problems) override;
  [[nodiscard]] CsvSurvey take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads a file with a header and says what its columns look like.
/// @return an error with file and line, and never a cell's value, where it is no such file
[[nodiscard]] Result<CsvSurvey> survey_csv(const std::filesystem::path& file, const SurveyOptions& options = {});

}  // namespace undertone::data
