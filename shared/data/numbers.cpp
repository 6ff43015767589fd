#include "shared/data/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace undertone::data {
namespace {

constexpr std::size_t kNumberBytesMax = 64;  // of one whose marks are exchanged

bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::size_t sign_of(std::string_view text) {
  return !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
}

/// The part of a text that says that a value is below or above what follows; nothing where it says no such thing.
std::string_view limit_mark(std::string_view text) {
  constexpr std::array<std::string_view, 6> kMarks = {"<=", ">=", "<", ">", "\u2264", "\u2265"};
  for (const std::string_view mark : kMarks) {
    if (!text.starts_with(mark)) continue;
    std::size_t size = mark.size();
    while (size < text.size() && text[size] == ' ') ++size;
    return text.substr(0, size);
  }
  return {};
}

/// Whether the digits up to the decimal mark stand in groups of three: 1,234 and 12,345,678, not 1,23 nor 0,123.
bool stands_in_groups(std::string_view text, char between, char decimal) {
  const std::size_t sign = sign_of(text);
  const std::size_t end = std::min(text.find(decimal), text.size());
  const std::string_view whole = text.substr(sign, end - sign);
  if (text.find(between, end) != std::string_view::npos) return false;
  const std::size_t first = whole.find(between);
  if (first == std::string_view::npos) return true;
  if (first == 0 || first > 3 || whole.front() == '0') return false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool mark_here = i >= first && (i - first) % 4 == 0;
    if (mark_here ? whole[i] != between : !is_digit(whole[i])) return false;
  }
  return (whole.size() - first) % 4 == 0;
}

}  // namespace

std::optional<double> parse_number(std::string_view text, const NumberForm& form) {
  if (const std::optional<double> number = form.decimal_comma ? std::nullopt : short_decimal(text)) return number;
  const char decimal = form.decimal_comma ? ',' : '.';
  const char between = form.decimal_comma ? '.' : ',';
  std::array<char, kNumberBytesMax> plain;  // NOLINT(cppcoreguidelines-pro-type-member-init): read where written
  if (text.find(',') != std::string_view::npos || (form.decimal_comma && text.find('.') != std::string_view::npos)) {
    if (text.size() > plain.size()) return std::nullopt;
    if (text.find(between) != std::string_view::npos && !(form.grouped && stands_in_groups(text, between, decimal)))
      return std::nullopt;
    auto* end = std::remove_copy(text.begin(), text.end(), plain.begin(), between);
    std::replace(plain.begin(), end, ',', '.');  // two of them are no number either
    text = {plain.data(), static_cast<std::size_t>(end - plain.begin())};
  }
  if (text.size() > 1 && text.front() == '+' && (is_digit(text[1]) || text[1] == '.')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> parse_limit(std::string_view text, const NumberForm& form) {
  const std::string_view mark = limit_mark(text);
  if (mark.empty()) return std::nullopt;
  return parse_number(text.substr(mark.size()), form);
}

std::string plain_number(std::string_view text, const NumberForm& form) {
  std::string out(text);
  if (form == NumberForm{} || !(parse_number(text, form) || parse_limit(text, form))) return out;
  std::erase(out, form.decimal_comma ? '.' : ',');
  std::replace(out.begin(), out.end(), ',', '.');
  return out;
}

bool is_one_group(std::string_view text, char mark) {
  text.remove_prefix(sign_of(text));
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos || at == 0 || at > 3 || text.size() != at + 4 || text.front() == '0') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != at && !is_digit(text[i])) return false;
  }
  return true;
}

}  // namespace undertone::data
