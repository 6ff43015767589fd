#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "lab/report/reported_run.hpp"

namespace undertone::lab {

/// What charts.js draws: an array of {title, x, y, note, stepped, series: [{name, dashed, points: [[x, y], ...]}]}. A
/// chart that would be empty is left out. Of more than `kRunsDrawn` runs the first are drawn.
[[nodiscard]] nlohmann::ordered_json report_charts(const std::vector<ReportedRun>& runs);

/// At most `most` indices below `count`, evenly spread, the last included.
[[nodiscard]] std::vector<std::size_t> thinned(std::size_t count, std::size_t most);

}  // namespace undertone::lab
