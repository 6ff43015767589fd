#include "lab/plots/figure.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "shared/base/plain_text.hpp"
#include "shared/data/csv_table.hpp"

namespace undertone::lab {
namespace {

Error refusal(const std::string& what) { return {ErrorCode::InvalidArgument, "figure: " + what}; }

Status check_coordinate(double value, const Axis& axis, const std::string& where) {
  if (!std::isfinite(value)) return refusal(fmt::format("{}: expected a finite number, got {}", where, value));
  if (axis.scale == AxisScale::Logarithmic && !(value > 0.0))
    return refusal(fmt::format("{}: expected a number > 0 on a logarithmic axis, got {}", where, value));
  return {};
}

Status check_point(const Point& point, const Panel& panel, const std::string& where) {
  if (Status x = check_coordinate(point.x, panel.x, where + ", x"); !x) return x;
  if (Status value = check_coordinate(point.value, panel.y, where + ", value"); !value) return value;
  if (!point.interval) return {};
  if (Status low = check_coordinate(point.interval->low, panel.y, where + ", low"); !low) return low;
  if (Status high = check_coordinate(point.interval->high, panel.y, where + ", high"); !high) return high;
  if (point.interval->low > point.interval->high)
    return refusal(
        fmt::format("{}: the interval begins at {} and ends at {}", where, point.interval->low, point.interval->high));
  return {};
}

std::string csv_cell(const std::string& text) { return data::csv_cell(figure_text(text)); }

}  // namespace

Status check_figure(const Figure& figure) {
  for (const std::size_t side : {figure.rows, figure.columns}) {
    if (side < 1 || side > kGridMax)
      return refusal(fmt::format("expected 1 to {} rows and columns, got {}", kGridMax, side));
  }
  if (figure.panels.empty() || figure.panels.size() > figure.rows * figure.columns) {
    return refusal(fmt::format("expected 1 to {} panels for {} rows and {} columns, got {}",
                               figure.rows * figure.columns, figure.rows, figure.columns, figure.panels.size()));
  }
  std::size_t points = 0;
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const Panel& panel = figure.panels[p];
    if (panel.series.empty()) return refusal(fmt::format("panel {}: no series", p + 1));
    for (const Series& series : panel.series) {
      const std::string where = fmt::format("panel {}, series \"{}\"", p + 1, figure_text(series.name));
      if (series.points.empty()) return refusal(where + ": no points");
      points += series.points.size();
      if (points > kPointsMax) return refusal(fmt::format("more than {} points", kPointsMax));
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        Status checked = check_point(series.points[i], panel, fmt::format("{}, point {}", where, i + 1));
        if (!checked) return checked;
      }
    }
  }
  return {};
}

std::string figure_csv(const Figure& figure) {
  std::string out = "panel,series,x,value,low,high\n";
  for (const Panel& panel : figure.panels) {
    for (const Series& series : panel.series) {
      const std::string names = csv_cell(panel.title) + "," + csv_cell(series.name);
      for (const Point& point : series.points) {
        out += fmt::format("{},{},{},", names, point.x, point.value);
        out += point.interval ? fmt::format("{},{}\n", point.interval->low, point.interval->high) : ",\n";
      }
    }
  }
  return out;
}

std::string figure_text(const std::string& text) {
  // The JSON writer is the UTF-8 decoder at hand: what it replaces is exactly what is invalid.
  using Json = nlohmann::json;
  return plain_text(Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>());
}

}  // namespace undertone::lab
