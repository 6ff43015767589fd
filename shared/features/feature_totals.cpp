#include "shared/features/feature_totals.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "shared/base/overloaded.hpp"

namespace undertone::statistics {
namespace {

double in_range(double value) { return std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : 0.0; }

/// A few numbers that are functions of one coordinate: their totals stay in registers.
template <std::size_t kNumbers, class Of>
void add_numbers(std::size_t coordinate, double units, const EncodedRecords& records, std::span<std::int64_t> sum,
                 const Of& of) {
  std::array<std::int64_t, kNumbers> totals{};
  const bool label = coordinate == records.width;
  const double* const first = label ? records.labels.data() : records.features + coordinate;
  const std::size_t stride = label ? 1 : records.width;
  for (const std::int64_t position : records.positions) {
    const std::array<double, kNumbers> numbers = of(in_range(first[static_cast<std::size_t>(position) * stride]));
    for (std::size_t i = 0; i < kNumbers; ++i) totals[i] += rounded_units(numbers[i], units);
  }
  for (std::size_t i = 0; i < kNumbers; ++i) sum[i] += totals[i];
}

/// Any map, a record at a time. @param write puts phi of a record into [dimension] numbers
template <class Write>
void add_each(double units, const EncodedRecords& records, std::span<std::int64_t> sum, const Write& write) {
  Eigen::VectorXd scratch(static_cast<Eigen::Index>(sum.size()));
  for (const std::int64_t position : records.positions) {
    write(records.at(position), scratch);
    const double* const numbers = scratch.data();
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += rounded_units(numbers[i], units);
  }
}

constexpr std::size_t kTogether = 256;         // records whose cells are found together
constexpr std::uint32_t kOutside = 1U << 31U;  // in no cell; stays so whatever is added to it

/// In which cell of an axis each of up to kTogether records is, or kOutside.
class CellFinder {
 public:
  explicit CellFinder(const BinnedCells& cells) : ends_(cells.edges.begin() + 1, cells.edges.end()) {
    ends_.back() = HUGE_VAL;  // what is above the last inner edge is in the last cell
    const std::span<const double> inner(ends_.data(), ends_.size() - 1);
    if (inner.empty()) return;
    // Numbers are put into slots of equal width, which no two of them enter in the other order: what lies in a slot is
    // above every edge of the slots before it, so that only the edges of its own slot are left to compare with.
    first_ = inner.front();
    slots_ = std::min<std::size_t>(4 * inner.size(), kCellsMax);
    per_width_ = static_cast<double>(slots_ - 1) / (inner.back() - inner.front());
    if (!std::isfinite(per_width_)) per_width_ = 0.0;  // of one edge, or of edges as far apart as doubles are
    below_.assign(slots_ + 1, 0);
    for (const double edge : inner) ++below_[slot_of(edge) + 1];
    for (std::size_t slot = 1; slot < below_.size(); ++slot) below_[slot] += below_[slot - 1];
  }
  [[nodiscard]] std::uint32_t cell_of(double value) const {
    if (below_.empty()) return 0;
    const double held = std::isfinite(value) ? value : 0.0;
    std::uint32_t cell = below_[slot_of(held)];
    cell += ends_[cell] < held ? 1U : 0U;  // most slots hold one edge at most: no branch to guess
    while (ends_[cell] < held) ++cell;
    return cell;
  }

 private:
  [[nodiscard]] std::size_t slot_of(double value) const {
    const double slot = (value - first_) * per_width_;
    // Of an overflow times no width, which is no number, the larger of it and 0 is 0.
    return static_cast<std::size_t>(std::min(std::max(0.0, slot), static_cast<double>(slots_ - 1)));
  }
  std::vector<double> ends_;  // [cells] of each cell the edge above it
  double first_ = 0.0;
  double per_width_ = 0.0;
  std::size_t slots_ = 0;
  std::vector<std::uint32_t> below_;  // [slots + 1] inner edges in the slots before
};

/// One axis of a product of cells, ready to say of many records where they are.
class Axis {
 public:
  explicit Axis(const Cells& cells) : cells_(cells), count_(static_cast<std::uint32_t>(cell_count(cells))) {
    if (const auto* binned = std::get_if<BinnedCells>(&cells)) bins_.emplace_back(*binned);
  }
  /// places[i] becomes places[i] x cells + the cell of record i.
  void refine(const EncodedRecords& records, std::span<const std::int64_t> positions,
              std::span<std::uint32_t> places) const {
    const auto put = [&](std::size_t i, std::uint32_t cell) {
      const std::uint32_t outside = (places[i] | cell) & kOutside;
      places[i] = outside | ((places[i] & ~kOutside) * count_ + (cell & ~kOutside));
    };
    const auto each_number = [&](std::size_t coordinate, const auto& cell) {
      const bool label = coordinate == records.width;
      const double* const first = label ? records.labels.data() : records.features + coordinate;
      const std::size_t stride = label ? 1 : records.width;
      for (std::size_t i = 0; i < positions.size(); ++i)
        put(i, cell(first[static_cast<std::size_t>(positions[i]) * stride]));
    };
    std::visit(Overloaded{[&](const IndicatorCells& of) {
                            if (of.first + of.count > records.width) {  // the label among them
                              for (std::size_t i = 0; i < positions.size(); ++i)
                                put(i, static_cast<std::uint32_t>(
                                           statistics::cell_of(cells_, records.at(positions[i])).value_or(kOutside)));
                              return;
                            }
                            for (std::size_t i = 0; i < positions.size(); ++i) {
                              const double* const x =
                                  records.features + static_cast<std::size_t>(positions[i]) * records.width + of.first;
                              std::uint32_t hits = 0;
                              std::uint32_t cell = 0;
                              for (std::uint32_t j = 0; j < count_; ++j) {
                                const std::uint32_t hit = x[j] == 1.0 ? 1U : 0U;
                                hits += hit;
                                cell += hit * j;
                              }
                              put(i, hits == 1 ? cell : kOutside);
                            }
                          },
                          [&](const SignCells& of) {
                            each_number(of.coordinate, [](double value) { return value > 0.0 ? 1U : 0U; });
                          },
                          [&](const ClassCells& of) {
                            each_number(of.coordinate, [&](double value) {
                              const bool one = value >= 0.0 && value < static_cast<double>(of.count);
                              const auto cell = static_cast<std::uint32_t>(one ? value : 0.0);
                              return one && static_cast<double>(cell) == value ? cell : kOutside;
                            });
                          },
                          [&](const BinnedCells& of) {
                            const CellFinder& finder = bins_.front();
                            each_number(of.coordinate, [&](double value) { return finder.cell_of(value); });
                          },
                          // These read several coordinates, and every record is in a cell.
                          [&](const GradientCells&) { put_each(records, positions, put); },
                          [&](const ExitCells&) { put_each(records, positions, put); }},
               cells_);
  }

