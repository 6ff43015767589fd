#include "shared/features/feature_map.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <numbers>
#include <string>

#include "shared/base/exact_text.hpp"
#include "shared/base/overloaded.hpp"

namespace undertone::statistics {
namespace {

/// Numbers in a group's block of GroupMomentsMap.
std::size_t block_of(const GroupMomentsMap& map) { return map.squares ? 3 : 2; }

int levels_of(const TreeMap& map) {
  int levels = 0;
  for (std::size_t leaves = map.leaves.edges.size() - 1; leaves > 1; leaves /= 2) ++levels;
  return levels;
}

std::optional<std::size_t> cell_of_product(const std::vector<Cells>& axes, const EncodedRecord& record) {
  std::size_t place = 0;
  for (const Cells& axis : axes) {
    const std::optional<std::size_t> cell = cell_of(axis, record);
    if (!cell) return std::nullopt;
    place = place * cell_count(axis) + *cell;
  }
  return place;
}

/// How many coordinates of two contributions may differ.
double differing(const FeatureMap& map) {
  if (const auto* groups = std::get_if<GroupMomentsMap>(&map))
    return static_cast<double>(std::min<std::size_t>(2, cell_count(groups->cells)) * block_of(*groups));
  return static_cast<double>(dimension(map));
}

/// The least double that is certainly not below a root that was rounded to nearest.
double up(double value) { return std::nextafter(value, HUGE_VAL); }

}  // namespace

Status check(const FeatureMap& map, std::size_t encoded_width) {
  const auto coordinate = [&](std::size_t at) { return check_coordinate(at, encoded_width); };
  return std::visit(
      Overloaded{[&](const CountMap& of) -> Status {
                   UNDERTONE_TRY(check_cells(of.cells, encoded_width));
                   if (of.cell < cell_count(of.cells)) return {};
                   return refused_map(fmt::format("expected a cell below {}, got {}", cell_count(of.cells), of.cell));
                 },
                 [&](const CellsMap& of) -> Status {
                   if (of.axes.empty()) return refused_map("expected a table with one axis or more");
                   std::size_t cells = 1;
                   for (const Cells& axis : of.axes) {
                     UNDERTONE_TRY(check_cells(axis, encoded_width));
                     if (cell_count(axis) > kCellsMax / cells)
                       return refused_map(fmt::format("expected {} cells at most", kCellsMax));
                     cells *= cell_count(axis);
                   }
                   return {};
                 },
                 [&](const SumMap& of) { return coordinate(of.coordinate); },
                 [&](const CountedSumMap& of) { return coordinate(of.coordinate); },
                 [&](const MomentsMap& of) { return coordinate(of.coordinate); },
                 [&](const CutMomentsMap& of) -> Status {
                   UNDERTONE_TRY(coordinate(of.coordinate));
                   if (std::abs(of.centre) <= 1.0 && of.radius >= kCutRadiusMin && std::isfinite(of.radius)) return {};
                   return refused_map(
                       fmt::format("expected a cut about a number in [-1, 1] at {} or more, got {} about {}",
                                   kCutRadiusMin, of.radius, of.centre));
                 },
                 [&](const FourMomentsMap& of) { return coordinate(of.coordinate); },
                 [&](const GroupMomentsMap& of) -> Status {
                   UNDERTONE_TRY(check_cells(of.cells, encoded_width));
                   UNDERTONE_TRY(coordinate(of.coordinate));
                   if (cell_count(of.cells) <= kCellsMax / block_of(of)) return {};
                   return refused_map(fmt::format("expected {} numbers at most", kCellsMax));
                 },
                 [&](const VectorMomentsMap& of) -> Status {
                   if (of.coordinates.empty() || of.coordinates.size() > kMomentCoordinatesMax) {
                     return refused_map(fmt::format("expected moments of 1 to {} coordinates, got {}",
                                                    kMomentCoordinatesMax, of.coordinates.size()));
                   }
                   std::vector<std::size_t> sorted = of.coordinates;
                   std::sort(sorted.begin(), sorted.end());
                   if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
                     return refused_map("expected moments of coordinates that differ");
                   return coordinate(sorted.back());
                 },
                 [&](const TreeMap& of) -> Status {
                   UNDERTONE_TRY(check_cells(of.leaves, encoded_width));
                   const std::size_t leaves = of.leaves.edges.size() - 1;
                   if (leaves >= 2 && (leaves & (leaves - 1)) == 0 && leaves <= kCellsMax / 2) return {};
                   return refused_map(
                       fmt::format("expected a power of two of leaves, 2 to {}, got {}", kCellsMax / 2, leaves));
                 },
                 [&](const ConjunctionsMap& of) { return check(of, encoded_width); },
                 [&](const CosinesMap& of) { return check(of, encoded_width); },
                 [&](const LossesMap& of) { return check(of, encoded_width); },
                 [&](const BallMap& of) { return check(of, encoded_width); }},
      map);
}

std::string_view name_of(const FeatureMap& map) noexcept {
  return std::visit(
      Overloaded{[](const CountMap&) { return "count"; }, [](const CellsMap&) { return "cells"; },
                 [](const SumMap&) { return "sum"; }, [](const CountedSumMap&) { return "counted sum"; },
                 [](const MomentsMap&) { return "moments"; }, [](const CutMomentsMap&) { return "cut moments"; },
                 [](const FourMomentsMap&) { return "four moments"; },
                 [](const GroupMomentsMap&) { return "group moments"; },
                 [](const VectorMomentsMap&) { return "vector moments"; }, [](const TreeMap&) { return "tree"; },
                 [](const ConjunctionsMap&) { return "conjunctions"; }, [](const CosinesMap&) { return "cosines"; },
                 [](const LossesMap&) { return "losses"; }, [](const BallMap&) { return "ball"; }},
      map);
}

Eigen::Index dimension(const FeatureMap& map) {
  const std::size_t numbers = std::visit(
      Overloaded{[](const CountMap&) { return std::size_t{1}; },
                 [](const CellsMap& of) {
                   std::size_t cells = 1;
                   for (const Cells& axis : of.axes) cells *= cell_count(axis);
                   return cells;
                 },
                 [](const SumMap&) { return std::size_t{1}; }, [](const CountedSumMap&) { return std::size_t{2}; },
                 [](const MomentsMap&) { return std::size_t{2}; }, [](const CutMomentsMap&) { return std::size_t{2}; },
                 [](const FourMomentsMap&) { return std::size_t{4}; },
                 [](const GroupMomentsMap& of) { return cell_count(of.cells) * block_of(of); },
                 [](const VectorMomentsMap& of) {
                   const std::size_t d = of.coordinates.size();
                   return d + d * (d + 1) / 2;
                 },
                 [](const TreeMap& of) { return 2 * (of.leaves.edges.size() - 1) - 2; },
                 [](const ConjunctionsMap& of) { return conjunction_count(of.literals.size(), of.degree); },
                 [](const CosinesMap& of) { return cosine_count(of.coordinates.size(), of.terms); },
                 [](const LossesMap& of) { return grid_count(of.parameters(), of.degree); },
                 [](const BallMap& of) { return static_cast<std::size_t>(dimension(of)); }},
      map);
  return static_cast<Eigen::Index>(numbers);
}

PairwiseBound pairwise_bound(const FeatureMap& map) {
  using std::numbers::sqrt2;
  return std::visit(
      Overloaded{[](const CountMap&) {
                   return PairwiseBound{1.0, 1.0};
                 },
                 [](const CellsMap&) {
                   return PairwiseBound{2.0, up(sqrt2)};
                 },
                 [](const SumMap&) {
                   return PairwiseBound{2.0, 2.0};
                 },
                 [](const CountedSumMap&) {
                   return PairwiseBound{2.0, 2.0};
                 },
                 // With s = |u - w| and |u + w| <= 2 - s: l2^2 <= s^2 (1 + k^2 (2 - s)^2), largest at s = 2 for k^2 <=
                 // 2; l1 <= s (1 + k (2 - s)), largest at s = 2 for k <= 1/2, else (1 + 2 k)^2 / (4 k).
                 [](const MomentsMap& of) {
                   const double wide = (1.0 + 2.0 * sqrt2) * (1.0 + 2.0 * sqrt2) / (4.0 * sqrt2);
                   return PairwiseBound{of.laplace ? 2.0 : up(wide), 2.0};
                 },
                 [](const CutMomentsMap& of) {
                   return pairwise_bound(MomentsMap{of.coordinate, of.laplace});
                 },
                 [](const FourMomentsMap&) {
                   return PairwiseBound{5.0, up(std::sqrt(5.0))};
                 },
                 // In different groups: twice the largest norm of (1, u, u^2 / sqrt(2)).
                 [](const GroupMomentsMap& of) {
                   return of.squares ? PairwiseBound{up(4.0 + sqrt2), up(std::sqrt(5.0))} : PairwiseBound{4.0, 2.0};
                 },
                 [&](const VectorMomentsMap&) {
                   return PairwiseBound{up(2.0 * up(std::sqrt(static_cast<double>(dimension(map))))), 2.0};
                 },
                 [](const TreeMap& of) {
                   const double most = 2.0 * levels_of(of);
                   return PairwiseBound{most, up(std::sqrt(most))};
                 },
                 [](const ConjunctionsMap& of) {
                   const auto most = static_cast<double>(differing_conjunctions(of));
                   return PairwiseBound{most, up(std::sqrt(most))};
                 },
                 // Every coordinate by itself.
                 [&](const CosinesMap&) {
                   const auto all = static_cast<double>(dimension(map));
                   return PairwiseBound{2.0 * all, up(2.0 * up(std::sqrt(all)))};
                 },
                 [&](const LossesMap&) {
                   const auto all = static_cast<double>(dimension(map));
                   return PairwiseBound{all, up(std::sqrt(all))};
                 },
                 [](const BallMap& of) {
                   const auto length = static_cast<double>(of.length());
                   if (of.besides == BallMap::Besides::Products) {
                     const auto all = static_cast<double>(dimension(of));
                     return PairwiseBound{up(2.0 * up(std::sqrt(all))), 2.0};
                   }
                   const bool square = of.besides == BallMap::Besides::Square;
                   return PairwiseBound{up(up(2.0 * up(std::sqrt(length))) + (square ? 1.0 : 0.0)), 2.0};
                 }},
      map);
}

bool counts(const FeatureMap& map) noexcept {
  return std::holds_alternative<CountMap>(map) || std::holds_alternative<CellsMap>(map) ||
         std::holds_alternative<TreeMap>(map) || std::holds_alternative<ConjunctionsMap>(map);
}

std::optional<CoordinateRange> reported_range(const FeatureMap& map) noexcept {
  if (std::holds_alternative<ConjunctionsMap>(map) || std::holds_alternative<LossesMap>(map))
    return CoordinateRange{0.0, 1.0};
  if (std::holds_alternative<CosinesMap>(map)) return CoordinateRange{-1.0, 1.0};
  return std::nullopt;
}

double coordinate_of(const FeatureMap& map, const EncodedRecord& record, std::size_t place) {
  return std::visit(Overloaded{[&](const ConjunctionsMap& of) {
                                 double product = 1.0;  // of all, since when it was known to be 0 would take time
                                 for (const std::size_t literal : conjunction_at(place, of.literals.size(), of.degree))
                                   product *= static_cast<double>(cell_of(of.literals[literal].cells, record) ==
                                                                  of.literals[literal].cell);
                                 return product;
                               },
                               [&](const CosinesMap& of) { return cosine_at(of, record, place); },
                               [&](const LossesMap& of) { return loss_at(of, record, place); },
                               [](const auto& /*total*/) -> double { UNDERTONE_CHECK(false); }},
                    map);
}

void contribution(const FeatureMap& map, const EncodedRecord& record, Eigen::Ref<Eigen::VectorXd> out) {
  out.setZero();
  const auto hit = [&](std::optional<std::size_t> cell) {
    if (cell) out[static_cast<Eigen::Index>(*cell)] = 1.0;
  };
  std::visit(Overloaded{[&](const CountMap& of) { out[0] = cell_of(of.cells, record) == of.cell ? 1.0 : 0.0; },
                        [&](const CellsMap& of) { hit(cell_of_product(of.axes, record)); },
                        [&](const SumMap& of) { out[0] = clamped(record, of.coordinate); },
                        [&](const CountedSumMap& of) {
                          out[0] = 1.0;
                          out[1] = clamped(record, of.coordinate);
                        },
                        [&](const MomentsMap& of) {
                          const double u = clamped(record, of.coordinate);
                          out[0] = u;
                          out[1] = (of.laplace ? 0.5 : std::numbers::sqrt2) * u * u;
                        },
                        [&](const CutMomentsMap& of) {
                          const double from = (clamped(record, of.coordinate) - of.centre) / of.radius;
                          const double v =
                              std::clamp(of.influence == Influence::Clip
                                             ? from
                                             : influence_of(of.influence, from, 1.0) / largest_influence(of.influence),
                                         -1.0, 1.0);
                          out[0] = v;
                          out[1] = (of.laplace ? 0.5 : std::numbers::sqrt2) * v * v;
                        },
                        [&](const FourMomentsMap& of) {
                          const double u = clamped(record, of.coordinate);
                          out[0] = u;
                          out[1] = 1.2 * u * u;
                          out[2] = 0.5 * u * u * u;
                          out[3] = 0.8 * u * u * u * u;
                        },
                        [&](const GroupMomentsMap& of) {
                          const std::optional<std::size_t> cell = cell_of(of.cells, record);
                          if (!cell) return;
                          const double u = clamped(record, of.coordinate);
                          const auto first = static_cast<Eigen::Index>(*cell * block_of(of));
                          out[first] = 1.0;
                          out[first + 1] = u;
                          if (of.squares) out[first + 2] = u * u / std::numbers::sqrt2;
                        },
                        [&](const VectorMomentsMap& of) {
                          const auto d = static_cast<Eigen::Index>(of.coordinates.size());
                          const double radius = std::sqrt(static_cast<double>(d));
                          for (Eigen::Index j = 0; j < d; ++j)
                            out[j] = clamped(record, of.coordinates[static_cast<std::size_t>(j)]) / radius;
                          Eigen::Index place = d;
                          for (Eigen::Index j = 0; j < d; ++j) {
                            out[place++] = out[j] * out[j] / std::numbers::sqrt2;
                            for (Eigen::Index k = j + 1; k < d; ++k) out[place++] = out[j] * out[k];
                          }
                        },
                        [&](const TreeMap& of) {
                          const std::size_t leaves = of.leaves.edges.size() - 1;
                          const std::size_t leaf = *cell_of(of.leaves, record);
                          for (std::size_t width = 2; width <= leaves; width *= 2)
                            hit(width - 2 + leaf / (leaves / width));
                        },
                        [&](const ConjunctionsMap& of) {
                          std::vector<std::int64_t> held(static_cast<std::size_t>(out.size()), 0);
                          add_conjunctions(of, 1, record, held);
                          for (Eigen::Index i = 0; i < out.size(); ++i)
                            out[i] = static_cast<double>(held[static_cast<std::size_t>(i)]);
                        },
                        [&](const CosinesMap& of) { cosines(of, record, out); },
                        [&](const LossesMap& of) {
                          for (Eigen::Index i = 0; i < out.size(); ++i)
                            out[i] = loss_at(of, record, static_cast<std::size_t>(i));
                        },
                        [&](const BallMap& of) { in_ball(of, record, out); }},
             map);
}

IntegerPairwiseBound integer_bound(const FeatureMap& map, std::int64_t units) {
  UNDERTONE_CHECK(units >= 1 && units <= kUnitsMax);
  const PairwiseBound bound = pairwise_bound(map);
  const auto scale = static_cast<double>(units);
  if (counts(map) || std::holds_alternative<SumMap>(map) || std::holds_alternative<CountedSumMap>(map))
    return {static_cast<std::int64_t>(bound.l1) * units,
            bound.l2 == std::floor(bound.l2) ? bound.l2 * scale : up(bound.l2 * scale)};
  const double moved = differing(map);
  // The contributions themselves are rounded in floating point, by less than 2^-49 each.
  const double rounding = 1e-14 * scale * moved;
  return {static_cast<std::int64_t>(std::ceil(up(bound.l1 * scale) + moved + rounding)) + 1,
          up(up(bound.l2 * scale) + up(std::sqrt(moved)) + rounding)};
}

std::string canonical_text(const FeatureMap& map) {
  const std::string numbers = std::visit(
      Overloaded{[](const CountMap& own) { return fmt::format("{}:{}", canonical_text(own.cells), own.cell); },
                 [](const CellsMap& own) {
                   std::string out;
                   for (const Cells& axis : own.axes) out += (out.empty() ? "" : ":") + canonical_text(axis);
                   return out;
                 },
                 [](const SumMap& own) { return fmt::format("{}", own.coordinate); },
                 [](const CountedSumMap& own) { return fmt::format("{}", own.coordinate); },
                 [](const MomentsMap& own) { return fmt::format("{}:{}", own.coordinate, own.laplace); },
                 [](const CutMomentsMap& own) {
                   return fmt::format("{}:{}:{}:{}{}", own.coordinate, exact_text(own.centre), exact_text(own.radius),
                                      own.laplace, own.influence == Influence::Clip ? "" : ":smooth");
                 },
                 [](const FourMomentsMap& own) { return fmt::format("{}", own.coordinate); },
                 [](const GroupMomentsMap& own) {
                   return fmt::format("{}:{}:{}", canonical_text(own.cells), own.coordinate, own.squares);
                 },
                 [](const VectorMomentsMap& own) { return fmt::format("{}", fmt::join(own.coordinates, ",")); },
                 [](const TreeMap& own) { return canonical_text(Cells(own.leaves)); },
                 [](const auto& own) { return canonical_text(own); }},
      map);
  return fmt::format("{}:{}", name_of(map), numbers);
}

}  // namespace undertone::statistics
