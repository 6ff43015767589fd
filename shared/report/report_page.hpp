#pragma once

#include <string>
#include <vector>

#include "shared/report/reported_run.hpp"

namespace undertone::report {

/// One HTML page that needs nothing else: no network, no script to be read, no other file. Its content security policy
/// allows its own style and scripts, by their digests, and forbids everything else.
/// @param runs at least one; several are compared
[[nodiscard]] std::string report_page(const std::vector<ReportedRun>& runs);

inline constexpr std::size_t kRunsDrawn = 12;       // lines that a chart still shows apart
inline constexpr std::size_t kPointsDrawn = 400;    // of a line
inline constexpr std::size_t kTableRowsMax = 200;   // of a run's table
inline constexpr std::size_t kJobShown = 64 << 10;  // bytes

}  // namespace undertone::report
