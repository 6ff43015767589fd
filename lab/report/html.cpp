#include "lab/report/html.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "shared/base/digest.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::lab {
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

bool is_number(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789.eE+-%") == std::string::npos;
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
  // A wide table scrolls by itself; `tabindex` lets a keyboard do that.
  std::string out = fmt::format("<div class=\"wide\" tabindex=\"0\"><table><caption>{}</caption>\n<thead><tr>",
                                escape_html(table.caption));
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

}  // namespace undertone::lab
