#include "operator/estimates_csv.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string_view>

namespace undertone::operators {
namespace {

using Json = nlohmann::ordered_json;

std::string text_cell(std::string_view text) {
  std::string out;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) out = "'";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out.find_first_of(",\"\r\n") == std::string::npos ? out : fmt::format("\"{}\"", out);
}

std::string number_cell(const Json& value) { return value.is_number() ? value.dump() : std::string(); }

std::string ends_of(const Json& estimate, const char* key) {
  const auto found = estimate.find(key);
  if (found == estimate.end()) return ",";
  return fmt::format("{},{}", number_cell(found->at(0)), number_cell(found->at(1)));
}

void put_rows(std::string_view silo, const Json& estimates, std::string& out) {
  for (const Json& one : estimates)
    out +=
        fmt::format("{},{},{},{},{},{},{}\r\n", text_cell(silo), text_cell(one.at("name").get<std::string>()),
                    number_cell(one.at("value")), ends_of(one, "noise_interval"), ends_of(one, "population_interval"),
                    text_cell(one.value("method", std::string())), text_cell(one.value("note", std::string())));
}

}  // namespace

std::string estimates_csv(const Json& statistic) {
  std::string out = "silo,estimate,value,noise_low,noise_high,population_low,population_high,method,note\r\n";
  put_rows("", statistic.at("estimates"), out);
  if (const auto silos = statistic.find("by_silo"); silos != statistic.end())
    for (const Json& silo : *silos) put_rows(silo.at("silo").get<std::string>(), silo.at("estimates"), out);
  return out;
}

}  // namespace undertone::operators
