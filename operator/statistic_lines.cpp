#include "operator/statistic_lines.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "shared/report/reported_statistics.hpp"

namespace undertone::operators {
namespace {

constexpr std::size_t kSilosShown = 12;

std::string shown_number(const nlohmann::ordered_json& value) {
  return value.is_number() ? fmt::format("{:.6g}", value.get<double>()) : std::string("-");
}

std::string shown_base(const nlohmann::ordered_json& one) {
  return fmt::format("of {} {}s of {} silos", one.at("records").get<std::int64_t>(),
                     one.value("unit", std::string("record")), one.at("silos").get<std::int64_t>());
}

/// This writes what silos state alone where nothing is stated over all of them. A silo's list may be shorter.
std::string lines_of_silos(const nlohmann::ordered_json& statistic, const std::string& name) {
  const auto found = statistic.find("by_silo");
  if (found == statistic.end()) return {};
  const nlohmann::ordered_json& silos = *found;
  std::string out;
  for (std::size_t i = 0; i < std::min(kSilosShown, silos.size()); ++i) {
    const nlohmann::ordered_json& own = silos[i].at("estimates");
    const auto estimate = std::find_if(own.begin(), own.end(), [&](const auto& one) {
      return report::is_of_silos(name, one.at("name").template get<std::string>());
    });
    if (estimate == own.end() || !estimate->at("value").is_number()) continue;
    const nlohmann::ordered_json& interval = estimate->at("noise_interval");
    out += fmt::format("    {}: {}, {} to {} with the noise\n", silos[i].at("silo").get<std::string>(),
                       shown_number(estimate->at("value")), shown_number(interval.at(0)), shown_number(interval.at(1)));
  }
  return out;
}

/// "= 0.012", or "< 0.0001".
std::string equals(double p_value) {
  const std::string shown = report::shown_p(p_value);
  return shown.starts_with('<') ? shown : "= " + shown;
}

std::string line_of_test(const nlohmann::ordered_json& test) {
  const std::string note = test.value("note", std::string());
  const std::string name = test.at("name").get<std::string>();
  if (!test.at("p_value").is_number()) return fmt::format("  {}: {}\n", name, note);
  std::string out =
      fmt::format("  {}: chi-squared {}, {} degree{} of freedom, p {}", name, shown_number(test.at("statistic")),
                  test.at("degrees").get<std::int64_t>(), test.at("degrees").get<std::int64_t>() == 1 ? "" : "s",
                  equals(test.at("p_value").get<double>()));
  if (test.contains("p_value_holm"))
    out += fmt::format(", {} by Holm of all tests of the job", report::shown_p(test.at("p_value_holm").get<double>()));
  return out + (note.empty() ? "\n" : fmt::format("; {}\n", note));
}

/// Which estimates a terminal shows: ratios, which compare groups, before the numbers that they are made of.
std::vector<std::size_t> shown_first(const nlohmann::ordered_json& estimates, std::size_t most) {
  std::vector<std::size_t> out(estimates.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::stable_partition(out.begin(), out.end(), [&](std::size_t i) {
    return estimates[i].at("name").get<std::string>().find(" ratio of ") != std::string::npos;
  });
  out.resize(std::min(most, out.size()));
  return out;
}

}  // namespace

std::string statistic_lines(const nlohmann::ordered_json& statistics, std::size_t shown) {
  std::string out;
  for (const nlohmann::ordered_json& one : statistics) {
    const std::string name = one.at("statistic").get<std::string>();
    if (one.contains("value")) {
      out += fmt::format("{}: {}", name, shown_number(one.at("value")));
      if (one.contains("noise_stddev"))
        out += fmt::format(", standard deviation of the noise {:.3g}", one.at("noise_stddev").get<double>());
      out += fmt::format(", {}\n", shown_base(one));
      continue;
    }
    out += fmt::format("{}, {}\n", name, shown_base(one));
    if (one.contains("function")) {
      const nlohmann::ordered_json& function = one.at("function");
      out += fmt::format("  {} means with noise of standard deviation {:.3g}: ask \"undertone query\" of result.json\n",
                         function.at("means").size(), function.at("noise_stddev").get<double>());
    }
    const nlohmann::ordered_json& estimates = one.at("estimates");
    for (const nlohmann::ordered_json& test : one.value("tests", nlohmann::ordered_json::array()))
      out += line_of_test(test);
    for (const std::size_t i : shown_first(estimates, shown)) {
      const nlohmann::ordered_json& estimate = estimates[i];
      const nlohmann::ordered_json& interval = estimate.at("noise_interval");
      const std::string of = estimate.at("name").get<std::string>();
      if (estimate.at("value").is_null() && estimate.contains("note")) {
        out += fmt::format("  {}: {}\n", of, estimate.at("note").get<std::string>());
        out += lines_of_silos(one, of);
        continue;
      }
      out += fmt::format("  {}: {}", of, shown_number(estimate.at("value")));
      if (estimate.contains("population_interval")) {
        const nlohmann::ordered_json& population = estimate.at("population_interval");
        out += fmt::format(", for the population {} to {}", shown_number(population.at(0)),
                           shown_number(population.at(1)));
      }
      out += fmt::format(", {} to {} with the noise", shown_number(interval.at(0)), shown_number(interval.at(1)));
      const std::string note = estimate.value("note", std::string());
      out += note.empty() ? "\n" : fmt::format("; {}\n", note);
    }
    if (estimates.size() > shown)
      out += fmt::format("  and {} more in result.json{}\n", estimates.size() - shown,
                         one.contains("exits") ? "; \"undertone query\" asks it for other times and quantiles" : "");
  }
  return out;
}

}  // namespace undertone::operators
