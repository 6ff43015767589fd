#include "shared/report/html.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "shared/base/digest.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::report {
namespace {

std::string replaced(std::string_view text, char what, std::string_view with) {
  std::string out;
  for (const char character : text) {
    if (character == what) {
      out += with;
    } else {
      out += character;
    }
  }
  return out;
}

/// Such as "0.31", "1e-06" or "0.31 ± 0.02".
bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.eE+-% \u00b1") == std::string::npos;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '\n' && text[i] != '\t') continue;
    for (const char character : plain_text(text.substr(begin, i - begin))) {
      switch (character) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        case '"':
          out += "&quot;";
          break;
        case '\'':
          out += "&#39;";
          break;
        default:
          out += character;
      }
    }
    if (i < text.size()) out += text[i];
    begin = i + 1;
  }
  return out;
}

std::string script_json(const nlohmann::ordered_json& value) {
  // In JSON these three stand in strings alone, where an escape means the same.
  const std::string text = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return replaced(replaced(replaced(text, '<', "\\u003c"), '>', "\\u003e"), '&', "\\u0026");
}

std::string content_hash(std::string_view content) {
  const Digest digest = sha256(content);
  std::string base64(4 * ((digest.size() + 2) / 3) + 1, '\0');  // OpenSSL writes a final zero
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()), digest.data(), static_cast<int>(digest.size()));
  base64.resize(static_cast<std::size_t>(size));
  return "'sha256-" + base64 + "'";
}

std::string to_html(const HtmlTable& table) {
  // A wide table scrolls by itself; `tabindex` lets a keyboard do that. Its caption stands above: it stays in view.
  const std::string caption = escape_html(table.caption);
  std::string out = fmt::format(
      "<p class=\"caption\">{0}</p>\n<div class=\"wide\" role=\"region\" aria-label=\"{0}\" tabindex=\"0\">"
      "<table{1}>\n<thead><tr>",
      caption, table.header.size() == 2 ? " class=\"pairs\"" : "");
  for (const std::string& cell : table.header) out += fmt::format("<th scope=\"col\">{}</th>", escape_html(cell));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      const std::string& cell = table.rows[r][c];
      if (c > 0) {
        out += fmt::format("<td{}>{}</td>", is_number(cell) ? " class=\"number\"" : "", escape_html(cell));
      } else if (table.link_prefix.empty()) {
        out += fmt::format("<th scope=\"row\">{}</th>", escape_html(cell));
      } else {
        out += fmt::format("<th scope=\"row\"><a href=\"#{}{}\">{}</a></th>", table.link_prefix, r, escape_html(cell));
      }
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string say_once(HtmlTable& table, std::string_view begins) {
  if (table.rows.size() < 2) return "";
  std::string said;
  for (std::size_t c = table.header.size() - 1; c > 0; --c) {
    const std::string& first = table.rows.front()[c];
    const bool same =
        std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[c] == first; });
    if (!same) continue;
    said = fmt::format("{} {}", table.header[c], first.empty() ? "-" : first) + (said.empty() ? "" : "; ") + said;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.header.erase(table.header.begin() + at);
    for (std::vector<std::string>& row : table.rows) row.erase(row.begin() + at);
  }
  return said.empty() ? "" : fmt::format("<p>{}{}.</p>\n", escape_html(begins), escape_html(said));
}

}  // namespace undertone::report
