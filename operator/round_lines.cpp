#include "operator/round_lines.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_table.hpp"

namespace undertone::operators {

std::string shown_metrics(const nlohmann::ordered_json& metrics) {
  std::string out;
  for (const auto& [name, value] : metrics.items()) {
    if (name == "after_steps" || name == "silos") continue;
    out += fmt::format("  {} {:.4f}", plain_text(name), value.get<double>());
  }
  return out;
}

std::string rounds_csv_line(const nlohmann::ordered_json& round) {
  std::string missing;
  for (const nlohmann::ordered_json& silo : round.at("missing"))
    missing += (missing.empty() ? "" : " ") + plain_text(silo.get<std::string>());
  const std::string metrics = round.contains("metrics") ? shown_metrics(round["metrics"]) : "";
  return fmt::format("{},{},{},{},{}\n", round.at("round").get<std::uint64_t>(), round.at("answered").size(),
                     data::csv_text_cell(missing), round.at("elapsed_ms").get<std::uint64_t>(),
                     data::csv_text_cell(metrics));
}

}  // namespace undertone::operators
