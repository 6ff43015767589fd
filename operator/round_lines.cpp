#include "operator/round_lines.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_table.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::operators {

std::string shown_metrics(const nlohmann::ordered_json& metrics) {
  std::string out;
  constexpr double kQuantile = 1.959964;  // of the standard normal law at 0.975
  const nlohmann::ordered_json noise = metrics.value("noise_stddev", nlohmann::ordered_json::object());
  for (const auto& [name, value] : metrics.items()) {
    if (name == "after_steps" || name == "silos" || name == "round" || !value.is_number()) continue;
    out += fmt::format("  {} {:.4f}", plain_text(name), value.get<double>());
    if (noise.is_object() && noise.contains(name) && noise[name].is_number())
      out += fmt::format(" \u00b1 {:.4f}", kQuantile * noise[name].get<double>());
  }
  return out;
}

std::vector<std::string> shown_verdicts(const nlohmann::ordered_json& last_metrics) {
  std::vector<std::string> out;
  if (!last_metrics.is_object()) return out;
  for (const nlohmann::ordered_json& verdict : last_metrics.value("verdicts", nlohmann::ordered_json::array())) {
    if (verdict.is_string() && out.size() < kVerdictsMost) out.push_back(plain_text(verdict.get<std::string>()));
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

Result<std::uint64_t> next_rounds(const nlohmann::ordered_json& page, std::uint64_t from) {
  constexpr std::uint64_t kRoundsMost = 2 * releases::kRoundsMax;  // with evaluations
  const auto next = page.at("next").get<std::uint64_t>();
  if (next > from && next <= kRoundsMost) return next;
  return Error{
      ErrorCode::Malformed,
      fmt::format("the coordinator's page of rounds from {} goes on at {}: nothing is asked further", from, next)};
}

Result<std::optional<std::int64_t>> next_runs(const nlohmann::ordered_json& page, std::optional<std::int64_t> before) {
  if (!page.contains("next_before")) return std::optional<std::int64_t>();
  const auto next = page["next_before"].get<std::int64_t>();
  constexpr std::int64_t kNumberMost = 1'000'000'000;
  if (next > 0 && next < before.value_or(kNumberMost)) return std::optional(next);
  return Error{ErrorCode::Malformed,
               fmt::format("the coordinator's page of runs goes on before {}: nothing is asked further", next)};
}

}  // namespace undertone::operators
