#include "shared/data/csv_survey.hpp"

#include <algorithm>
#include <cerrno>
#include <csv.h>
#include <filesystem>
#include <fstream>
#include <memory>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/record_encoder.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kSurveyBlockBytes = std::size_t{1} << 20U;
constexpr std::size_t kValueBytesMax = 200;

struct Survey {
  CsvSurvey out;
  std::string name;
  bool header_done = false;
  std::size_t column = 0;
  std::int64_t row = 1;  // that is being read; the header is the first
  std::size_t values_in_all = 0;
  std::string problem;

  void refuse(const std::string& what) {
    if (problem.empty()) problem = fmt::format("{}: row {}: {}", name, row, what);
  }
};

void forget_values(Survey& survey, ColumnSurvey& column) {
  survey.values_in_all -= column.values.size();
  column.values.clear();
  column.many_values = true;
}

void look_at(Survey& survey, ColumnSurvey& column, const std::string& cell) {
  const std::vector<std::string>& missing = missing_texts();
  if (std::find(missing.begin(), missing.end(), cell) != missing.end()) {
    ++column.missing[cell];
    return;
  }
  ++column.cells;
  column.numbers += parse_number(cell, false) ? 1 : 0;
  column.comma_numbers += parse_number(cell, true) ? 1 : 0;
  for (const DateFormat format : {DateFormat::YearMonthDay, DateFormat::DayMonthYear, DateFormat::MonthDayYear})
    column.dates[static_cast<std::size_t>(format)] += parse_date(cell, format) ? 1 : 0;
  if (column.many_values) return;
  if (cell.size() > kValueBytesMax || !is_plain_text(cell)) return forget_values(survey, column);
  const auto [at, fresh] = column.values.emplace(cell, 0);
  ++at->second;
  survey.values_in_all += fresh ? 1 : 0;
  if (column.values.size() > kSurveyedValuesMax || survey.values_in_all > kSurveyedValuesInAllMax)
    forget_values(survey, column);
}

void survey_field(void* text, std::size_t size, void* state) {
  auto& survey = *static_cast<Survey*>(state);
  if (!survey.problem.empty()) return;
  const std::string cell(static_cast<const char*>(text), size);
  const std::size_t at = survey.column++;
  if (!is_utf8(cell))  // a draft is JSON, which holds nothing else
    return survey.refuse(fmt::format("column {}: expected UTF-8 text{}", at + 1, kConvertHint));
  if (survey.header_done) {
    if (at < survey.out.columns.size()) look_at(survey, survey.out.columns[at], cell);
    return;
  }
  if (at >= kCsvColumnsMax) return survey.refuse(fmt::format("more than {} columns", kCsvColumnsMax));
  if (!is_plain_text(cell)) return survey.refuse(fmt::format("column {}: expected a name in plain text", at + 1));
  ColumnSurvey column;
  column.name = cell;
  survey.out.columns.push_back(std::move(column));
}

void survey_row(int /*terminator*/, void* state) {
  auto& survey = *static_cast<Survey*>(state);
  if (!survey.problem.empty() || survey.column == 0) return;  // an empty line is no record
  if (survey.header_done) {
    if (survey.column != survey.out.columns.size())
      survey.refuse(
          fmt::format("expected {} cells as in the header, found {}", survey.out.columns.size(), survey.column));
    ++survey.out.records;
  }
  survey.header_done = true;
  survey.column = 0;
  ++survey.row;
}

/// Of comma, semicolon and tab the one that the first line has most of, outside quotation marks.
char separator_of(std::string_view text) {
  constexpr std::array<char, 3> kSeparators = {',', ';', '\t'};
  std::array<std::size_t, 3> found = {};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' || c == '\r') break;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] += c == kSeparators[i] ? 1 : 0;
  }
  return kSeparators[static_cast<std::size_t>(std::max_element(found.begin(), found.end()) - found.begin())];
}

}  // namespace

const std::vector<std::string>& missing_texts() {
  static const std::vector<std::string> texts = {"",     "NA",   "N/A",  "n/a", "na", "NaN", "nan",     "NULL",
                                                 "null", "None", "#N/A", "?",   ".",  "-",   "missing", "Missing"};
  return texts;
}

Result<CsvSurvey> survey_csv(const std::filesystem::path& file, std::optional<char> separator) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code ignored;
  const int why = !stream ? errno : std::filesystem::is_directory(file, ignored) ? EISDIR : 0;
  if (why != 0) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: cannot be read: {}", file.string(), std::generic_category().message(why))};
  }
  Survey survey;
  survey.name = file.string();
  csv_parser parser;
  UNDERTONE_CHECK(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0);
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  std::string block(kSurveyBlockBytes, '\0');
  bool first = true;
  std::int64_t row = 0;
  std::size_t row_bytes = 0;
  while (survey.problem.empty()) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    std::string_view bytes(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (bytes.empty()) break;
    if (first) {
      if (bytes.substr(0, 3) == "\xef\xbb\xbf") bytes.remove_prefix(3);
      survey.out.dialect.separator = separator.value_or(separator_of(bytes));
      csv_set_delim(&parser, static_cast<unsigned char>(survey.out.dialect.separator));
      first = false;
    }
    if (bytes.find('\0') != std::string_view::npos) survey.refuse("expected UTF-8 text, found a zero byte");
    if (csv_parse(&parser, bytes.data(), bytes.size(), survey_field, survey_row, &survey) != bytes.size())
      survey.refuse("a quotation mark where none may stand");
    row_bytes = survey.row == row ? row_bytes + bytes.size() : 0;
    row = survey.row;
    if (row_bytes > kCsvLineBytesMax) survey.refuse(fmt::format("more than {} bytes", kCsvLineBytesMax));
  }
  if (survey.problem.empty() && csv_fini(&parser, survey_field, survey_row, &survey) != 0)
    survey.refuse("a quotation mark is not closed");
  if (survey.problem.empty() && survey.out.records == 0) survey.refuse("expected records, found none");
  if (!survey.problem.empty()) return Error{ErrorCode::InvalidData, survey.problem};
  std::int64_t for_comma = 0;  // columns that are numbers in one way alone
  for (const ColumnSurvey& column : survey.out.columns) {
    const bool point = column.numbers == column.cells;
    const bool comma = column.comma_numbers == column.cells;
    for_comma += comma && !point ? 1 : point && !comma ? -1 : 0;
  }
  survey.out.dialect.decimal_comma = for_comma > 0;
  return std::move(survey.out);
}

}  // namespace undertone::data
