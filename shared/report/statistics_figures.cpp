#include "shared/report/statistics_figures.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "shared/report/html.hpp"

namespace undertone::report {
namespace {

constexpr std::size_t kRowsDrawn = 128;
constexpr double kWidth = 720.0;
constexpr double kNames = 200.0;  // of the width, for the names of rows
constexpr double kMargin = 20.0;
constexpr double kRowHeight = 18.0;
constexpr double kDrawnMax = 1e300;

/// Where numbers lie along an axis.
struct Scale {
  double low = 0.0;
  double high = 1.0;
  double from = 0.0;  // pixels
  double to = 1.0;
  [[nodiscard]] double at(double value) const {
    return from + (std::clamp(value, low, high) - low) / (high - low) * (to - from);
  }
};

bool is_drawn(const std::optional<double>& value) { return value && std::abs(*value) < kDrawnMax; }

/// Over everything that is finite. @param with_zero bars stand on it
Scale axis_over(const std::vector<FigureRow>& rows, bool with_zero, double from, double to) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  const auto take = [&](const std::optional<double>& value) {
    if (!is_drawn(value)) return;
    low = std::min(low, *value);
    high = std::max(high, *value);
  };
  for (const FigureRow& row : rows) {
    take(row.value);
    take(row.interval.low);
    take(row.interval.high);
  }
  if (with_zero) take(0.0);
  if (!(low <= high)) return {0.0, 1.0, from, to};
  if (low == high) return {low - 1.0, high + 1.0, from, to};
  return {low, high, from, to};
}

std::string line(double x1, double y1, double x2, double y2, const char* more) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\"{}/>\n", x1,
                     y1, x2, y2, more);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"{}\" fill=\"currentColor\">{}</text>\n", x, y,
      anchor, escape_html(text));
}

std::string framed(const std::string& title, std::size_t left_out, double height, const std::string& content) {
  const std::string more = left_out == 0 ? "" : fmt::format(" <small>{} more in the table</small>", left_out);
  return fmt::format(
      "<figure class=\"statistic\"><figcaption>{0}{1}</figcaption><svg viewBox=\"0 0 {2:.0f} {3:.0f}\" role=\"img\" "
      "aria-label=\"{0}. The table below has the numbers.\">\n{4}</svg></figure>\n",
      escape_html(title), more, kWidth, height, content);
}

std::string ends_of(const Scale& axis, double y) {
  return label(axis.from, y, "start", fmt::format("{:.4g}", axis.low)) +
         label(axis.to, y, "end", fmt::format("{:.4g}", axis.high));
}

std::vector<FigureRow> first_of(const std::vector<FigureRow>& rows) {
  return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kRowsDrawn))};
}

}  // namespace

std::string bar_figure(const std::string& title, const std::vector<FigureRow>& all) {
  if (all.empty()) return "";
  const std::vector<FigureRow> rows = first_of(all);
  const Scale axis = axis_over(rows, true, kNames, kWidth - kMargin);
  std::string content = line(axis.at(0.0), 0.0, axis.at(0.0), kRowHeight * static_cast<double>(rows.size()), "");
  double y = 0.0;
  for (const FigureRow& row : rows) {
    content += label(kNames - 6.0, y + 13.0, "end", row.name);
    if (is_drawn(row.value)) {
      const double zero = axis.at(0.0);
      const double end = axis.at(*row.value);
      content += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"currentColor\" "
          "opacity=\"0.35\"/>\n",
          std::min(zero, end), y + 3.0, std::abs(end - zero), kRowHeight - 6.0);
    }
    if (is_drawn(row.interval.low) && is_drawn(row.interval.high))
      content += line(axis.at(*row.interval.low), y + 9.0, axis.at(*row.interval.high), y + 9.0, "");
    y += kRowHeight;
  }
  return framed(title, all.size() - rows.size(), y + 20.0, content + ends_of(axis, y + 14.0));
}

std::string forest_figure(const std::string& title, const std::vector<FigureRow>& all, bool together) {
  if (all.empty()) return "";
  std::vector<FigureRow> rows = first_of(all);
  if (together) rows.back() = all.back();
  const Scale axis = axis_over(rows, false, kNames, kWidth - kMargin);
  std::string content;
  if (axis.low < 0.0 && axis.high > 0.0)
    content += line(axis.at(0.0), 0.0, axis.at(0.0), kRowHeight * static_cast<double>(rows.size()),
                    " stroke-dasharray=\"3 3\" opacity=\"0.5\"");
  double y = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const FigureRow& row = rows[i];
    const bool stands_out = together && i + 1 == rows.size();
    content += label(kNames - 6.0, y + 13.0, "end", row.name);
    if (is_drawn(row.interval.low) && is_drawn(row.interval.high))
      content += line(axis.at(*row.interval.low), y + 9.0, axis.at(*row.interval.high), y + 9.0,
                      stands_out ? " stroke-width=\"3\"" : "");
    if (is_drawn(row.value))
      content += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"currentColor\"/>\n",
                             axis.at(*row.value), y + 9.0, stands_out ? 5 : 3);
    y += kRowHeight;
  }
  return framed(title, all.size() - rows.size(), y + 20.0, content + ends_of(axis, y + 14.0));
}

}  // namespace undertone::report
