#include "shared/data/csv_survey.hpp"

#include <algorithm>
#include <cerrno>
#include <csv.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_reader.hpp"
#include "shared/data/record_encoder.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kSurveyBlockBytes = std::size_t{1} << 20U;
constexpr std::size_t kValueBytesMax = 200;
constexpr std::size_t kOddBytesMax = 40;

struct Survey {
  CsvSurvey out;
  std::string name;
  bool header_done = false;
  std::size_t column = 0;
  std::int64_t row = 1;  // that is being read; the header is the first
  std::size_t values_in_all = 0;
  std::string problem;
  bool seen_text = false;  // of several bytes a character, as UTF-8 has it
  bool no_text = false;    // nothing in it is

  void refuse(const std::string& what) {
    if (problem.empty()) problem = fmt::format("{}: row {}: {}", name, row, what);
  }
};

void forget_values(Survey& survey, ColumnSurvey& column) {
  survey.values_in_all -= column.values.size();
  column.values.clear();
  column.many_values = true;
}

/// A number, however it is written; of 12,345 the one with a decimal comma.
std::optional<double> number_in(std::string_view cell) {
  for (const NumberForm& form : {NumberForm{}, NumberForm{true}, NumberForm{false, true}, NumberForm{true, true}}) {
    if (const std::optional<double> number = parse_number(cell, form)) return number;
  }
  return std::nullopt;
}

/// "<0.6", ">= 200" and the like.
bool is_limit(std::string_view cell) {
  const std::array<NumberForm, 2> forms = {NumberForm{false, true}, NumberForm{true, true}};  // of every form
  return std::any_of(forms.begin(), forms.end(),
                     [cell](const NumberForm& form) { return parse_limit(cell, form).has_value(); });
}

/// Counts a number among the first few in an order.
template <class Before>
void count_end(std::map<double, std::int64_t>& ends, double number, Before before) {
  const auto farthest = [&] {
    return before(ends.begin()->first, std::prev(ends.end())->first) ? std::prev(ends.end()) : ends.begin();
  };
  if (ends.size() == kSurveyedEndsMax && !ends.contains(number) && !before(number, farthest()->first)) return;
  ++ends[number];
  if (ends.size() > kSurveyedEndsMax) ends.erase(farthest());
}

void look_at(Survey& survey, ColumnSurvey& column, const std::string& cell) {
  const std::vector<std::string>& missing = missing_texts();
  if (std::find(missing.begin(), missing.end(), cell) != missing.end()) {
    ++column.missing[cell];
    return;
  }
  ++column.cells;
  const auto is_number = [&cell](bool decimal_comma, bool grouped) {
    return parse_number(cell, {decimal_comma, grouped}) ? 1 : 0;
  };
  if (is_number(false, false) != 0) {
    ++column.numbers;
    column.with_point += cell.find('.') != std::string::npos ? 1 : 0;
    column.one_group_points += is_one_group(cell, '.') ? 1 : 0;
  }
  if (is_number(true, false) != 0) {
    ++column.comma_numbers;
    column.with_comma += cell.find(',') != std::string::npos ? 1 : 0;
    column.one_group_commas += is_one_group(cell, ',') ? 1 : 0;
  }
  column.grouped_numbers += is_number(false, true);
  column.grouped_comma_numbers += is_number(true, true);
  column.zero_led +=
      cell.size() > 1 && cell.front() == '0' && cell.find_first_not_of("0123456789") == std::string::npos;
  column.limits += is_limit(cell) ? 1 : 0;
  if (const std::optional<double> number = number_in(cell)) {
    count_end(column.least, *number, std::less<>());
    count_end(column.greatest, *number, std::greater<>());
  } else if (cell.size() <= kOddBytesMax && is_plain_text(cell) &&
             (column.odd.size() < kSurveyedOddMax || column.odd.contains(cell))) {
    ++column.odd[cell];
  }
  for (const DateForm& form : kDateForms)
    column.dates[static_cast<std::size_t>(form.format)] += parse_date(cell, form.format) ? 1 : 0;
  const std::string shape = shape_of(cell);
  if (column.shapes.size() < kSurveyedShapesMax || column.shapes.contains(shape)) ++column.shapes[shape];
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
  if (!is_utf8(cell)) {  // a draft is JSON, which holds nothing else
    survey.no_text = !survey.seen_text;
    return survey.refuse(
        fmt::format("column {}: expected UTF-8 text; --encoding Windows-1252 reads what Windows often writes", at + 1));
  }
  survey.seen_text = survey.seen_text || std::any_of(cell.begin(), cell.end(),
                                                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
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
      survey.refuse(fmt::format(
          "expected {} cells as in the header, found {}{}", survey.out.columns.size(), survey.column,
          survey.out.columns.size() == 1 ? "; is the first line a title? The names of columns must be first" : ""));
    ++survey.out.records;
  }
  survey.header_done = true;
  survey.column = 0;
  ++survey.row;
}

