#include "shared/report/page_frame.hpp"

#include <fmt/format.h>

#include "shared/report/html.hpp"
#include "shared/report/page_assets.hpp"

namespace undertone::report {
namespace {

std::string charts_section(const nlohmann::ordered_json& charts) {
  if (charts.empty()) return "";
  std::string out = "<section id=\"charts\" hidden><h2>Charts</h2>\n<div class=\"charts\">\n";
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::string title = escape_html(charts[i]["title"].get<std::string>());
    const std::string note = escape_html(charts[i]["note"].get<std::string>());
    out += fmt::format(
        "<figure><figcaption>{0}{2}</figcaption><div class=\"canvas\"><canvas id=\"chart-{1}\" role=\"img\" "
        "aria-label=\"Line chart: {0}. The tables below have the numbers.\"></canvas></div></figure>\n",
        title, i, note.empty() ? "" : " <small>" + note + "</small>");
  }
  return out + "</div></section>\n";
}

std::string head(const std::string& title, const nlohmann::ordered_json& charts) {
  const std::string scripts =
      charts.empty() ? "" : fmt::format("script-src {} {}; ", content_hash(kChartLibrary), content_hash(kPageScript));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {}style-src {}; base-uri 'none'; "
      "form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      scripts, content_hash(kPageStyle), escape_html(title), kPageStyle);
}

}  // namespace

std::string framed_page(const std::string& title, const std::string& before_charts,
                        const nlohmann::ordered_json& charts, const std::string& after_charts) {
  std::string out = head(title, charts);
  out += fmt::format("<body>\n<header><h1>{}</h1></header>\n<main>\n", escape_html(title)) + before_charts +
         charts_section(charts) + after_charts + "</main>\n";
  if (!charts.empty()) {
    out += fmt::format("<script type=\"application/json\" id=\"chart-data\">{}</script>\n", script_json(charts));
    out += fmt::format("<script>{}</script>\n<script>{}</script>\n", kChartLibrary, kPageScript);
  }
  return out + "</body>\n</html>\n";
}

}  // namespace undertone::report
