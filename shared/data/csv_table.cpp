#include "shared/data/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csv.h>
#include <iterator>
#include <memory>

#include "shared/data/record_encoder.hpp"

namespace undertone::data {
namespace {

constexpr std::size_t kColumnsMax = 100'000;

struct ParserState {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
};

void take_cell(void* text, std::size_t size, void* state) {
  static_cast<ParserState*>(state)->row.emplace_back(static_cast<const char*>(text), size);
}

void take_row(int /*terminator*/, void* state) {
  auto* parser = static_cast<ParserState*>(state);
  parser->rows.push_back(std::move(parser->row));
  parser->row.clear();
}

/// Whether a text is a decimal number and nothing else, so that a spreadsheet computes nothing of it.
bool is_decimal_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view bytes, const std::string& name, const CsvDialect& dialect) {
  TextDecoder decoder(dialect.encoding);
  std::string_view text = decoder.decode(bytes);
  if (const Status whole = decoder.finish(); !whole)
    return Error{ErrorCode::InvalidData, fmt::format("{}: {}", name, whole.error().message)};
  if (const std::optional<SeparatorLine> line = separator_line(text)) text.remove_prefix(line->bytes);
  csv_parser parser;
  UNDERTONE_CHECK(csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL) == 0);
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(dialect.separator));
  ParserState state;
  const std::size_t parsed = csv_parse(&parser, text.data(), text.size(), take_cell, take_row, &state);
  if (parsed != text.size() || csv_fini(&parser, take_cell, take_row, &state) != 0) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(parsed), '\n');
    return Error{ErrorCode::InvalidData, fmt::format("{}:{}: a quotation mark where none may stand", name, line)};
  }
  if (state.rows.empty())
    return Error{ErrorCode::InvalidData, fmt::format("{}:1: expected a header, found nothing", name)};
  CsvTable table;
  table.header = std::move(state.rows.front());
  if (table.header.size() > kColumnsMax) {
    return Error{ErrorCode::LimitExceeded,
                 fmt::format("{}:1: {} columns, at most {}", name, table.header.size(), kColumnsMax)};
  }
  table.rows.assign(std::make_move_iterator(state.rows.begin() + 1), std::make_move_iterator(state.rows.end()));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.rows[i].size() != table.header.size()) {
      return Error{ErrorCode::InvalidData, fmt::format("{}: record {}: expected {} cells as in the header, found {}",
                                                       name, i + 1, table.header.size(), table.rows[i].size())};
    }
  }
  return table;
}

std::string csv_cell(const std::string& cell) {
  std::string out(2 * cell.size() + 2, '\0');
  out.resize(csv_write(out.data(), out.size(), cell.data(), cell.size()));
  return out;
}

std::string csv_text_cell(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  const bool begins_formula =
      first != std::string::npos && std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
  return csv_cell(begins_formula && !is_decimal_number(text) ? "'" + text : text);
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return line + "\n";
}

Result<models::Records> to_records(const CsvTable& table, const Schema& schema, const std::string& name) {
  Result<RecordEncoder> encoder = RecordEncoder::create(table.header, schema, true);
  if (!encoder) return Error{encoder.error().code, fmt::format("{}:1: {}", name, encoder.error().message)};
  const auto count = static_cast<Eigen::Index>(table.rows.size());
  models::Records records{Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(encoder->width()), count),
                          Eigen::VectorXd(count)};
  if (encoder->groups()) records.groups.assign(table.rows.size(), 0);
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto record = static_cast<Eigen::Index>(i);
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      const RecordEncoder::Expected expected =
          encoder->encode(c, table.rows[i][c], RecordEncoder::row_of(records, record));
      if (expected == nullptr) continue;
      return Error{ErrorCode::InvalidData,
                   fmt::format("{}: record {}, column \"{}\": expected {}", name, i + 1, table.header[c], *expected)};
    }
  }
  return records;
}

}  // namespace undertone::data