/// How often each separator stands in the line, outside quotation marks; the line is taken off the text.
std::array<std::size_t, kSeparators.size()> separators_in(std::string_view& text) {
  std::array<std::size_t, kSeparators.size()> found = {};
  bool quoted = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' || c == '\r') break;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] += c == kSeparators[i].mark ? 1 : 0;
  }
  text.remove_prefix(at);
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  return found;
}

/// It prefers a mark that stands equally often in the first two lines, and then the most frequent one of the first. It
/// takes a blank only where there is no other mark.
char separator_of(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  const auto first = separators_in(text);
  const auto second = separators_in(text);
  constexpr std::size_t kBlank = kSeparators.size() - 1;
  // The comma comes last where two stand equally often: it may belong to a name or to a number.
  const auto rank = [&](std::size_t i) {
    return std::tuple(first[i] > 0 && first[i] == second[i], first[i], kSeparators[i].mark != ',');
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < kBlank; ++i) best = rank(i) > rank(best) ? i : best;
  if (first[best] > 0) return kSeparators[best].mark;
  return std::get<0>(rank(kBlank)) ? kSeparators[kBlank].mark : CsvDialect{}.separator;
}

/// Decides how the file writes its numbers by those columns that can be read in one way alone. A few odd cells in a
/// column do not count.
void decide_numbers(const SurveyOptions& options, CsvSurvey& out) {
  bool points = false;  // some column needs a decimal point
  bool commas = false;
  bool grouped_points = false;  // some column may have points between groups
  bool grouped_commas = false;
  for (const ColumnSurvey& column : out.columns) {
    const std::int64_t most =
        std::max({column.numbers, column.comma_numbers, column.grouped_numbers, column.grouped_comma_numbers});
    if (2 * most <= column.cells) continue;
    const bool point = column.numbers == most;
    const bool comma = column.comma_numbers == most;
    if (comma && !point) {
      if (column.one_group_commas == column.with_comma) {  // each of them may be a thousand
        grouped_commas = true;
        out.undecided = column.name;
      } else {
        commas = true;
      }
    } else if (point && !comma) {
      (column.one_group_points == column.with_point ? grouped_points : points) = true;
    } else if (column.grouped_numbers == most && column.grouped_comma_numbers < most) {
      points = grouped_commas = true;
    } else if (column.grouped_comma_numbers == most && column.grouped_numbers < most) {
      commas = grouped_points = true;
    }
  }
  if (options.decimal_comma || points != commas) out.undecided.clear();
  NumberForm& form = out.dialect.numbers;
  form.decimal_comma = options.decimal_comma.value_or(commas && !points);
  form.grouped = form.decimal_comma ? grouped_points : grouped_commas && out.undecided.empty();
}

}  // namespace

struct TableSurvey::State {
  Survey survey;
};

TableSurvey::TableSurvey() : state_(std::make_unique<State>()) {}
TableSurvey::~TableSurvey() = default;

Status TableSurvey::begin(const std::vector<std::string>& columns, std::int64_t /*rows_at_most*/) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!is_utf8(columns[i]) || !is_plain_text(columns[i]))
      return Error{ErrorCode::InvalidData, fmt::format("column {}: expected a name in plain text", i + 1)};
    ColumnSurvey column;
    column.name = columns[i];
    state_->survey.out.columns.push_back(std::move(column));
  }
  return {};
}

void TableSurvey::cell(std::size_t column, std::span<char> text, TableProblems& problems) {
  const std::string cell(text.begin(), text.end());
  if (!is_utf8(cell)) return problems.add(fmt::format("column {}: expected UTF-8 text", column + 1), false);
  look_at(state_->survey, state_->survey.out.columns[column], cell);
}

void TableSurvey::missing(std::size_t column, TableProblems& /*problems*/) {
  look_at(state_->survey, state_->survey.out.columns[column], "");
}

void TableSurvey::end_row(TableProblems& /*problems*/) { ++state_->survey.out.records; }

CsvSurvey TableSurvey::take() {
  SurveyOptions points;
  points.decimal_comma = false;
  decide_numbers(points, state_->survey.out);
  state_->survey.out.dialect.numbers.grouped = false;
  return std::move(state_->survey.out);
}