 private:
  template <class Put>
  void put_each(const EncodedRecords& records, std::span<const std::int64_t> positions, const Put& put) const {
    for (std::size_t i = 0; i < positions.size(); ++i)
      put(i, static_cast<std::uint32_t>(*statistics::cell_of(cells_, records.at(positions[i]))));
  }
  const Cells& cells_;
  std::uint32_t count_;
  std::vector<CellFinder> bins_;  // of binned cells one
};

/// Counts the records in every cell of the axes' product; nothing is computed for the cells that a record is not in.
void add_cells(std::span<const Axis> axes, std::int64_t units, const EncodedRecords& records,
               std::span<std::int64_t> sum) {
  std::array<std::uint32_t, kTogether> places{};
  std::span<const std::int64_t> left = records.positions;
  while (!left.empty()) {
    const std::size_t count = std::min(kTogether, left.size());
    std::fill_n(places.begin(), count, 0U);
    for (const Axis& axis : axes) axis.refine(records, left.first(count), std::span(places).first(count));
    for (std::size_t i = 0; i < count; ++i)
      if ((places[i] & kOutside) == 0) sum[places[i]] += units;
    left = left.subspan(count);
  }
}

/// Of the leaves' counts those of every level below the root: halves first, leaves last.
void add_levels(std::vector<std::int64_t> level, std::span<std::int64_t> sum) {
  while (level.size() > 1) {
    for (std::size_t i = 0; i < level.size(); ++i) sum[level.size() - 2 + i] += level[i];
    for (std::size_t i = 0; i < level.size() / 2; ++i) level[i] = level[2 * i] + level[2 * i + 1];
    level.resize(level.size() / 2);
  }
}

}  // namespace

std::int64_t rounded_units(double number, double units) {
  // Every coordinate is within [-sqrt(2), sqrt(2)]; the product is below 2^41, and in the binade of this constant a
  // double's last place is 1. Rounded to the nearest, so that many records together are not off to one side.
  constexpr double kMost = 1.5;
  constexpr double kUnitPlace = 0x1.8p52;
  const double kept = std::abs(number) <= kMost ? number : 0.0;
  return std::bit_cast<std::int64_t>(kept * units + kUnitPlace) - std::bit_cast<std::int64_t>(kUnitPlace);
}

void add_totals(const FeatureMap& map, std::int64_t units, const EncodedRecords& records, std::span<std::int64_t> sum) {
  UNDERTONE_CHECK(units >= 1 && units <= kUnitsMax && static_cast<std::size_t>(dimension(map)) == sum.size());
  const auto scale = static_cast<double>(units);
  std::visit(
      Overloaded{[&](const CellsMap& of) {
                   const std::vector<Axis> axes(of.axes.begin(), of.axes.end());
                   add_cells(axes, units, records, sum);
                 },
                 [&](const TreeMap& of) {
                   std::vector<std::int64_t> leaves(of.leaves.edges.size() - 1, 0);
                   const Cells cells = of.leaves;
                   const std::vector<Axis> axis{Axis(cells)};
                   add_cells(axis, units, records, leaves);
                   add_levels(std::move(leaves), sum);
                 },
                 [&](const SumMap& of) {
                   add_numbers<1>(of.coordinate, scale, records, sum, [](double u) { return std::array{u}; });
                 },
                 [&](const CountedSumMap& of) {
                   add_numbers<2>(of.coordinate, scale, records, sum, [](double u) { return std::array{1.0, u}; });
                 },
                 [&](const MomentsMap& of) {
                   const double factor = of.laplace ? 0.5 : std::numbers::sqrt2;
                   add_numbers<2>(of.coordinate, scale, records, sum, [=](double u) {
                     return std::array{u, factor * u * u};
                   });
                 },
                 [&](const ConjunctionsMap& of) {
                   for (const std::int64_t position : records.positions)
                     add_conjunctions(of, units, records.at(position), sum);
                 },
                 [&](const BallMap& of) {
                   add_each(scale, records, sum,
                            [&](const EncodedRecord& record, Eigen::VectorXd& out) { in_ball(of, record, out); });
                 },
                 [&](const auto& /*other*/) {
                   add_each(scale, records, sum,
                            [&](const EncodedRecord& record, Eigen::VectorXd& out) { contribution(map, record, out); });
                 }},
      map);
}

}  // namespace undertone::statistics
