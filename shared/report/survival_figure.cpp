#include "shared/report/survival_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "shared/report/html.hpp"

namespace undertone::report {
namespace {

constexpr double kPictureWidth = 720.0;
constexpr double kLeft = 150.0;  // for the names of groups
constexpr double kRight = 700.0;
constexpr double kTop = 10.0;
constexpr double kBottom = 260.0;
constexpr double kGroupHeight = 16.0;
constexpr std::size_t kTicksMax = 10;
/// Colours that are told apart by the colour-blind as well (Okabe and Ito), each with a pattern of its own.
struct Pen {
  const char* colour;
  const char* dashes;
};
constexpr std::array<Pen, 6> kPens{{{"#0072b2", ""},
                                    {"#d55e00", "7 3"},
                                    {"#009e73", "2 3"},
                                    {"#cc79a7", "10 3 2 3"},
                                    {"#b07800", "5 5"},
                                    {"#56b4e9", "1 4"}}};

std::string text(double x, double y, const char* anchor, const std::string& what, const char* colour) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n", x,
                     y, anchor, colour, escape_html(what));
}
std::string rule(double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" opacity=\"0.4\"/>\n", x1,
      y1, x2, y2);
}
double height_of(double share) { return kBottom - std::clamp(share, 0.0, 1.0) * (kBottom - kTop); }

/// Where edges lie.
struct TimeAxis {
  double from = 0.0;
  double to = 1.0;
  [[nodiscard]] double at(double time) const { return kLeft + (time - from) / (to - from) * (kRight - kLeft); }
};

/// Until where a step is drawn: to the next edge, or a little beyond the last one.
double end_of(const TimeAxis& axis, const std::vector<double>& at, std::size_t step) {
  constexpr double kBeyond = 6.0;
  return step + 1 < at.size() ? axis.at(at[step + 1]) : axis.at(at[step]) + kBeyond;
}

/// Steps through the points, from the left to the right: what is stated at an edge holds from there on.
std::string steps(const TimeAxis& axis, const std::vector<double>& at, const std::vector<double>& shares) {
  std::string out;
  const std::size_t count = shares.size();
  double y = height_of(1.0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    out += fmt::format(" L{:.1f} {:.1f}", axis.at(at[i]), y);
    y = height_of(shares[i]);
    out += fmt::format(" L{:.1f} {:.1f}", axis.at(at[i]), y);
  }
  return count == 0 ? out : out + fmt::format(" L{:.1f} {:.1f}", end_of(axis, at, count - 1), y);
}

std::string curve(const TimeAxis& axis, const std::vector<double>& at, const std::vector<ReportedEstimate>& points,
                  const Pen& pen) {
  std::vector<double> values;
  std::string bands;
  for (const ReportedEstimate& point : points) {
    if (!point.value) break;
    const ReportedInterval& interval = point.population ? *point.population : point.noise;
    const std::size_t i = values.size();
    const double x = axis.at(at[i]);
    const double end = end_of(axis, at, i);
    if (interval.low && interval.high)
      bands += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" opacity=\"0.15\"/>\n", x,
          height_of(*interval.high), end - x, height_of(*interval.low) - height_of(*interval.high), pen.colour);
    values.push_back(*point.value);
  }
  return bands + fmt::format(
                     "<path d=\"M{:.1f} {:.1f}{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
                     "stroke-dasharray=\"{}\"/>\n",
                     axis.at(axis.from), height_of(1.0), steps(axis, at, values), pen.colour, pen.dashes);
}

}  // namespace

std::string survival_figure(const ReportedStatistic& statistic) {
  if (!statistic.survival) return "";
  const ReportedSurvival& survival = *statistic.survival;
  const std::size_t count = survival.at.size();
  const bool sound = count > 0 && survival.estimates_of_group >= 2 * count && survival.at.back() > survival.from &&
                     std::is_sorted(survival.at.begin(), survival.at.end()) &&
                     statistic.estimates.size() >= survival.groups.size() * survival.estimates_of_group;
  if (!sound) return "";
  const TimeAxis axis{survival.from, survival.at.back()};
  std::string content = rule(kLeft, kBottom, kRight, kBottom) + rule(kLeft, kTop, kLeft, kBottom);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    content += text(kLeft - 6.0, height_of(share) + 4.0, "end", fmt::format("{:.2f}", share), "currentColor");
  const std::size_t every = (count + kTicksMax - 1) / kTicksMax;
  double y = kBottom + 34.0;
  content += text(kLeft - 6.0, y, "end", "at risk after", "currentColor");
  for (std::size_t i = every - 1; i < count; i += every)
    content +=
        text(axis.at(survival.at[i]), kBottom + 16.0, "middle", fmt::format("{:.6g}", survival.at[i]), "currentColor");
  for (std::size_t g = 0; g < survival.groups.size(); ++g) {
    const Pen& pen = kPens[g % kPens.size()];
    const auto first = statistic.estimates.begin() + static_cast<std::ptrdiff_t>(g * survival.estimates_of_group);
    const auto points = static_cast<std::ptrdiff_t>(count);
    content += curve(axis, survival.at, {first, first + points}, pen);
    y += kGroupHeight;
    content += text(kLeft - 6.0, y, "end", survival.groups[g].empty() ? "all" : survival.groups[g], pen.colour);
    for (std::size_t i = every - 1; i < count; i += every) {
      const ReportedEstimate& left = first[points + static_cast<std::ptrdiff_t>(i)];
      if (left.value)
        content += text(axis.at(survival.at[i]), y, "middle", fmt::format("{:.0f}", *left.value), pen.colour);
    }
  }
  const std::string title =
      fmt::format("{}: the share without an event, with intervals at {:.4g} %; numbers at risk have noise",
                  statistic.name, 100.0 * statistic.confidence);
  return fmt::format(
      "<figure class=\"statistic\"><figcaption>{0}</figcaption><svg viewBox=\"0 0 {1:.0f} {2:.0f}\" role=\"img\" "
      "aria-label=\"{0}. The table below has the numbers.\">\n{3}</svg></figure>\n",
      escape_html(title), kPictureWidth, y + 10.0, content);
}

}  // namespace undertone::report
