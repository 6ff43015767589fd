#pragma once

namespace undertone::data {

/// How a file writes its cells and numbers.
struct CsvDialect {
  char separator = ',';        // between cells: a comma, a semicolon or a tab
  bool decimal_comma = false;  // 1,5 is a number, and 1.5 is none
  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

}  // namespace undertone::data
