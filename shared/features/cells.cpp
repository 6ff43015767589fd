#include "shared/features/cells.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::statistics {

std::size_t cell_count(const Cells& cells) noexcept {
  return std::visit(
      Overloaded{[](const IndicatorCells& of) { return of.count; }, [](const SignCells&) { return std::size_t{2}; },
                 [](const ClassCells& of) { return of.count; },
                 [](const BinnedCells& of) { return of.edges.size() - 1; },
                 [](const GradientCells& of) { return of.edges.size() - 1; },
                 [](const ExitCells& of) { return (of.causes + 1) * of.intervals() + 2; }},
      cells);
}

namespace {

Cells any_cells(const ExitCells& of) {
  return std::visit([](const auto& event) { return Cells(event); }, of.event);
}

/// The cell of a number among edges that ascend: the outer ones hold what lies beyond.
std::size_t cell_among(const std::vector<double>& edges, double value) {
  const auto inner = edges.begin() + 1;
  return static_cast<std::size_t>(std::lower_bound(inner, edges.end() - 1, value) - inner);
}

std::size_t exit_of(const ExitCells& of, const EncodedRecord& record) {
  const std::size_t survivor = (of.causes + 1) * of.intervals();
  const std::size_t missing = survivor + 1;
  const double time = record[of.time];
  if (!std::isfinite(time) || (of.time_missing && record[*of.time_missing] == 1.0)) return missing;
  if (time > of.edges.back()) return survivor;  // whatever happened to it later
  const std::optional<std::size_t> event =
      std::visit([&](const auto& cells) { return cell_of(Cells(cells), record); }, of.event);
  if (!event) return missing;
  const std::size_t cause = of.cause_of[*event];
  if (cause == of.causes && time == of.edges.back()) return survivor;
  return cause * of.intervals() + cell_among(of.edges, time);
}

Status check_edges(const std::vector<double>& edges) {
  if (edges.size() < 2 || edges.size() > kCellsMax)
    return refused_map(fmt::format("expected 2 to {} edges, got {}", kCellsMax, edges.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const bool ascends = i == 0 || edges[i - 1] < edges[i];
    if (std::isfinite(edges[i]) && ascends) continue;
    return refused_map(fmt::format("expected finite edges that ascend, got {} at place {}{}", edges[i], i,
                                   i == 0 ? "" : fmt::format(" after {}", edges[i - 1])));
  }
  return {};
}

}  // namespace

double gradient_length(const GradientCells& cells, const EncodedRecord& record) {
  const std::size_t features = cells.point.size() - (cells.intercept ? 1 : 0);
  double score = cells.intercept ? cells.point.back() : 0.0;
  double square = cells.intercept ? 1.0 : 0.0;
  for (std::size_t j = 0; j < features; ++j) {
    const double value = clamped(record, j);
    score += cells.point[j] * value;
    square += value * value;
  }
  const bool of_sign = cells.loss == ScalarLoss::Logistic || cells.loss == ScalarLoss::Hinge;
  const double label = of_sign ? (record.label > 0.0 ? 1.0 : -1.0) : clamped(record, record.features.size());
  return steepness_of(cells.loss, score, label) * std::sqrt(square);
}

std::optional<std::size_t> cell_of(const Cells& cells, const EncodedRecord& record) {
  using Cell = std::optional<std::size_t>;
  return std::visit(
      Overloaded{[&](const IndicatorCells& of) -> Cell {
                   Cell found;
                   for (std::size_t i = 0; i < of.count; ++i) {
                     if (record[of.first + i] != 1.0) continue;
                     if (found) return std::nullopt;
                     found = i;
                   }
                   return found;
                 },
                 [&](const SignCells& of) -> Cell { return record[of.coordinate] > 0.0 ? 1 : 0; },
                 [&](const ClassCells& of) -> Cell {
                   const double value = record[of.coordinate];
                   if (!(value >= 0.0 && value < static_cast<double>(of.count)) || std::floor(value) != value)
                     return std::nullopt;
                   return static_cast<std::size_t>(value);
                 },
                 [&](const BinnedCells& of) -> Cell {
                   const double value = record[of.coordinate];
                   return cell_among(of.edges, std::isfinite(value) ? value : 0.0);
                 },
                 [&](const GradientCells& of) -> Cell { return cell_among(of.edges, gradient_length(of, record)); },
                 [&](const ExitCells& of) -> Cell { return exit_of(of, record); }},
      cells);
}

Error refused_map(std::string_view what) { return {ErrorCode::InvalidArgument, fmt::format("a statistic: {}", what)}; }

Status check_coordinate(std::size_t coordinate, std::size_t width) {
  if (coordinate < width) return {};
  return refused_map(fmt::format("expected a coordinate below {}, got {}", width, coordinate));
}

Status check_cells(const Cells& cells, std::size_t width) {
  return std::visit(
      Overloaded{[&](const IndicatorCells& of) -> Status {
                   if (of.count >= 1 && of.count <= kCellsMax && of.first < width && of.count <= width - of.first)
                     return {};
                   return refused_map(fmt::format("expected indicators within {} coordinates, got {} from {} on", width,
                                                  of.count, of.first));
                 },
                 [&](const SignCells& of) { return check_coordinate(of.coordinate, width); },
                 [&](const ClassCells& of) -> Status {
                   UNDERTONE_TRY(check_coordinate(of.coordinate, width));
                   if (of.count >= 1 && of.count <= kCellsMax) return {};
                   return refused_map(fmt::format("expected 1 to {} classes, got {}", kCellsMax, of.count));
                 },
                 [&](const BinnedCells& of) -> Status {
                   UNDERTONE_TRY(check_coordinate(of.coordinate, width));
                   return check_edges(of.edges);
                 },
                 [&](const GradientCells& of) -> Status {
                   const std::size_t own = of.intercept ? 1 : 0;
                   if (of.point.size() <= own || of.point.size() - own >= width)  // the label is no feature
                     return refused_map(fmt::format("expected a point of 1 to {} features, got {} numbers", width - 1,
                                                    of.point.size()));
                   for (const double number : of.point)
                     if (!std::isfinite(number)) return refused_map(fmt::format("expected a point, got {}", number));
                   if (of.edges.empty() || of.edges.front() != 0.0) return refused_map("expected edges from 0 on");
                   return check_edges(of.edges);
                 },
                 [&](const ExitCells& of) -> Status {
                   UNDERTONE_TRY(check_coordinate(of.time, width));
                   if (of.time_missing) UNDERTONE_TRY(check_coordinate(*of.time_missing, width));
                   const Cells event = any_cells(of);
                   UNDERTONE_TRY(check_cells(event, width));
                   const bool listed = of.cause_of.size() == cell_count(event) && of.causes >= 1 &&
                                       of.causes <= of.cause_of.size() &&
                                       std::all_of(of.cause_of.begin(), of.cause_of.end(),
                                                   [&](std::size_t cause) { return cause <= of.causes; });
                   if (!listed) return refused_map("expected a cause, or none, of every value of the event");
                   UNDERTONE_TRY(check_edges(of.edges));
                   if (cell_count(of) > kCellsMax)
                     return refused_map(fmt::format("expected {} cells at most, got {}", kCellsMax, cell_count(of)));
                   return {};
                 }},
      cells);
}

double clamped(const EncodedRecord& record, std::size_t coordinate) {
  const double value = record[coordinate];
  return std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : 0.0;
}

std::string canonical_text(const Cells& cells) {
  return std::visit(
      Overloaded{[](const IndicatorCells& own) { return fmt::format("indicators/{}/{}", own.first, own.count); },
                 [](const SignCells& own) { return fmt::format("sign/{}", own.coordinate); },
                 [](const ClassCells& own) { return fmt::format("class/{}/{}", own.coordinate, own.count); },
                 [](const BinnedCells& own) {
                   std::string out = fmt::format("bins/{}", own.coordinate);
                   for (const double edge : own.edges) out += "/" + exact_text(edge);
                   return out;
                 },
                 [](const GradientCells& own) {
                   std::string out = fmt::format("gradients/{}/{}", to_string(own.loss), own.intercept);
                   for (const double number : own.point) out += "/" + exact_text(number);
                   out += ":";
                   for (const double edge : own.edges) out += "/" + exact_text(edge);
                   return out;
                 },
                 [](const ExitCells& own) {
                   std::string out = fmt::format("exits/{}/{}/{}/{}", own.time,
                                                 own.time_missing ? fmt::format("{}", *own.time_missing) : "",
                                                 canonical_text(any_cells(own)), own.causes);
                   for (const std::size_t cause : own.cause_of) out += fmt::format("/{}", cause);
                   out += ":";
                   for (const double edge : own.edges) out += "/" + exact_text(edge);
                   return out;
                 }},
      cells);
}

}  // namespace undertone::statistics
