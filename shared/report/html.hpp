#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace undertone::report {

/// Text as it stands in an element or a quoted attribute. Control characters but tab and line end become '?'.
[[nodiscard]] std::string escape_html(std::string_view text);

/// JSON as it stands in a <script> element: no '<', '>' or '&', so that no text in it can end the element.
[[nodiscard]] std::string script_json(const nlohmann::ordered_json& value);

/// A source expression of a content security policy that allows exactly this inline script or style.
[[nodiscard]] std::string content_hash(std::string_view content);

/// A table of texts; the first cell of a row is its header. One of two columns wraps where it is narrow, a wider one
/// scrolls by itself.
struct HtmlTable {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string link_prefix;  // if not empty, row i's header links to #PREFIXi
};

[[nodiscard]] std::string to_html(const HtmlTable& table);

/// Takes away the columns, the first excepted, that say the same in every row, where there are two rows or more.
/// @param begins a sentence, such as "In every run: "
/// @return the sentence that says what they said, as HTML; empty where there were none
[[nodiscard]] std::string say_once(HtmlTable& table, std::string_view begins);

}  // namespace undertone::report
