#include "shared/report/reported_statistics.hpp"

#include <algorithm>

namespace undertone::report {

bool is_of_silos(const std::string& over_all, const std::string& own) {
  return over_all == own || over_all == own + ", within silos" || over_all == own + " with public records";
}

std::string shown_p(double p_value) {
  constexpr double kLeast = 1e-4;
  return p_value < kLeast ? std::string("< 0.0001") : fmt::format("{:.3g}", p_value);
}

namespace {

using config::Problems;
using config::Section;
using nlohmann::json;

constexpr std::int64_t kWholeMax = std::int64_t{1} << 53U;
constexpr std::size_t kStatisticsMax = 256;
constexpr std::size_t kEstimatesMax = std::size_t{1} << 17U;
constexpr std::size_t kSilosMax = 100'000;
constexpr double kRiskMax = 1e18;

std::uint64_t count_of(Section& section, const char* key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(section.integer(key, 0, kWholeMax, ""), 0));
}

std::optional<double> number_or_null(const json& value, const std::string& pointer, Problems& problems) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_null()) problems.add(pointer, "expected a number or null");
  return std::nullopt;
}

ReportedInterval interval_of(const json& value, const std::string& pointer, Problems& problems) {
  if (!value.is_array() || value.size() != 2) {
    problems.add(pointer, "expected two numbers");
    return {};
  }
  return {number_or_null(value[0], pointer + "/0", problems), number_or_null(value[1], pointer + "/1", problems)};
}

std::vector<ReportedEstimate> estimates_of(const json& row, const std::string& pointer, Problems& problems) {
  std::vector<ReportedEstimate> out;
  const auto rows = row.find("estimates");
  if (rows == row.end() || !rows->is_array() || rows->size() > kEstimatesMax) {
    problems.add(pointer + "/estimates", fmt::format("expected an array of at most {} objects", kEstimatesMax));
    return out;
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const std::string at = fmt::format("{}/estimates/{}", pointer, i);
    const json& one = (*rows)[i];
    Section section(one, at, problems);
    ReportedEstimate& estimate = out.emplace_back();
    estimate.name = section.text("name", "");
    if (section.has("method")) estimate.method = section.text("method", "");
    if (section.has("note")) estimate.note = section.text("note", "");
    if (!one.is_object()) continue;
    if (one.contains("value")) estimate.value = number_or_null(one["value"], at + "/value", problems);
    estimate.noise = interval_of(one.value("noise_interval", json()), at + "/noise_interval", problems);
    if (one.contains("population_interval"))
      estimate.population = interval_of(one["population_interval"], at + "/population_interval", problems);
  }
  return out;
}

ReportedFunction function_of(Section& row) {
  ReportedFunction out;
  Section function = row.object("function");
  out.numbers = function.numbers("means", "").size();
  if (row.has("minimum")) {
    Section minimum = row.object("minimum");
    out.parameters = minimum.numbers("parameters", "");
    out.risk = minimum.number("risk", -kRiskMax, kRiskMax, "");
  }
  return out;
}

ReportedSurvival survival_of(Section& row) {
  ReportedSurvival out;
  const std::vector<double> edges = row.numbers("edges", "");
  if (!edges.empty()) out.from = edges.front();
  out.at = row.numbers("at", "");
  out.groups = row.texts("groups", "");
  out.estimates_of_group = count_of(row, "estimates_of_group");
  return out;
}

std::vector<ReportedTest> tests_of(Section& row) {
  std::vector<ReportedTest> out;
  if (!row.has("tests")) return out;
  for (Section& test : row.objects("tests", 0, kStatisticsMax)) {
    ReportedTest& one = out.emplace_back();
    one.name = test.text("name", "");
    if (test.has("note")) one.note = test.text("note", "");
    if (!test.has("statistic")) continue;  // refused
    one.statistic = test.number("statistic", 0.0, kRiskMax, "");
    one.degrees = count_of(test, "degrees");
    one.p_value = test.number("p_value", 0.0, 1.0, "");
    if (test.has("p_value_holm")) one.p_value_holm = test.number("p_value_holm", 0.0, 1.0, "");
  }
  return out;
}

}  // namespace

std::vector<ReportedStatistic> statistics_of(const json& root, Problems& problems) {
  std::vector<ReportedStatistic> out;
  const auto rows = root.find("statistics");
  if (rows == root.end()) return out;
  if (!rows->is_array() || rows->size() > kStatisticsMax) {
    problems.add("/statistics", fmt::format("expected an array of at most {} objects", kStatisticsMax));
    return out;
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const json& row = (*rows)[i];
    const std::string pointer = fmt::format("/statistics/{}", i);
    if (!row.is_object() || !row.contains("estimates")) continue;
    Section section(row, pointer, problems);
    ReportedStatistic& statistic = out.emplace_back();
    statistic.name = section.text("statistic", "");
    statistic.kind = section.text("kind", "");
    if (section.has("column")) statistic.column = section.text("column", "");
    statistic.confidence = section.number("confidence", 0.0, 1.0, "");
    statistic.silos = count_of(section, "silos");
    statistic.records = count_of(section, "records");
    if (section.has("unit")) statistic.unit = section.text("unit", "");
    statistic.estimates = estimates_of(row, pointer, problems);
    if (section.has("function")) statistic.function = function_of(section);
    if (statistic.kind == "survival") statistic.survival = survival_of(section);
    statistic.tests = tests_of(section);
    std::size_t place = 0;
    for (Section& silo : section.objects("by_silo", 0, kSilosMax)) {
      ReportedSilo& own = statistic.by_silo.emplace_back();
      own.silo = silo.text("silo", "");
      own.records = count_of(silo, "records");
      own.estimates = estimates_of(row["by_silo"][place], fmt::format("{}/by_silo/{}", pointer, place), problems);
      ++place;
    }
  }
  return out;
}

}  // namespace undertone::report
