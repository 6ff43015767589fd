#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace undertone::data {

/// A column's name as people see it: an accent is the same written as one character or as two (Unicode's form NFC), a
/// no-break space is a blank, and there are no blanks at the ends and no two side by side. Accents of a name of more
/// than 1,000 bytes stay as they are written.
[[nodiscard]] std::string comparable_name(std::string_view utf8);
[[nodiscard]] bool is_same_name(std::string_view one, std::string_view other);

/// The names of a file's columns, compared as people see them.
class ColumnNames {
 public:
  explicit ColumnNames(const std::vector<std::string>& header);

  /// The first column of this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// How many columns have this name.
  [[nodiscard]] std::size_t count(std::string_view name) const;

 private:
  struct Place {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::unordered_map<std::string, Place> places_;
};

}  // namespace undertone::data
