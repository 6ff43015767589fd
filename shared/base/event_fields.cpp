#include "shared/base/event_fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace undertone {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // keys, and values as JSON

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// A number that every reader of JSON takes exactly.
bool is_whole_number(std::string_view text) {
  constexpr std::size_t kDigitsMax = 15;
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() <= kDigitsMax && (text == "0" || text.front() != '0');
}

/// Takes a quoted text from the front. @return nothing where its quote does not end
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string out;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return out;
    }
    if (rest[i] == '\\' && ++i == rest.size()) return std::nullopt;
    out.push_back(rest[i]);
  }
  return std::nullopt;
}

/// Takes a value from the front, as JSON.
std::optional<std::string> take_value(std::string_view key, std::string_view& rest) {
  static const std::set<std::string_view> kNames = {"run", "job", "silo", "operator", "shuffler"};
  if (rest.starts_with('"')) {
    const std::optional<std::string> text = take_quoted(rest);
    if (!text || !(rest.empty() || rest.starts_with(' '))) return std::nullopt;
    return json_text(*text);
  }
  const std::string_view value = rest.substr(0, rest.find(' '));
  rest.remove_prefix(value.size());
  if (value.find('"') != std::string_view::npos) return std::nullopt;
  return is_whole_number(value) && !kNames.contains(key) ? std::string(value) : json_text(value);
}

/// The line's fields; nothing where it has another form, or would say one key twice.
std::optional<Fields> fields_of(std::string_view line) {
  std::string_view rest = line.substr(0, line.find(' '));
  if (!is_word(rest)) return std::nullopt;
  Fields out = {{"event", json_text(rest)}};
  std::set<std::string_view> keys = {"time", "level", "program", "event"};
  line.remove_prefix(rest.size());
  while (!line.empty()) {
    line.remove_prefix(1);  // a blank
    const std::size_t equals = line.find('=');
    const std::string_view key = line.substr(0, equals);
    if (equals == std::string_view::npos || !is_word(key) || !keys.insert(key).second) return std::nullopt;
    line.remove_prefix(equals + 1);
    const std::optional<std::string> value = take_value(key, line);
    if (!value) return std::nullopt;
    out.emplace_back(key, *value);
  }
  return out;
}

}  // namespace

std::string event_fields(std::string_view line) {
  const std::optional<Fields> fields = fields_of(line);
  if (!fields) return "\"event\":" + json_text(line);
  std::string out;
  for (const auto& [key, value] : *fields) out += (out.empty() ? "\"" : ",\"") + key + "\":" + value;
  return out;
}

}  // namespace undertone
