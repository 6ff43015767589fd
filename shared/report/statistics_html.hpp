#pragma once

#include <string>
#include <vector>

#include "shared/report/reported_statistics.hpp"

namespace undertone::report {

/// A run's statistics for people: each with a table of its estimates and their intervals; a histogram as bars, a
/// regression, a mean or a sum as a forest plot of its coefficients, silo by silo and over all silos. Numbers are
/// rounded here and nowhere before; none is cut to what is possible. Empty where there are none.
[[nodiscard]] std::string statistics_html(const std::vector<ReportedStatistic>& statistics);

}  // namespace undertone::report
