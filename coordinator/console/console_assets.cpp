#include "coordinator/console/console_assets.hpp"

#include <array>

#include "coordinator/console/console_files.hpp"
#include "shared/report/page_assets.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::string_view kScript = "text/javascript; charset=utf-8";
constexpr std::string_view kStyle = "text/css; charset=utf-8";

std::string_view type_of(std::string_view path) {
  if (path.ends_with(".js")) return kScript;
  if (path.ends_with(".css")) return kStyle;
  if (path.ends_with(".json")) return "application/json";
  return "text/html; charset=utf-8";
}

}  // namespace

std::optional<ConsoleAsset> console_asset(std::string_view path) {
  if (path == "/console/page.css") return ConsoleAsset{kStyle, report::kPageStyle};
  if (path == "/console/chart.js") return ConsoleAsset{kScript, report::kChartLibrary};
  if (path == "/console/draw-chart.js") return ConsoleAsset{kScript, report::kDrawChart};
  for (const ConsoleFile& file : console_files())
    if (path == file.path) return ConsoleAsset{type_of(path), file.text};
  return std::nullopt;
}

}  // namespace undertone::coordinator
