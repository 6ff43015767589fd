#include "shared/data/csv_dialect.hpp"

namespace undertone::data {

const char* separator_words(char separator) {
  for (const auto& [mark, words] : kSeparators) {
    if (mark == separator) return words;
  }
  return "another mark";
}

std::optional<SeparatorLine> separator_line(std::string_view text) {
  constexpr std::string_view kBegins = "sep=";
  if (text.substr(0, kBegins.size()) != kBegins || text.size() < kBegins.size() + 2) return std::nullopt;
  std::size_t at = kBegins.size() + 1;
  if (text[at] == '\r') ++at;
  if (at >= text.size() || text[at] != '\n') return std::nullopt;
  return SeparatorLine{text[kBegins.size()], at + 1};
}

}  // namespace undertone::data
