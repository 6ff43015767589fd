#include "shared/report/run_result.hpp"

#include <algorithm>
#include <limits>

#include "shared/base/ids.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::report {
namespace {

using config::Problems;
using config::Section;
using nlohmann::json;

constexpr double kNumberMax = std::numeric_limits<double>::max();
constexpr std::int64_t kCountMax = std::int64_t{1} << 53U;
constexpr std::size_t kRowsMax = 10'000'000;
constexpr std::size_t kVerdictsMax = 100;
constexpr std::size_t kLabelsMax = 1000;

std::string shown(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

std::uint64_t count(Section& section, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(section.integer(key, 0, kCountMax, ""), 0));
}

/// Metrics are whatever the model has, so their names are not known beforehand.
std::vector<Evaluation> evaluations_of(const json& root, Problems& problems) {
  std::vector<Evaluation> out;
  const auto rows = root.find("metrics");
  if (rows == root.end() || !rows->is_array()) {
    problems.add("/metrics", "expected an array of objects");
    return out;
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string pointer = fmt::format("/metrics/{}", i);
    Section section((*rows)[i], pointer, problems);
    Evaluation& row = out.emplace_back();
    row.after_steps = count(section, "after_steps");
    row.silos = count(section, "silos");
    if (!(*rows)[i].is_object()) continue;
    for (const auto& [name, value] : (*rows)[i].items()) {
      if (name == "after_steps" || name == "silos" || value.is_null()) continue;
      if (name == "noise_stddev" && value.is_object()) {
        Section noise(value, pointer + "/noise_stddev", problems);
        for (const auto& [metric, stddev] : value.items())
          row.noise_stddevs.emplace_back(metric, noise.number(metric, 0.0, kNumberMax, ""));
        continue;
      }
      if (!value.is_number()) {
        problems.add(fmt::format("{}/{}", pointer, name), "expected a number or null");
        continue;
      }
      row.metrics.emplace_back(name, value.get<double>());
    }
  }
  return out;
}

/// @param raw the same section's value
Confusion confusion_of(Section section, const json& raw, Problems& problems) {
  Confusion out;
  out.labels = section.texts("labels", "");
  if (section.has("noise_stddev")) out.noise_stddev = section.number("noise_stddev", 0.0, kNumberMax, "");
  const json shares = raw.is_object() ? raw.value("shares", json()) : json();
  const auto square = [&] {
    if (!shares.is_array() || shares.size() != out.labels.size()) return false;
    return std::all_of(shares.begin(), shares.end(), [&](const json& row) {
      return row.is_array() && row.size() == out.labels.size() &&
             std::all_of(row.begin(), row.end(), [](const json& share) { return share.is_number(); });
    });
  };
  if (out.labels.size() > kLabelsMax || !square()) {
    problems.add("/confusion/shares", "expected as many rows of as many numbers as there are labels");
    return {};
  }
  for (const json& row : shares) out.shares.push_back(row.get<std::vector<double>>());
  return out;
}

GroupRates::Rate rate_of(Section section) {
  GroupRates::Rate out;
  out.value = section.number("value", -kNumberMax, kNumberMax, "");
  if (section.has("noise_stddev")) out.reach = 1.959964 * section.number("noise_stddev", 0.0, kNumberMax, "");
  return out;
}

/// @param raw the same section's value
GroupRates group_of(Section& section, const json& raw) {
  GroupRates out;
  out.group = section.text("group", "");
  out.share = section.number("share", -kNumberMax, kNumberMax, "");
  if (raw.contains("accuracy") && raw["accuracy"].is_object()) out.accuracy = rate_of(section.object("accuracy"));
  if (!raw.contains("said") || !raw["said"].is_object()) return out;
  Section said = section.object("said");
  for (const auto& [label, rate] : raw["said"].items()) {
    if (out.said.size() < kLabelsMax) out.said.emplace_back(label, rate_of(said.object(label)));
  }
  return out;
}

SiloPrivacy privacy_of(Section& section) {
  SiloPrivacy out;
  out.silo = section.text("silo", "");
  out.took_part = section.boolean("took_part", "");
  if (section.has("refusal")) out.refusal = section.text("refusal", "");
  out.epsilon = section.number("epsilon", 0.0, kNumberMax, "");
  out.delta = section.number("delta", 0.0, 1.0, "");
  out.epsilon_odometer = section.number("epsilon_odometer", 0.0, kNumberMax, "");
  out.replies_accepted = count(section, "replies_accepted");
  out.unit = section.text("unit", "");
  out.adjacency = section.text("adjacency", "");
  out.mechanism = section.text("mechanism", "");
  out.accountant = section.text("accountant", "");
  out.statement = section.text("statement", "");
  for (Section& noise : section.objects("noise", 0, kRowsMax)) {
    NoiseRow& row = out.noise.emplace_back();
    row.kind = noise.text("kind", "");
    row.records = count(noise, "records");
    row.stddev_of_mean = noise.number("stddev_of_mean", 0.0, kNumberMax, "");
    row.public_records = noise.boolean("public_records", "");
  }
  return out;
}

}  // namespace