const std::vector<std::string>& missing_texts() {
  static const std::vector<std::string> texts = {
      "",  "NA", "N/A",     "n/a",     "na",  "NaN",     "nan",     "NULL",  "null",  "None",   "#N/A",  "?",
      ".", "-",  "missing", "Missing", "\\N", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"};
  return texts;
}

std::string shape_of(std::string_view cell) {
  constexpr std::size_t kShapeMax = 24;
  std::string out;
  bool in_sign = false;  // of several bytes
  for (const char c : cell) {
    const auto byte = static_cast<unsigned char>(c);
    const bool goes_on = byte >= 0x80 && byte < 0xc0;
    if (!goes_on) in_sign = byte == 0xc2 || byte == 0xe2;  // U+0080 to U+00BF and U+2000 to U+2FFF: no letters
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (byte >= 0x80 && !in_sign);
    const char as = c >= '0' && c <= '9' ? '9' : letter ? 'a' : byte < 0x20 || byte == 0x7f ? '?' : c;
    if ((as == '9' || as == 'a') && !out.empty() && out.back() == as) continue;
    if (out.size() >= kShapeMax && !goes_on) return out + "...";
    out += as;
  }
  return out;
}

namespace {

Result<CsvSurvey> survey_in(const std::filesystem::path& file, const SurveyOptions& options, TextEncoding encoding,
                            bool& no_text) {
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
  survey.out.dialect.encoding = encoding;
  TextDecoder decoder(encoding);
  bool first = true;
  std::int64_t row = 0;
  std::size_t row_bytes = 0;
  while (survey.problem.empty()) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    if (stream.gcount() == 0) break;
    std::string_view bytes = decoder.decode({block.data(), static_cast<std::size_t>(stream.gcount())});
    if (first) {
      const std::optional<SeparatorLine> line = separator_line(bytes);
      if (line) bytes.remove_prefix(line->bytes);
      survey.row += line ? 1 : 0;
      survey.out.dialect.separator = options.separator ? *options.separator
                                     : line            ? line->separator
                                                       : separator_of(bytes);
      csv_set_delim(&parser, static_cast<unsigned char>(survey.out.dialect.separator));
      first = false;
    }
    if (bytes.find('\0') != std::string_view::npos)
      survey.refuse("expected UTF-8 text, found a zero byte; if it is UTF-16, say --encoding UTF-16");
    if (csv_parse(&parser, bytes.data(), bytes.size(), survey_field, survey_row, &survey) != bytes.size())
      survey.refuse("a quotation mark where none may stand");
    if (const Status so_far = decoder.so_far(); !so_far) survey.refuse(so_far.error().message);
    row_bytes = survey.row == row ? row_bytes + bytes.size() : 0;
    row = survey.row;
    if (row_bytes > kCsvLineBytesMax) survey.refuse(fmt::format("more than {} bytes", kCsvLineBytesMax));
  }
  if (const Status whole = decoder.finish(); !whole) survey.refuse(whole.error().message);
  if (survey.problem.empty() && csv_fini(&parser, survey_field, survey_row, &survey) != 0)
    survey.refuse("a quotation mark is not closed");
  if (survey.problem.empty() && survey.out.records == 0) survey.refuse("expected records, found none");
  no_text = survey.no_text;
  if (!survey.problem.empty()) return Error{ErrorCode::InvalidData, survey.problem};
  decide_numbers(options, survey.out);
  return std::move(survey.out);
}

}  // namespace

Result<CsvSurvey> survey_csv(const std::filesystem::path& file, const SurveyOptions& options) {
  bool no_text = false;
  std::error_code unknown;
  if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown) &&
      !std::filesystem::is_directory(file, unknown)) {
    return Error{ErrorCode::InvalidData, fmt::format("{}: expected a file, and no pipe or device", file.string())};
  }
  if (options.encoding) return survey_in(file, options, *options.encoding, no_text);
  std::ifstream stream(file, std::ios::binary);
  std::array<char, 3> begins = {};
  stream.read(begins.data(), begins.size());
  const std::string_view mark(begins.data(), static_cast<std::size_t>(stream.gcount()));
  if (has_utf16_mark(mark)) return survey_in(file, options, TextEncoding::Utf16, no_text);
  Result<CsvSurvey> out = survey_in(file, options, TextEncoding::Utf8, no_text);
  if (!no_text || mark == "\xef\xbb\xbf") return out;
  Result<CsvSurvey> windows = survey_in(file, options, TextEncoding::Windows1252, no_text);
  return windows ? std::move(windows) : std::move(out);
}

}  // namespace undertone::data
