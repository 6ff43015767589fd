#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "shared/report/reported_run.hpp"

namespace undertone::report {

/// What charts.js draws: an array of {title, x, y, note, stepped, series: [{name, dashed, points: [[x, y], ...],
/// reach}]}; `reach`, where it is, has for each point half of its interval. A chart that would tell nothing is left
/// out. Of more than `kRunsDrawn` runs the first are drawn.
[[nodiscard]] nlohmann::ordered_json report_charts(const std::vector<ReportedRun>& runs);

/// Whether lines are worth a chart: they have points at two places at least, and values that differ. Dashed ones, which
/// the others are held against, do not count.
/// @param series as in a chart
[[nodiscard]] bool tells_something(const nlohmann::ordered_json& series);

/// At most `most` indices below `count`, evenly spread, the last included.
[[nodiscard]] std::vector<std::size_t> thinned(std::size_t count, std::size_t most);

}  // namespace undertone::report
