#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/report/reported_statistics.hpp"

namespace undertone::report {

/// Survival curves as clinical papers print them, in elements of SVG: a step for each edge that is stated, a band of
/// its interval (for the population where there is one), and below the axis the noised numbers at risk. A curve ends
/// where it is refused. @return empty where the statistic has no curves
[[nodiscard]] std::string survival_figure(const ReportedStatistic& statistic);

}  // namespace undertone::report
