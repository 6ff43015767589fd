#include "shared/base/plain_text.hpp"

namespace undertone {
namespace {

/// Bytes of the unplain character that a text begins with; 0 if it begins with a plain one.
std::size_t unplain_prefix(std::string_view text) {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) <= 0x9f) return 2;  // C1
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;                     // U+061C, Arabic letter mark
  if (byte(0) == 0xe2 && byte(1) == 0x80) {
    if (byte(2) >= 0x8b && byte(2) <= 0x8f) return 3;  // U+200B to U+200F: no width, marks of direction
    if (byte(2) >= 0xa8 && byte(2) <= 0xae) return 3;  // U+2028 to U+202E: separators, embeddings, overrides
  }
  if (byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9) return 3;  // U+2066 to U+2069: isolates
  if (byte(0) == 0xef && byte(1) == 0xbb && byte(2) == 0xbf) return 3;                     // U+FEFF: no width
  return 0;
}

}  // namespace

bool is_plain_text(std::string_view utf8) { return plain_text(utf8) == utf8; }

std::string plain_text(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  while (!utf8.empty()) {
    const std::size_t unplain = unplain_prefix(utf8);
    out.push_back(unplain > 0 ? '?' : utf8.front());
    utf8.remove_prefix(unplain > 0 ? unplain : 1);
  }
  return out;
}

std::string quoted_text(std::string_view utf8) {
  std::string out = "\"";
  for (const char character : plain_text(utf8)) {
    if (character == '"' || character == '\\') out.push_back('\\');
    out.push_back(character);
  }
  return out + "\"";
}

std::string plain_lines(std::string_view utf8) {
  std::string out;
  while (true) {
    const std::size_t end = utf8.find('\n');
    out += plain_text(utf8.substr(0, end));
    if (end == std::string_view::npos) return out;
    out += '\n';
    utf8.remove_prefix(end + 1);
  }
}

std::string plain_beginning(std::string_view utf8, std::size_t bytes_max) {
  return utf8.size() <= bytes_max ? plain_text(utf8) : plain_text(utf8.substr(0, bytes_max)) + "...";
}

}  // namespace undertone
