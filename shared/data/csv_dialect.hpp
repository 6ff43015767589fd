#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// A mark that may stand between cells.
struct NamedSeparator {
  char mark;
  const char* name;   // in configurations and options
  const char* words;  // of several
};
inline constexpr std::array<NamedSeparator, 5> kSeparators = {{{',', ",", "commas"},
                                                               {';', ";", "semicolons"},
                                                               {'\t', "tab", "tabs"},
                                                               {'|', "|", "vertical bars"},
                                                               {' ', "blank", "blanks"}}};
[[nodiscard]] const NamedSeparator& named(char separator);

/// The names of all separators and encodings, for options.
[[nodiscard]] std::vector<std::string> separator_names();
[[nodiscard]] std::vector<std::string> encoding_names();

/// A dialect as the options of a command say it; what is empty is not said.
struct DialectOptions {
  std::string separator = {};  // @see kSeparators
  std::string decimal = {};    // "point" or "comma"
  std::string encoding = {};   // @see kTextEncodings
  bool grouped = false;

  [[nodiscard]] std::optional<char> separator_said() const;
  [[nodiscard]] std::optional<bool> decimal_comma_said() const;
  [[nodiscard]] std::optional<TextEncoding> encoding_said() const;
  /// With what is usual in place of what is not said.
  [[nodiscard]] CsvDialect dialect() const;
};

/// The first line of what Excel writes for itself: "sep=;".
struct SeparatorLine {
  char separator = ',';
  std::size_t bytes = 0;  // with its end
};
[[nodiscard]] std::optional<SeparatorLine> separator_line(std::string_view text);

}  // namespace undertone::data
