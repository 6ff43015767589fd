#include "lab/report/report_charts.hpp"

#include <algorithm>
#include <functional>

#include "lab/report/report_page.hpp"

namespace undertone::lab {
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
};

std::vector<std::pair<double, double>> points_of(const std::vector<Evaluation>& rows, const Value& x, const Value& y) {
  std::vector<std::pair<double, double>> known;
  for (const Evaluation& row : rows) {
    const std::optional<double> at = x(row);
    const std::optional<double> value = y(row);
    if (at && value) known.emplace_back(*at, *value);
  }
  std::vector<std::pair<double, double>> out;
  for (const std::size_t i : thinned(known.size(), kPointsDrawn)) out.push_back(known[i]);
  return out;
}

Json series(const std::string& name, const std::vector<std::pair<double, double>>& points, bool dashed = false) {
  return {{"name", name}, {"dashed", dashed}, {"points", points}};
}

/// @param baseline what a model that knows nothing would reach; drawn for a single run
void add_metric(Json& charts, const std::vector<ReportedRun>& runs, const Axis& x, const Axis& y,
                const Axis& baseline) {
  Json lines = Json::array();
  for (std::size_t r = 0; r < std::min(runs.size(), kRunsDrawn); ++r) {
    const auto points = points_of(runs[r].result.evaluations, x.value, y.value);
    if (!points.empty()) lines.push_back(series(runs[r].name, points));
  }
  if (lines.empty()) return;
  if (runs.size() == 1) {
    const auto points = points_of(runs[0].result.evaluations, x.value, baseline.value);
    if (!points.empty()) lines.push_back(series(baseline.label, points, true));
  }
  charts.push_back({{"title", y.label + " by " + x.label},
                    {"x", x.label},
                    {"y", y.label},
                    {"note", runs.size() > kRunsDrawn
                                 ? fmt::format("The first {} of {} runs; the table has all.", kRunsDrawn, runs.size())
                                 : ""},
                    {"stepped", false},
                    {"series", std::move(lines)}});
}

void add_participation(Json& charts, const RunResult& run) {
  if (run.participation.empty()) return;
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

Json report_charts(const std::vector<ReportedRun>& runs) {
  Json charts = Json::array();
  const Axis epsilon{"epsilon spent", spent};
  for (const Axis& x : {Axis{"steps", steps}, epsilon}) {
    add_metric(charts, runs, x, {"loss", loss}, {"model of zeros", zero_model});
    add_metric(charts, runs, x, {"error (1 - accuracy)", error}, {"always the majority class", majority});
  }
  if (runs.size() == 1) add_participation(charts, runs[0].result);
  return charts;
}

}  // namespace undertone::lab