std::optional<double> Evaluation::metric(std::string_view name) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& pair) { return pair.first == name; });
  if (found == metrics.end()) return std::nullopt;
  return found->second;
}

std::optional<double> Evaluation::error() const {
  const std::optional<double> accuracy = metric("accuracy");
  if (!accuracy) return std::nullopt;
  return 1.0 - *accuracy;
}

std::optional<double> Evaluation::reach(std::string_view name) const {
  constexpr double kQuantile = 1.959964;  // of the standard normal law at 0.975
  const auto found =
      std::find_if(noise_stddevs.begin(), noise_stddevs.end(), [&](const auto& pair) { return pair.first == name; });
  if (found == noise_stddevs.end()) return std::nullopt;
  return kQuantile * found->second;
}

std::string RunResult::setting(std::string_view name) const {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&](const auto& pair) { return pair.first == name; });
  return found == settings.end() ? "" : found->second;
}

bool RunResult::is_void() const {
  return setting("noise") != "secure" || setting("mode") != "tcp" ||
         std::any_of(privacy.begin(), privacy.end(),
                     [](const SiloPrivacy& row) { return row.statement.starts_with("VOID"); });
}

Result<RunResult> parse_run_result(std::string_view text, const std::string& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::parse_json(text, file, kResultBytesMax));
  Problems problems(file);
  Section root(document.root, "", problems);
  RunResult out;
  (void)root.choice<int>("format", {{"undertone.result/1", 1}}, "");
  Section job = root.object("job");
  out.job = job.text("name", "");
  out.job_sha256 = job.text("sha256", "");
  out.run = root.text("run", "");
  if (!out.run.empty() && !RunId::from_hex(out.run)) root.problem("run", "expected 96 hexadecimal digits");
  out.succeeded = root.boolean("succeeded", "");
  if (document.root.is_object() && document.root.contains("failure")) out.failure = shown(document.root["failure"]);
  (void)root.object("settings");
  if (document.root.is_object() && document.root.contains("settings") && document.root["settings"].is_object()) {
    for (const auto& [name, value] : document.root["settings"].items()) out.settings.emplace_back(name, shown(value));
  }
  out.rounds = count(root, "rounds");
  if (document.root.is_object()) out.evaluations = evaluations_of(document.root, problems);
  if (root.has("verdicts")) out.verdicts = root.texts("verdicts", "");
  if (out.verdicts.size() > kVerdictsMax) root.problem("verdicts", "expected at most 100");
  if (root.has("confusion"))
    out.confusion = confusion_of(root.object("confusion"), document.root["confusion"], problems);
  if (root.has("groups")) {
    std::size_t place = 0;
    for (Section& row : root.objects("groups", 0, kRowsMax)) {
      const json& raw = document.root["groups"][place++];
      if (raw.is_object()) out.groups.push_back(group_of(row, raw));
    }
  }
  for (Section& row : root.objects("privacy", 0, kRowsMax)) out.privacy.push_back(privacy_of(row));
  for (Section& row : root.objects("participation", 0, kRowsMax)) {
    out.participation.push_back({count(row, "round"), row.texts("answered", ""), row.texts("missing", "")});
  }
  if (document.root.is_object()) out.statistics = statistics_of(document.root, problems);
  if (!problems.none()) return problems.error();
  return out;
}

}  // namespace undertone::report
