#include "lab/report/reported_sweep.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "lab/report/html.hpp"
#include "lab/report/page_frame.hpp"
#include "lab/report/report_page.hpp"
#include "lab/reproduce/paired_finding.hpp"
#include "shared/base/files.hpp"

namespace undertone::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLinesBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kSelectionBytesMax = std::size_t{1} << 20U;
constexpr double kLevel = 0.90;

Error bad_line(const std::filesystem::path& file, std::size_t line, const char* expected) {
  return {ErrorCode::InvalidData, fmt::format("{}:{}: expected {}", file.string(), line, expected)};
}

/// Adds a line to the setting that it is of. @return whether it is a line as a sweep writes them
/// @param known where the settings are, by what they set
bool add_line(const Json& line, ReportedSweep& sweep,
              std::map<std::map<std::string, std::string>, std::size_t>& known) {
  if (!line.is_object() || !line.contains("set") || !line["set"].is_object()) return false;
  const bool good = line.contains("result") && line["result"].is_object();
  if (!good && !(line.contains("error") && line["error"].is_string())) return false;
  std::map<std::string, std::string> set;
  for (const auto& [pointer, value] : line["set"].items()) {
    if (value.is_structured()) return false;
    set.emplace(pointer, value.dump());
  }
  const auto [at, is_new] = known.emplace(set, sweep.settings.size());
  if (is_new) sweep.settings.push_back({std::move(set), 0, 0, {}});
  SweptSetting& setting = sweep.settings[at->second];
  if (!good) {
    ++setting.failed;
    return true;
  }
  ++setting.runs;
  for (const auto& [name, value] : line["result"].items()) {
    if (value.is_number() && std::isfinite(value.get<double>())) setting.numbers[name].push_back(value.get<double>());
  }
  return true;
}

std::optional<double> number_of(const std::string& json) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
  if (error != std::errc() || end != json.data() + json.size()) return std::nullopt;
  return value;
}

/// "0.31 ± 0.02"
std::string shown(const std::vector<double>& values) {
  const Result<MeanInterval> interval = mean_interval(values, kLevel);
  if (!interval) return "-";
  if (values.size() == 1) return fmt::format("{:.4g}", interval->mean);
  return fmt::format("{:.4g} ± {:.2g}", interval->mean, interval->high - interval->mean);
}

