#include "shared/report/result_csv.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

namespace undertone::report {
namespace {

using Json = nlohmann::ordered_json;

std::string text_cell(std::string_view text) {
  std::string out;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos)
    out = "'";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += static_cast<unsigned char>(c) < 0x20U ? ' ' : c;
  }
  return out.find_first_of(",\"") == std::string::npos ? out : fmt::format("\"{}\"", out);
}

/// Returns what a file has under a key, or null: somebody may have changed the file.
const Json& part_of(const Json& row, std::string_view key) {
  static const Json kNone;
  if (!row.is_object()) return kNone;
  const auto found = row.find(key);
  return found == row.end() ? kNone : *found;
}

std::string text_of(const Json& row, std::string_view key) {
  const Json& found = part_of(row, key);
  return found.is_string() ? text_cell(found.get<std::string>()) : std::string();
}

std::string number_of(const Json& value, const char* none) {
  return value.is_number() ? value.dump() : std::string(none);
}

/// Returns both ends of an interval as two cells. Null means that an end is open.
std::string ends_of(const Json& interval) {
  if (!interval.is_array() || interval.size() != 2) return ",";
  return fmt::format("{},{}", number_of(interval[0], "-inf"), number_of(interval[1], "inf"));
}

void put_rows(const std::string& silo, const std::string& confidence, const Json& estimates, std::string& out) {
  for (const Json& one : estimates)
    out += fmt::format("{},{},{},{},{},{},{},{}\r\n", silo, text_of(one, "name"), number_of(part_of(one, "value"), ""),
                       ends_of(part_of(one, "noise_interval")), ends_of(part_of(one, "population_interval")),
                       confidence, text_of(one, "method"), text_of(one, "note"));
}

}  // namespace

std::string estimates_csv(const Json& statistic) {
  std::string out =
      "silo,estimate,value,noise_low,noise_high,population_low,population_high,confidence,method,note\r\n";
  const std::string confidence = number_of(part_of(statistic, "confidence"), "");
  put_rows("", confidence, part_of(statistic, "estimates"), out);
  for (const Json& silo : part_of(statistic, "by_silo"))
    put_rows(text_of(silo, "silo"), confidence, part_of(silo, "estimates"), out);
  return out;
}

std::string evaluations_csv(const Json& result) {
  const Json& rows = part_of(result, "metrics");
  std::vector<std::string> names;  // of all rows, in the order in which they come first
  std::set<std::string> noised;
  for (const Json& row : rows) {
    if (!row.is_object()) continue;
    for (const auto& [name, value] : row.items())
      if (value.is_number() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (const Json& noise = part_of(row, "noise_stddev"); noise.is_object())
      for (const auto& [name, value] : noise.items()) noised.insert(name);
  }
  std::string out;
  const auto put = [&out](const std::string& cell) { out += (out.empty() || out.back() == '\n' ? "" : ",") + cell; };
  for (const std::string& name : names) {
    put(text_cell(name));
    if (noised.contains(name)) put(text_cell(name + " noise_stddev"));
  }
  out += "\r\n";
  for (const Json& row : rows) {
    std::string line;
    for (const std::string& name : names) {
      line += (line.empty() ? "" : ",") + number_of(part_of(row, name), "");
      if (noised.contains(name)) line += "," + number_of(part_of(part_of(row, "noise_stddev"), name), "");
    }
    out += line + "\r\n";
  }
  return out;
}

}  // namespace undertone::report
