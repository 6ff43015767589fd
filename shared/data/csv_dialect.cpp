#include "shared/data/csv_dialect.hpp"

namespace undertone::data {

const NamedSeparator& named(char separator) {
  for (const NamedSeparator& one : kSeparators) {
    if (one.mark == separator) return one;
  }
  return kSeparators.front();
}

std::vector<std::string> separator_names() {
  std::vector<std::string> out;
  out.reserve(kSeparators.size());
  for (const NamedSeparator& one : kSeparators) out.emplace_back(one.name);
  return out;
}

std::vector<std::string> encoding_names() {
  std::vector<std::string> out;
  out.reserve(kTextEncodings.size());
  for (const NamedEncoding& one : kTextEncodings) out.emplace_back(one.name);
  return out;
}

std::optional<char> DialectOptions::separator_said() const {
  for (const NamedSeparator& one : kSeparators) {
    if (separator == one.name) return one.mark;
  }
  return std::nullopt;
}

std::optional<bool> DialectOptions::decimal_comma_said() const {
  return decimal.empty() ? std::nullopt : std::optional(decimal == "comma");
}

std::optional<TextEncoding> DialectOptions::encoding_said() const {
  for (const NamedEncoding& one : kTextEncodings) {
    if (encoding == one.name) return one.encoding;
  }
  return std::nullopt;
}

CsvDialect DialectOptions::dialect() const {
  const CsvDialect usual;
  return {separator_said().value_or(usual.separator),
          {decimal_comma_said().value_or(false), grouped},
          encoding_said().value_or(usual.encoding)};
}

std::optional<SeparatorLine> separator_line(std::string_view text) {
  constexpr std::string_view kBegins = "sep=";
  const std::string_view whole = text;
  const bool quoted = text.substr(0, 1) == "\"";
  if (quoted) text.remove_prefix(1);
  if (text.size() < kBegins.size() + 2) return std::nullopt;
  for (std::size_t i = 0; i < kBegins.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != kBegins[i]) return std::nullopt;
  }
  const char separator = text[kBegins.size()];
  if (named(separator).mark != separator) return std::nullopt;
  text.remove_prefix(kBegins.size() + 1);
  if (quoted && text.substr(0, 1) != "\"") return std::nullopt;
  if (quoted) text.remove_prefix(1);
  const std::size_t end = text.substr(0, 2) == "\r\n" ? 2 : text.find_first_of("\r\n") == 0 ? 1 : 0;
  if (end == 0) return std::nullopt;
  return SeparatorLine{separator, whole.size() - text.size() + end};
}

}  // namespace undertone::data
