#include "shared/report/statistics_html.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "shared/report/html.hpp"
#include "shared/report/statistics_figures.hpp"
#include "shared/report/survival_figure.hpp"

namespace undertone::report {
namespace {

constexpr std::size_t kEstimatesShown = 200;
constexpr std::size_t kForestsMax = 24;

/// So many digits as the interval tells apart, and two more.
std::string rounded(double value, const ReportedInterval& interval) {
  const double width = interval.low && interval.high ? *interval.high - *interval.low : 0.0;
  if (!(width > 0.0) || !std::isfinite(width)) return fmt::format("{:.6g}", value);
  const double places = std::ceil(-std::log10(width)) + 1.0;
  if (places <= 0.0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, static_cast<int>(std::min(places, 12.0)));
}

std::string shown_end(const std::optional<double>& end, const ReportedInterval& interval, const char* open) {
  return end ? rounded(*end, interval) : std::string(open);
}

std::string shown_interval(const ReportedInterval& interval) {
  return fmt::format("{} to {}", shown_end(interval.low, interval, "-\u221e"),
                     shown_end(interval.high, interval, "\u221e"));
}

bool any_population(const ReportedStatistic& statistic) {
  return std::any_of(statistic.estimates.begin(), statistic.estimates.end(),
                     [](const ReportedEstimate& estimate) { return estimate.population.has_value(); });
}

bool any_note(const ReportedStatistic& statistic) {
  return std::any_of(statistic.estimates.begin(), statistic.estimates.end(),
                     [](const ReportedEstimate& estimate) { return !estimate.note.empty(); });
}

HtmlTable statistic_table(const ReportedStatistic& statistic) {
  HtmlTable table{fmt::format("{}: over {} {}s of {} silos, intervals at {:.4g} % each", statistic.name,
                              statistic.records, statistic.unit, statistic.silos, 100.0 * statistic.confidence),
                  {"number", "estimate", fmt::format("for these {}s (noise)", statistic.unit)},
                  {},
                  ""};
  const bool population = any_population(statistic);
  const bool notes = any_note(statistic);
  if (population) table.header.insert(table.header.end(), {"for what they are drawn from", "method"});
  if (notes) table.header.emplace_back("note");
  for (std::size_t i = 0; i < std::min(statistic.estimates.size(), kEstimatesShown); ++i) {
    const ReportedEstimate& estimate = statistic.estimates[i];
    std::vector<std::string> row{estimate.name, estimate.value ? rounded(*estimate.value, estimate.noise) : "-",
                                 shown_interval(estimate.noise)};
    if (population) {
      row.push_back(estimate.population ? shown_interval(*estimate.population) : "-");
      row.push_back(estimate.method.empty() ? "-" : estimate.method);
    }
    if (notes) row.push_back(estimate.note.empty() ? "-" : estimate.note);
    table.rows.push_back(std::move(row));
  }
  if (statistic.estimates.size() > kEstimatesShown)
    table.caption +=
        fmt::format("; the first {} of {} rows, result.json has all", kEstimatesShown, statistic.estimates.size());
  return table;
}

/// One estimate by silo, and over all of them.
std::string forest_of(const ReportedStatistic& statistic, std::size_t place) {
  std::vector<FigureRow> rows;
  for (const ReportedSilo& silo : statistic.by_silo) {
    const auto own = std::find_if(silo.estimates.begin(), silo.estimates.end(), [&](const ReportedEstimate& one) {
      return is_of_silos(statistic.estimates[place].name, one.name);
    });
    if (own == silo.estimates.end()) return "";  // a silo's list may be shorter
    rows.push_back({silo.silo, own->value, own->noise});
  }
  const ReportedEstimate& all = statistic.estimates[place];
  rows.push_back({"all silos", all.value, all.noise});
  return forest_figure(fmt::format("{}: {} by silo", statistic.name, all.name), rows, true);
}

/// Coefficients of a regression, each with its interval for the population: those of no effect hold 0.
std::string coefficients_figure(const ReportedStatistic& statistic) {
  std::vector<FigureRow> rows;
  bool rates = false;
  for (const ReportedEstimate& estimate : statistic.estimates) {
    const bool rate = estimate.name.starts_with("rate ratio of ");
    const bool other = rate || estimate.name.starts_with("odds ratio of ") || estimate.name == "(intercept)";
    rates = rates || rate;
    if (!other && estimate.population) rows.push_back({estimate.name, estimate.value, *estimate.population});
  }
  return forest_figure(
      fmt::format("{}: log {} ratios, with intervals for the population", statistic.name, rates ? "rate" : "odds"),
      rows, false);
}

std::string figures_of(const ReportedStatistic& statistic) {
  if (statistic.survival) return survival_figure(statistic);
  if (statistic.kind == "histogram") {
    std::vector<FigureRow> bars;
    for (const ReportedEstimate& estimate : statistic.estimates)
      bars.push_back({estimate.name, estimate.value, estimate.noise});
    return bar_figure(statistic.name, bars);
  }
  if (statistic.kind == "logistic_regression" || statistic.kind == "poisson_regression")
    return coefficients_figure(statistic);
  const bool by_silo = statistic.kind == "regression" || statistic.kind == "mean" || statistic.kind == "sum" ||
                       statistic.kind == "variance" || statistic.kind == "count";
  std::string out;
  if (!by_silo || statistic.by_silo.size() < 2) return out;
  for (std::size_t i = 0; i < std::min(statistic.estimates.size(), kForestsMax); ++i) out += forest_of(statistic, i);
  return out;
}

std::string tests_html(const ReportedStatistic& statistic) {
  if (statistic.tests.empty()) return "";
  const bool adjusted = std::any_of(statistic.tests.begin(), statistic.tests.end(),
                                    [](const ReportedTest& test) { return test.p_value_holm.has_value(); });
  HtmlTable table{fmt::format("{}: tests, with the noise in their variance", statistic.name),
                  {"test", "chi-squared", "degrees", "p"},
                  {},
                  ""};
  if (adjusted) table.header.emplace_back("p by Holm, of all tests of the job");
  table.header.emplace_back("note");
  for (const ReportedTest& test : statistic.tests) {
    const bool refused = !test.p_value;
    std::vector<std::string> row{test.name, refused ? "-" : fmt::format("{:.3f}", test.statistic),
                                 refused ? "-" : fmt::format("{}", test.degrees),
                                 refused ? "-" : shown_p(*test.p_value)};
    if (adjusted) row.push_back(test.p_value_holm ? shown_p(*test.p_value_holm) : "-");
    row.push_back(test.note.empty() ? "-" : test.note);
    table.rows.push_back(std::move(row));
  }
  return to_html(table);
}

/// Nothing was asked of it yet.
std::string function_html(const ReportedStatistic& statistic, const ReportedFunction& function) {
  std::string out = fmt::format(
      "<p>{}: a function of {} numbers over {} records of {} silos, with which <code>undertone query</code> answers as "
      "often as anybody likes.",
      escape_html(statistic.name), function.numbers, statistic.records, statistic.silos);
  if (!function.parameters.empty())
    out +=
        fmt::format(" It is least, {:.4g}, at ({:.4g}): as the least of noised numbers too low rather than too high.",
                    function.risk, fmt::join(function.parameters, ", "));
  return out + "</p>\n";
}

}  // namespace

std::string statistics_html(const std::vector<ReportedStatistic>& statistics) {
  if (statistics.empty()) return "";
  std::string out =
      "<h3>Statistics</h3>\n<p>The noise of every number is in its interval, and is never cut: a count may be below 0. "
      "Intervals hold each by itself, not all at once.</p>\n";
  for (const ReportedStatistic& statistic : statistics)
    out += statistic.function ? function_html(statistic, *statistic.function)
                              : figures_of(statistic) + tests_html(statistic) + to_html(statistic_table(statistic));
  return out;
}

}  // namespace undertone::report
