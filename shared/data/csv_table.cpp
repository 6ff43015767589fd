#include "shared/data/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csv.h>
#include <iterator>
#include <memory>
#include <optional>

namespace undertone::data {
namespace {

constexpr std::size_t kColumnsMax = 100'000;

struct ParserState {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
};

void on_field(void* text, std::size_t size, void* state) {
  static_cast<ParserState*>(state)->row.emplace_back(static_cast<const char*>(text), size);
}

void on_row(int /*terminator*/, void* state) {
  auto* parser = static_cast<ParserState*>(state);
  parser->rows.push_back(std::move(parser->row));
  parser->row.clear();
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

double scale(const NumericColumn& column, double value) {
  return 2.0 * (std::clamp(value, column.min, column.max) - column.min) / (column.max - column.min) - 1.0;
}

const std::string& label_column(const Schema& schema) {
  if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) return binary->column;
  return std::get<NumericLabel>(schema.label).column.name;
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, const std::string& name) {
  csv_parser parser;
  UNDERTONE_CHECK(csv_init(&parser, CSV_STRICT | CSV_APPEND_NULL) == 0);
  const std::unique_ptr<csv_parser, decltype(&csv_free)> guard(&parser, &csv_free);
  ParserState state;
  const std::size_t parsed = csv_parse(&parser, text.data(), text.size(), on_field, on_row, &state);
  if (parsed != text.size() || csv_fini(&parser, on_field, on_row, &state) != 0) {
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

Result<models::Records> to_records(const CsvTable& table, const Schema& schema, const std::string& name) {
  const auto find = [&](const std::string& column) -> Result<std::size_t> {
    const auto first = std::find(table.header.begin(), table.header.end(), column);
    if (first == table.header.end()) {
      return Error{ErrorCode::InvalidData, fmt::format("{}:1: the schema's column \"{}\" is missing", name, column)};
    }
    if (std::find(first + 1, table.header.end(), column) != table.header.end()) {
      return Error{ErrorCode::InvalidData, fmt::format("{}:1: the column \"{}\" stands twice", name, column)};
    }
    return static_cast<std::size_t>(first - table.header.begin());
  };
  std::vector<std::size_t> positions;
  for (const NumericColumn& column : schema.features) {
    const Result<std::size_t> position = find(column.name);
    if (!position) return position.error();
    positions.push_back(*position);
  }
  const Result<std::size_t> label = find(label_column(schema));
  if (!label) return label.error();

  const auto count = static_cast<Eigen::Index>(table.rows.size());
  models::Records records{Eigen::MatrixXd(static_cast<Eigen::Index>(schema.features.size()), count),
                          Eigen::VectorXd(count)};
  const auto bad_cell = [&](std::size_t row, const std::string& column, const std::string& expected) {
    return Error{ErrorCode::InvalidData,
                 fmt::format("{}: record {}, column \"{}\": expected {}", name, row + 1, column, expected)};
  };
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto record = static_cast<Eigen::Index>(i);
    for (std::size_t f = 0; f < positions.size(); ++f) {
      const std::optional<double> value = parse_number(table.rows[i][positions[f]]);
      if (!value) return bad_cell(i, schema.features[f].name, "a finite number");
      records.features(static_cast<Eigen::Index>(f), record) = scale(schema.features[f], *value);
    }
    const std::string& cell = table.rows[i][*label];
    if (const auto* binary = std::get_if<BinaryLabel>(&schema.label)) {
      if (cell != binary->negative && cell != binary->positive) {
        return bad_cell(i, binary->column, fmt::format("\"{}\" or \"{}\"", binary->negative, binary->positive));
      }
      records.targets[record] = cell == binary->positive ? 1.0 : -1.0;
    } else {
      const NumericColumn& column = std::get<NumericLabel>(schema.label).column;
      const std::optional<double> value = parse_number(cell);
      if (!value) return bad_cell(i, column.name, "a finite number");
      records.targets[record] = scale(column, *value);
    }
  }
  return records;
}

}  // namespace undertone::data
