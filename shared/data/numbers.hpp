#pragma once

#include <array>
#include <cstdint>
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

/// A number of at most 15 digits with a decimal point or none, without an exponent and without a plus sign, as most
/// are; nothing where the text is another. The digits and the power of ten are doubles then, so that one division
/// rounds to the nearest double, as the slower way does (Clinger, 1990).
[[nodiscard]] inline std::optional<double> short_decimal(std::string_view text) {
  constexpr std::array<double, 16> kPowers = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                              1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 16) return std::nullopt;
  std::uint64_t digits = 0;
  std::size_t count = 0;
  std::size_t whole = SIZE_MAX;  // digits before the point
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits = 10 * digits + static_cast<std::uint64_t>(c - '0');
      ++count;
    } else if (c == '.' && whole == SIZE_MAX) {
      whole = count;
    } else {
      return std::nullopt;
    }
  }
  if (count == 0 || count > 15) return std::nullopt;
  const double value = static_cast<double>(digits) / kPowers[whole == SIZE_MAX ? 0 : count - whole];
  return negative ? -value : value;
}

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
