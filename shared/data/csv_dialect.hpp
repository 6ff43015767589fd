#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "shared/data/numbers.hpp"
#include "shared/data/text_encoding.hpp"

namespace undertone::data {

/// How a file writes its cells and numbers.
struct CsvDialect {
  char separator = ',';  // between cells: a comma, a semicolon, a tab, a vertical bar or a blank
  NumberForm numbers = {};
  TextEncoding encoding = TextEncoding::Utf8;
  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

/// What may stand between cells, and how it is called.
inline constexpr std::array<std::pair<char, const char*>, 5> kSeparators = {
    {{',', "commas"}, {';', "semicolons"}, {'\t', "tabs"}, {'|', "vertical bars"}, {' ', "blanks"}}};
[[nodiscard]] const char* separator_words(char separator);

/// The first line of what Excel writes for itself: "sep=;".
struct SeparatorLine {
  char separator = ',';
  std::size_t bytes = 0;  // with its end
};
[[nodiscard]] std::optional<SeparatorLine> separator_line(std::string_view text);

}  // namespace undertone::data
