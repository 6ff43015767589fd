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
                 [](const BinnedCells& of) { return of.edges.size() - 1; }},
      cells);
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
                   const double held = std::isfinite(value) ? value : 0.0;
                   const auto inner = of.edges.begin() + 1;
                   return static_cast<std::size_t>(std::lower_bound(inner, of.edges.end() - 1, held) - inner);
                 }},
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
                   if (of.edges.size() < 2 || of.edges.size() > kCellsMax)
                     return refused_map(fmt::format("expected 2 to {} edges, got {}", kCellsMax, of.edges.size()));
                   for (std::size_t i = 0; i < of.edges.size(); ++i) {
                     const bool ascends = i == 0 || of.edges[i - 1] < of.edges[i];
                     if (std::isfinite(of.edges[i]) && ascends) continue;
                     return refused_map(fmt::format("expected finite edges that ascend, got {} at place {}{}",
                                                    of.edges[i], i,
                                                    i == 0 ? "" : fmt::format(" after {}", of.edges[i - 1])));
                   }
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
                 }},
      cells);
}

}  // namespace undertone::statistics
