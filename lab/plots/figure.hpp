#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::lab {

/// What an error bar spans, in the unit of the value: low <= high. Of this project's experiments: 90 % intervals.
struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct Point {
  double x = 0.0;
  double value = 0.0;
  std::optional<Interval> interval;
};

enum class SeriesStyle { Line, LineWithPoints, DashedLine, Points };

/// Points in the order in which a line joins them.
struct Series {
  std::string name;
  std::vector<Point> points;
  SeriesStyle style = SeriesStyle::LineWithPoints;
};

enum class AxisScale { Linear, Logarithmic };

struct Axis {
  std::string label;
  AxisScale scale = AxisScale::Linear;
};

struct Panel {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};

/// Panels on a grid, filled row by row. Texts may be any bytes: they are shown as they are, never interpreted.
struct Figure {
  std::string title;
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::vector<Panel> panels;
};

inline constexpr std::size_t kGridMax = 8;            // rows, and columns
inline constexpr std::size_t kPointsMax = 1'000'000;  // of a figure

/// @return an error that names the panel, series and point: no panel or more than the grid holds, a panel without
/// series or a series without points, a value that is not finite or, on a logarithmic axis, not > 0, an interval upside
/// down. Nothing is dropped silently: who plots a diverged run decides what stands for it.
[[nodiscard]] Status check_figure(const Figure& figure);

/// The numbers: a header, then panel,series,x,value,low,high, the last two empty without an interval. Doubles are
/// written so that they read back as they were.
[[nodiscard]] std::string figure_csv(const Figure& figure);

/// A text that can stand in a figure: invalid UTF-8 becomes U+FFFD, control characters '?'.
[[nodiscard]] std::string figure_text(const std::string& text);

}  // namespace undertone::lab
