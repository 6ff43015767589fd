#include "shared/pages/page_files.hpp"

#include <array>

#include "shared/report/page_assets.hpp"

namespace undertone::pages {

[[nodiscard]] std::span<const PageFile> shared_files();

namespace {

/// Of the report, whose style and charts the pages share.
std::span<const PageFile> report_files() {
  static const std::array kFiles = {PageFile{"/pages/page.css", report::kPageStyle},
                                    PageFile{"/pages/chart.js", report::kChartLibrary},
                                    PageFile{"/pages/draw-chart.js", report::kDrawChart}};
  return kFiles;
}

const char* type_of(std::string_view path) {
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  return path.ends_with(".json") ? "application/json" : "text/html; charset=utf-8";
}

}  // namespace

std::optional<http::Reply> file_reply(const http::Request& request, std::span<const PageFile> own) {
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, target.find('?'));
  for (const std::span<const PageFile> files : {own, shared_files(), report_files()}) {
    for (const PageFile& file : files) {
      if (file.path != path) continue;
      if (request.method != "GET") {
        http::Reply refused = http::error_reply(405, "method_not_allowed", "this resource has GET, HEAD");
        refused.allow = "GET, HEAD";
        return refused;
      }
      http::Reply reply{200, type_of(path), std::string(file.text)};
      reply.cached = true;
      return reply;
    }
  }
  return std::nullopt;
}

}  // namespace undertone::pages
