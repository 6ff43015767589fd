#include "shared/report/report_charts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "shared/report/report_page.hpp"

namespace undertone::report {
namespace {

using Json = nlohmann::ordered_json;
using Value = std::function<std::optional<double>(const Evaluation&)>;

std::optional<double> steps(const Evaluation& row) { return static_cast<double>(row.after_steps); }
std::optional<double> spent(const Evaluation& row) { return row.epsilon_spent; }
std::optional<double> loss(const Evaluation& row) { return row.metric("loss"); }
std::optional<double> error(const Evaluation& row) { return row.error(); }
std::optional<double> zero_model(const Evaluation& row) { return row.metric("zero_model_loss"); }
std::optional<double> majority(const Evaluation& row) {
  const std::optional<double> accuracy = row.metric("majority_class_accuracy");
  if (!accuracy) return std::nullopt;
  return 1.0 - *accuracy;
}

struct Axis {
  std::string label;
  Value value;
  Value reach = nullptr;  // half of its interval
};

std::optional<double> loss_reach(const Evaluation& row) { return row.reach("loss"); }
std::optional<double> error_reach(const Evaluation& row) { return row.reach("accuracy"); }

/// The evaluations that have both values, thinned.
std::vector<const Evaluation*> drawn_of(const std::vector<Evaluation>& rows, const Value& x, const Value& y) {
  std::vector<const Evaluation*> known;
  for (const Evaluation& row : rows) {
    if (x(row) && y(row)) known.push_back(&row);
  }
  std::vector<const Evaluation*> out;
  for (const std::size_t i : thinned(known.size(), kPointsDrawn)) out.push_back(known[i]);
  return out;
}

std::vector<std::pair<double, double>> points_of(const std::vector<Evaluation>& rows, const Value& x, const Value& y) {
  std::vector<std::pair<double, double>> out;
  for (const Evaluation* row : drawn_of(rows, x, y)) out.emplace_back(*x(*row), *y(*row));
  return out;
}

Json series(const std::string& name, const std::vector<std::pair<double, double>>& points, bool dashed = false) {
  return {{"name", name}, {"dashed", dashed}, {"points", points}};
}

/// @param baseline what a model that knows nothing would reach; drawn for a single run
void add_metric(Json& charts, const std::vector<ReportedRun>& runs, const Axis& x, const Axis& y,
                const Axis& baseline) {
  Json lines = Json::array();
  bool noised = false;
  for (std::size_t r = 0; r < std::min(runs.size(), kRunsDrawn); ++r) {
    const auto points = points_of(runs[r].result.evaluations, x.value, y.value);
    if (points.empty()) continue;
    lines.push_back(series(runs[r].name, points));
    std::vector<double> reach;
    for (const Evaluation* row : drawn_of(runs[r].result.evaluations, x.value, y.value))
      reach.push_back(y.reach(*row).value_or(0.0));
    if (std::none_of(reach.begin(), reach.end(), [](double half) { return half > 0.0; })) continue;
    lines.back()["reach"] = std::move(reach);
    noised = true;
  }
  if (!tells_something(lines)) return;
  if (runs.size() == 1) {
    const auto points = points_of(runs[0].result.evaluations, x.value, baseline.value);
    if (!points.empty()) lines.push_back(series(baseline.label, points, true));
  }
  std::string note;
  if (runs.size() > kRunsDrawn)
    note = fmt::format("The first {} of {} runs; the table has all.", kRunsDrawn, runs.size());
  if (noised) note += fmt::format("{}Bars are 95 % intervals of the noise.", note.empty() ? "" : " ");
  charts.push_back({{"title", y.label + " by " + x.label},
                    {"x", x.label},
                    {"y", y.label},
                    {"note", note},
                    {"stepped", false},
                    {"series", std::move(lines)}});
}

void add_participation(Json& charts, const RunResult& run) {
  // Where everybody answered every round, the table says so in one line.
  if (std::all_of(run.participation.begin(), run.participation.end(),
                  [](const ClosedRound& round) { return round.missing.empty(); }))
    return;
  std::vector<std::pair<double, double>> answered;
  std::vector<std::pair<double, double>> asked;
  for (const std::size_t i : thinned(run.participation.size(), kPointsDrawn)) {
    const ClosedRound& round = run.participation[i];
    const auto number = static_cast<double>(round.round + 1);
    answered.emplace_back(number, static_cast<double>(round.answered.size()));
    asked.emplace_back(number, static_cast<double>(round.answered.size() + round.missing.size()));
  }
  charts.push_back({{"title", "silos that answered by round"},
                    {"x", "round"},
                    {"y", "silos"},
                    {"note", ""},
                    {"stepped", true},
                    {"series", {series("answered", answered), series("asked", asked, true)}}});
}

}  // namespace

std::vector<std::size_t> thinned(std::size_t count, std::size_t most) {
  std::vector<std::size_t> out;
  if (count == 0) return out;
  const std::size_t stride = (count + most - 1) / most;
  for (std::size_t i = (count - 1) % stride; i < count; i += stride) out.push_back(i);
  return out;
}

bool tells_something(const Json& series) {
  constexpr double kRounding = 1e-6;  // values that agree so far are one value
  std::set<double> at;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const Json& line : series) {
    if (line["dashed"].get<bool>()) continue;
    for (const Json& point : line["points"]) {
      at.insert(point[0].get<double>());
      least = std::min(least, point[1].get<double>());
      most = std::max(most, point[1].get<double>());
    }
  }
  return at.size() > 1 && most - least > kRounding * std::max(std::abs(least), std::abs(most));
}

Json report_charts(const std::vector<ReportedRun>& runs) {
  Json charts = Json::array();
  const Axis epsilon{"epsilon spent", spent};
  for (const Axis& x : {Axis{"steps", steps}, epsilon}) {
    add_metric(charts, runs, x, {"loss", loss, loss_reach}, {"model of zeros", zero_model});
    add_metric(charts, runs, x, {"error (1 - accuracy)", error, error_reach}, {"always the majority class", majority});
  }
  if (runs.size() == 1) add_participation(charts, runs[0].result);
  return charts;
}

}  // namespace undertone::report
