#pragma once

#include <string_view>

namespace undertone::report {

// Parts of pages that are files, put into the program by CMake: page.css, draw_chart.js and charts.js of this folder,
// and the Chart.js of Debian's libjs-chart.js with its licence. The report's script is draw_chart.js and charts.js.
extern const std::string_view kPageStyle;
extern const std::string_view kDrawChart;
extern const std::string_view kPageScript;
extern const std::string_view kChartLibrary;

}  // namespace undertone::report
