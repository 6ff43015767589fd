#pragma once

#include <string_view>

namespace undertone::report {

// The page's parts that are files, put into the program by CMake: page.css and charts.js of this folder, and the
// Chart.js of Debian's libjs-chart.js with its licence.
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;
extern const std::string_view kChartLibrary;

}  // namespace undertone::report
