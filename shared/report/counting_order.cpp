#include "shared/report/counting_order.hpp"

#include <algorithm>
#include <charconv>

namespace undertone::report {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

/// The decimal number that a text begins with, taken off it.
double take_number(std::string_view& text) {
  std::size_t size = digits(text);
  if (size + 1 < text.size() && text[size] == '.' && is_digit(text[size + 1]))
    size += 1 + digits(text.substr(size + 1));
  double value = 0.0;
  (void)std::from_chars(text.data(), text.data() + size, value, std::chars_format::fixed);
  text.remove_prefix(size);
  return value;
}

}  // namespace

bool counts_before(std::string_view a, std::string_view b) {
  std::string_view left = a;
  std::string_view right = b;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const double x = take_number(left);
      const double y = take_number(right);
      if (x != y) return x < y;
    } else if (left.front() != right.front()) {
      return left.front() < right.front();
    } else {
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  if (left.empty() != right.empty()) return left.empty();
  return a < b;  // "01" and "1"
}

}  // namespace undertone::report
