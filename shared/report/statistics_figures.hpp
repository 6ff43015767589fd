#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/report/reported_statistics.hpp"

namespace undertone::report {

/// A number with its interval, under a name.
struct FigureRow {
  std::string name;
  std::optional<double> value;
  ReportedInterval interval;
};

/// Pictures as they stand in a page, in elements of SVG: no script draws them and no style moves them. Rows beyond the
/// 128th are left out, and said to be.
/// Bars from 0 with whiskers: a histogram's cells in their order. @param rows may be empty: then there is no figure
[[nodiscard]] std::string bar_figure(const std::string& title, const std::vector<FigureRow>& rows);
/// A forest plot: a line for each row's interval, a point for its value. What has no finite interval has no line.
/// @param together the last row is over all others, and stands out
[[nodiscard]] std::string forest_figure(const std::string& title, const std::vector<FigureRow>& rows, bool together);

}  // namespace undertone::report
