#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/data/csv_dialect.hpp"
#include "shared/data/schema.hpp"
#include "shared/models/linear_model.hpp"

namespace undertone::data {

/// A CSV file as text: a header and rows of equal length.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// Parses separated text with a header (RFC 4180, but for the dialect). Cells are UTF-8 afterwards.
/// @param name of the file, for errors, which give line and column and never a cell's value (decision 12)
[[nodiscard]] Result<CsvTable> parse_csv(std::string_view text, const std::string& name,
                                         const CsvDialect& dialect = {});

/// Turns the schema's columns into records: features in the schema's order, scaled to [-1, 1]. Columns that the schema
/// does not name are not read. Every problem of the file is an error with line and column; none shows a value.
[[nodiscard]] Result<models::Records> to_records(const CsvTable& table, const Schema& schema, const std::string& name);

/// A cell as it stands in a file, in quotation marks.
[[nodiscard]] std::string csv_cell(const std::string& cell);
/// The same of a text that somebody else may have chosen, for a file that people open in a spreadsheet: where it begins
/// with what begins a formula there (=, +, -, @, a tab, a carriage return; spaces before it do not count) and is not a
/// number, a single quote comes before it.
[[nodiscard]] std::string csv_text_cell(const std::string& text);
/// A row as it stands in a file, its end included.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

}  // namespace undertone::data
