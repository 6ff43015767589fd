#pragma once

#include <string>
#include <string_view>

namespace undertone {

/// Whether a text can stand in a log, on a terminal or in a statement as what it looks like: no control characters
/// (C0, DEL, C1), no separators of lines, no marks that change the direction of writing, nothing that has no width.
[[nodiscard]] bool is_plain_text(std::string_view utf8);

/// The text with everything that is not plain replaced by '?'.
[[nodiscard]] std::string plain_text(std::string_view utf8);
/// The same of each of several lines.
[[nodiscard]] std::string plain_lines(std::string_view utf8);
/// The same of a text that may be long: its beginning, with three dots where there is more.
/// @param bytes_max that are kept of it
[[nodiscard]] std::string plain_beginning(std::string_view utf8, std::size_t bytes_max);

/// The plain text in quotes, with a backslash before every quote and backslash of its own: a value of a log line, which
/// cannot end early and begin another field.
[[nodiscard]] std::string quoted_text(std::string_view utf8);

}  // namespace undertone