std::vector<std::string> metrics_of(const ReportedSweep& sweep) {
  std::vector<std::string> out;
  for (const SweptSetting& setting : sweep.settings) {
    for (const auto& [name, values] : setting.numbers) {
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

HtmlTable table_of(const ReportedSweep& sweep, const std::vector<std::string>& metrics) {
  HtmlTable table{"Every setting, with means over its seeds and half of their 90 % interval", {"setting"}, {}, ""};
  for (const auto& [pointer, value] : sweep.settings.front().set) table.header.push_back(pointer);
  table.header.insert(table.header.end(), {"runs", "failed"});
  table.header.insert(table.header.end(), metrics.begin(), metrics.end());
  for (std::size_t i = 0; i < sweep.settings.size(); ++i) {
    const SweptSetting& setting = sweep.settings[i];
    std::vector<std::string> cells = {std::to_string(i)};
    for (const auto& [pointer, value] : setting.set) cells.push_back(value);
    cells.push_back(std::to_string(setting.runs));
    cells.push_back(std::to_string(setting.failed));
    for (const std::string& metric : metrics) {
      const auto values = setting.numbers.find(metric);
      cells.push_back(values == setting.numbers.end() ? "-" : shown(values->second));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// A metric's mean by one value; a line for each of the others' combinations.
Json chart_of(const ReportedSweep& sweep, const std::string& pointer, const std::string& metric) {
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  for (const SweptSetting& setting : sweep.settings) {
    const auto values = setting.numbers.find(metric);
    const std::optional<double> at = number_of(setting.set.at(pointer));
    if (values == setting.numbers.end() || !at) continue;
    std::string others;
    for (const auto& [other, value] : setting.set) {
      if (other != pointer) others += fmt::format("{}{} = {}", others.empty() ? "" : ", ", other, value);
    }
    const Result<MeanInterval> mean = mean_interval(values->second, kLevel);
    if (mean && lines[others].size() < kPointsDrawn) lines[others].emplace_back(*at, mean->mean);
  }
  Json series = Json::array();
  for (auto& [name, points] : lines) {
    if (series.size() == kRunsDrawn) break;
    std::sort(points.begin(), points.end());
    series.push_back({{"name", name.empty() ? metric : name}, {"dashed", false}, {"points", points}});
  }
  const std::string note = lines.size() > kRunsDrawn
                               ? fmt::format("The first {} of {} lines; the table has all.", kRunsDrawn, lines.size())
                               : "";
  return {{"title", metric + " by " + pointer},
          {"x", pointer},
          {"y", metric},
          {"note", note},
          {"stepped", false},
          {"series", series}};
}

Json charts_of(const ReportedSweep& sweep, const std::vector<std::string>& metrics) {
  Json charts = Json::array();
  for (const auto& [pointer, first] : sweep.settings.front().set) {
    std::set<double> values;
    for (const SweptSetting& setting : sweep.settings) {
      if (const std::optional<double> value = number_of(setting.set.at(pointer))) values.insert(*value);
    }
    if (values.size() < 2) continue;
    for (const std::string& metric : metrics) {
      if (metric != "epsilon") charts.push_back(chart_of(sweep, pointer, metric));
    }
  }
  return charts;
}

std::string selection_of(const Json& selection) {
  if (!selection.is_object()) return "";
  HtmlTable table{"The selection, and what it costs every silo instead of one run", {"what", "value"}, {}, ""};
  for (const auto& [name, value] : selection.items())
    table.rows.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  return "<section><h2>Selection</h2>\n" + to_html(table) + "</section>\n";
}

}  // namespace

Result<ReportedSweep> load_sweep(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "sweep.jsonl";
  const Result<std::string> text = read_file(file, kLinesBytesMax);
  if (!text) return text.error();
  ReportedSweep out;
  std::map<std::map<std::string, std::string>, std::size_t> known;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t to = text->find('\n', from);
    if (to == std::string::npos) break;  // a sweep that was cut off in the middle of a line goes on from there
    const Json line = Json::parse(text->begin() + static_cast<std::ptrdiff_t>(from),
                                  text->begin() + static_cast<std::ptrdiff_t>(to), nullptr, false);
    from = to + 1;
    if (++number == 1) {
      const bool header = line.is_object() && line.value("format", Json()) == "undertone.sweep-results/1" &&
                          line.value("note", Json()).is_string() && line.value("job", Json()).is_string();
      if (!header) return bad_line(file, number, "the header of a sweep's results");
      out.note = line["note"].get<std::string>();
      out.job_sha256 = line["job"].get<std::string>();
      continue;
    }
    if (!add_line(line, out, known)) return bad_line(file, number, "a line as a sweep writes them");
    const std::map<std::string, std::string>& first = out.settings.front().set;
    const bool same_axes =
        std::equal(first.begin(), first.end(), out.settings.back().set.begin(), out.settings.back().set.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!same_axes) return bad_line(file, number, "the values that the first line sets");
  }
  if (out.settings.empty()) return Error{ErrorCode::InvalidData, file.string() + ": no run in it"};
  const std::filesystem::path selected = folder / "selection.json";
  std::error_code ignored;
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(selected, ignored))) {
    const Result<std::string> bytes = read_file(selected, kSelectionBytesMax);
    if (!bytes) return bytes.error();
    out.selection = Json::parse(*bytes, nullptr, false);
    if (!out.selection.is_object())
      return Error{ErrorCode::InvalidData, selected.string() + ": expected a selection as a sweep writes it"};
  }
  return out;
}

std::string sweep_page(const ReportedSweep& sweep, const std::string& name) {
  UNDERTONE_CHECK(!sweep.settings.empty());
  const std::vector<std::string> metrics = metrics_of(sweep);
  std::size_t runs = 0;
  for (const SweptSetting& setting : sweep.settings) runs += setting.runs + setting.failed;
  const std::string banner =
      fmt::format("<p class=\"void\"><strong>VOID</strong> {}</p>\n<p>{} settings, {} runs of the job {}.</p>\n",
                  escape_html(sweep.note), sweep.settings.size(), runs, escape_html(sweep.job_sha256));
  return framed_page("Sweep " + name, banner + selection_of(sweep.selection), charts_of(sweep, metrics),
                     "<section><h2>Settings</h2>\n" + to_html(table_of(sweep, metrics)) + "</section>\n");
}

}  // namespace undertone::lab
