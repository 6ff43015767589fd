#include <algorithm>
#include <cmath>

#include "shared/base/overloaded.hpp"
#include "shared/features/feature_map.hpp"

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

}  // namespace undertone::statistics
