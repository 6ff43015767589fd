#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace undertone::data {

/// How numbers are written.
struct NumberForm {
  bool decimal_comma = false;  // 1,5 is a number, and 1.5 is none
  /// The digits before the decimal mark may stand in groups of three, with the other mark between them: 12,345.6, or
  /// 12.345,6 with a decimal comma.
  bool grouped = false;
  friend bool operator==(const NumberForm&, const NumberForm&) = default;
};

/// A finite number in decimal digits and nothing else. A plus sign may stand before it.
[[nodiscard]] std::optional<double> parse_number(std::string_view text, const NumberForm& form);

/// The limit that a cell says a value is below or above: 0.6 of "<0.6", 200 of ">= 200". Nothing where it says none.
[[nodiscard]] std::optional<double> parse_limit(std::string_view text, const NumberForm& form);

/// The same number, digit for digit, with a decimal point and without groups; a text that is no number as it is. The
/// mark of a limit stays.
[[nodiscard]] std::string plain_number(std::string_view text, const NumberForm& form);

/// Whether the text is one to three digits, the mark and three digits: 12,345 is twelve thousand in some countries, and
/// twelve in others. What begins with a zero is no group.
[[nodiscard]] bool is_one_group(std::string_view text, char mark);

}  // namespace undertone::data
