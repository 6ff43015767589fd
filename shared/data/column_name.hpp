#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace undertone::data {

/// A column's name as people see it: Unicode's compatibility form NFKC, without blanks at its ends and with one in
/// place of several. A no-break space is a blank, and an accent is the same written as one character or as two.
[[nodiscard]] std::string comparable_name(std::string_view utf8);
[[nodiscard]] bool is_same_name(std::string_view one, std::string_view other);

/// The first column of this name.
template <class Iterator>
[[nodiscard]] Iterator find_column(Iterator from, Iterator to, std::string_view name) {
  const std::string wanted = comparable_name(name);
  return std::find_if(from, to, [&wanted](const std::string& column) { return comparable_name(column) == wanted; });
}

}  // namespace undertone::data
