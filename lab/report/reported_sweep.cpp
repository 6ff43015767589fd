#include "lab/report/reported_sweep.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "lab/reproduce/paired_finding.hpp"
#include "shared/base/files.hpp"
#include "shared/report/html.hpp"
#include "shared/report/page_frame.hpp"
#include "shared/report/report_charts.hpp"
#include "shared/report/report_page.hpp"

namespace undertone::report {
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

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The end of each pointer, where that alone tells it from the others; else the whole pointer.
std::map<std::string, std::string> short_names(const std::map<std::string, std::string>& set) {
  const auto end_of = [](const std::string& pointer) { return pointer.substr(pointer.rfind('/') + 1); };
  std::map<std::string, std::string> out;
  for (const auto& [pointer, value] : set) {
    const auto alike = std::count_if(set.begin(), set.end(),
                                     [&, &p = pointer](const auto& other) { return end_of(other.first) == end_of(p); });
    out[pointer] = alike == 1 ? end_of(pointer) : pointer;
  }
  return out;
}

/// What says which setting is best, and how.
struct Score {
  std::string metric;  // empty: nothing does
  bool larger = false;
};

/// The selection's, where there was one; else the accuracy, else the loss.
Score score_of(const ReportedSweep& sweep, const std::vector<std::string>& metrics) {
  const auto known = [&](const std::string& name) {
    return std::find(metrics.begin(), metrics.end(), name) != metrics.end();
  };
  if (sweep.selection.is_object() && sweep.selection.value("score", Json()).is_string() &&
      sweep.selection.value("better", Json()).is_string()) {
    const std::string metric = sweep.selection["score"].get<std::string>();
    if (known(metric)) return {metric, sweep.selection["better"] == "larger"};
  }
  if (known("accuracy")) return {"accuracy", true};
  if (known("loss")) return {"loss", false};
  return {};
}

/// A metric's mean over a setting's seeds.
std::optional<double> mean_of(const SweptSetting& setting, const std::string& metric) {
  const auto values = setting.numbers.find(metric);
  if (values == setting.numbers.end()) return std::nullopt;
  const Result<lab::MeanInterval> interval = lab::mean_interval(values->second, kLevel);
  if (!interval) return std::nullopt;
  return interval->mean;
}

/// What a setting is ordered by: the less, the better. Settings without a score come last.
double rank_of(const SweptSetting& setting, const Score& score) {
  const std::optional<double> mean = mean_of(setting, score.metric);
  if (!mean) return std::numeric_limits<double>::infinity();
  return score.larger ? -*mean : *mean;
}

/// "0.31 ± 0.02"
std::string shown(const std::vector<double>& values) {
  const Result<lab::MeanInterval> interval = lab::mean_interval(values, kLevel);
  if (!interval) return "-";
  constexpr double kRounding = 1e-6;  // a spread of less is that of the arithmetic
  const double half = interval->high - interval->mean;
  if (values.size() == 1 || half <= kRounding * std::abs(interval->mean)) return fmt::format("{:.4g}", interval->mean);
  return fmt::format("{:.4g} ± {:.2g}", interval->mean, half);
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

HtmlTable table_of(const ReportedSweep& sweep, const std::vector<std::string>& metrics, const Score& score) {
  HtmlTable table{"Every setting, with means over its seeds and half of their 90 % interval. ", {"setting"}, {}, ""};
  if (!score.metric.empty())
    table.caption += fmt::format("The best come first: those of {} {}.", score.larger ? "most" : "least", score.metric);
  std::vector<std::string> shown_metrics = metrics;
  std::stable_partition(shown_metrics.begin(), shown_metrics.end(),
                        [&](const std::string& metric) { return metric == score.metric; });
  for (const auto& [pointer, name] : short_names(sweep.settings.front().set)) table.header.push_back(name);
  table.header.insert(table.header.end(), shown_metrics.begin(), shown_metrics.end());
  table.header.insert(table.header.end(), {"runs", "failed"});
  std::vector<std::size_t> order(sweep.settings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return rank_of(sweep.settings[i], score) < rank_of(sweep.settings[j], score);
  });
  for (const std::size_t i : order) {
    const SweptSetting& setting = sweep.settings[i];
    std::vector<std::string> cells = {std::to_string(i)};
    for (const auto& [pointer, value] : setting.set) cells.push_back(value);
    for (const std::string& metric : shown_metrics) {
      const auto values = setting.numbers.find(metric);
      cells.push_back(values == setting.numbers.end() ? "-" : shown(values->second));
    }
    cells.push_back(std::to_string(setting.runs));
    cells.push_back(std::to_string(setting.failed));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// A line of a chart: the settings that differ in one value alone.
struct Line {
  std::string name;
  double rank = std::numeric_limits<double>::infinity();  // of the best of them
  std::vector<std::pair<double, double>> points;
};

/// A metric's mean by one value; a line for each of the others' combinations, those of the best settings first.
Json chart_of(const ReportedSweep& sweep, const std::string& pointer, const std::string& metric, const Score& score) {
  const std::map<std::string, std::string> names = short_names(sweep.settings.front().set);
  std::map<std::string, Line> by_others;
  for (const SweptSetting& setting : sweep.settings) {
    const std::optional<double> at = number_of(setting.set.at(pointer));
    const std::optional<double> mean = mean_of(setting, metric);
    if (!at || !mean) continue;
    std::string others;
    for (const auto& [other, value] : setting.set) {
      if (other != pointer) others += fmt::format("{}{} {}", others.empty() ? "" : ", ", names.at(other), value);
    }
    Line& line = by_others[others];
    line.name = others.empty() ? metric : others;
    line.rank = std::min(line.rank, rank_of(setting, score));
    if (line.points.size() < kPointsDrawn) line.points.emplace_back(*at, *mean);
  }
  std::vector<Line> lines;
  for (auto& [others, line] : by_others) lines.push_back(std::move(line));
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.rank < b.rank; });
  Json series = Json::array();
  for (Line& line : lines) {
    if (series.size() == kRunsDrawn) break;
    std::sort(line.points.begin(), line.points.end());
    series.push_back({{"name", line.name}, {"dashed", false}, {"points", std::move(line.points)}});
  }
  const std::string note = lines.size() > kRunsDrawn ? fmt::format("The lines of the best {} of {}; the table has all.",
                                                                   kRunsDrawn, lines.size())
                                                     : "";
  return {{"title", metric + " by " + names.at(pointer)},
          {"x", names.at(pointer)},
          {"y", metric},
          {"note", note},
          {"stepped", false},
          {"series", series}};
}

Json charts_of(const ReportedSweep& sweep, const std::vector<std::string>& metrics, const Score& score) {
  // Facts of the plan or of the holdout: they say nothing of a model.
  static const std::set<std::string> kNoResult = {"epsilon", "positive_share", "majority_class_accuracy",
                                                  "zero_model_loss"};
  Json charts = Json::array();
  for (const auto& [pointer, first] : sweep.settings.front().set) {
    for (const std::string& metric : metrics) {
      if (kNoResult.contains(metric)) continue;
      Json chart = chart_of(sweep, pointer, metric, score);
      if (tells_something(chart["series"])) charts.push_back(std::move(chart));
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
  UNDERTONE_TRY(const std::string text, read_file(file, kLinesBytesMax));
  ReportedSweep out;
  std::map<std::map<std::string, std::string>, std::size_t> known;
  std::size_t number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = text.find('\n', from);
    if (to == std::string::npos) break;  // a sweep that was cut off in the middle of a line goes on from there
    const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(from),
                                  text.begin() + static_cast<std::ptrdiff_t>(to), nullptr, false);
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
    UNDERTONE_TRY(const std::string bytes, read_file(selected, kSelectionBytesMax));
    out.selection = Json::parse(bytes, nullptr, false);
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
  std::string banner =
      fmt::format("<p class=\"void\"><strong>VOID</strong> {}</p>\n<p>{} settings, {} runs of the job {}.</p>\n",
                  escape_html(sweep.note), sweep.settings.size(), runs, escape_html(sweep.job_sha256));
  std::string varied;
  for (const auto& [pointer, value] : sweep.settings.front().set) varied += (varied.empty() ? "" : ", ") + pointer;
  banner += fmt::format("<p>Varied: {}.</p>\n", escape_html(varied));
  const Score score = score_of(sweep, metrics);
  HtmlTable table = table_of(sweep, metrics, score);
  const std::string same = say_once(table, "The same in every setting: ");
  const std::string settings = "<section><h2>Settings</h2>\n" + same + to_html(table) + "</section>\n";
  return framed_page("Sweep " + name, banner + selection_of(sweep.selection) + settings,
                     charts_of(sweep, metrics, score), "");
}

}  // namespace undertone::report
