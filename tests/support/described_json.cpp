#include "tests/support/described_json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>
#include <stdexcept>

namespace undertone::tests {
namespace {

using Json = nlohmann::json;

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  throw std::invalid_argument("unknown type " + type);
}

bool is_of_types(const Json& value, const Json& types) {
  if (types.is_string()) return is_of_type(value, types);
  return std::any_of(types.begin(), types.end(), [&](const Json& type) { return is_of_type(value, type); });
}

/// @return whether a value keeps to a keyword that looks at the value alone
bool keeps_to(const Json& value, const std::string& keyword, const Json& rule) {
  if (keyword == "type") return is_of_types(value, rule);
  if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
  if (keyword == "pattern")
    return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
  if (keyword == "maxLength") return !value.is_string() || value.get<std::string>().size() <= rule.get<std::size_t>();
  if (keyword == "minimum") return !value.is_number() || value.get<double>() >= rule.get<double>();
  if (keyword == "maxItems") return !value.is_array() || value.size() <= rule.get<std::size_t>();
  throw std::invalid_argument("unknown keyword " + keyword);
}

}  // namespace

std::vector<std::string> against_schema(const Json& value, const Json& schema, const Json& document,
                                        const std::string& at) {
  static const std::set<std::string> kSaysNothing = {"description", "example", "format"};
  std::vector<std::string> out;
  const auto add = [&](const Json& part, const Json& rule, const std::string& where) {
    const std::vector<std::string> more = against_schema(part, rule, document, where);
    out.insert(out.end(), more.begin(), more.end());
  };
  for (const auto& [keyword, rule] : schema.items()) {
    if (kSaysNothing.contains(keyword)) continue;
    if (keyword == "$ref") {
      const auto name = rule.get<std::string>();
      // A job's own schema is another file, which the worked jobs are held to.
      if (name.starts_with('#')) add(value, document.at(Json::json_pointer(name.substr(1))), at);
    } else if (keyword == "allOf") {
      for (const Json& one : rule) add(value, one, at);
    } else if (keyword == "required") {
      for (const Json& key : rule)
        if (value.is_object() && !value.contains(key.get<std::string>()))
          out.push_back(fmt::format("{}/{}: missing", at, key.get<std::string>()));
    } else if (keyword == "properties") {
      for (const auto& [key, below] : rule.items())
        if (value.is_object() && value.contains(key)) add(value.at(key), below, fmt::format("{}/{}", at, key));
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        add(value[i], rule, fmt::format("{}/{}", at, i));
    } else if (!keeps_to(value, keyword, rule)) {
      out.push_back(fmt::format("{}: {} is not {} {}", at, value.dump(), keyword, rule.dump()));
    }
  }
  return out;
}

}  // namespace undertone::tests
