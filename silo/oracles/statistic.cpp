#include "silo/oracles/statistic.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::silo {
namespace {

/// A number of a record by its place in what schemas encode: after the features comes the label.
double number_of(const models::Records& block, std::int64_t record, std::size_t coordinate) {
  const auto row = static_cast<Eigen::Index>(coordinate);
  return row == block.features.rows() ? block.targets[record] : block.features(row, record);
}

/// The whole units of a range that numbers are clamped to.
struct Units {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t middle = 0;
  double step = 0.0;

  [[nodiscard]] std::int64_t of(double number) const {
    if (!std::isfinite(number)) return middle;
    // Clamped before it is rounded: the quotient then fits, and lies between the ends, which are integers.
    const double clamped = std::clamp(number, static_cast<double>(low) * step, static_cast<double>(high) * step);
    return std::clamp<std::int64_t>(std::llrint(clamped / step), low, high);
  }
};

Units units_of(const releases::RangeBound& range, double step) {
  constexpr double kUnitsMax = 0x1p52;
  const double low = range.low / step;
  const double high = range.high / step;
  UNDERTONE_CHECK(low < high && std::abs(low) <= kUnitsMax && std::abs(high) <= kUnitsMax);
  UNDERTONE_CHECK(std::floor(low) == low && std::floor(high) == high);  // what the noise is calibrated to
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high),
          static_cast<std::int64_t>(std::nearbyint(0.5 * (low + high))), step};
}

}  // namespace

std::vector<std::int64_t> statistic_totals(const releases::StatisticMap& statistic, const releases::RangeBound& range,
                                           const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn) {
  const auto features = static_cast<std::size_t>(drawn.block.features.rows());
  for (const std::size_t coordinate : statistic.coordinates) UNDERTONE_CHECK(coordinate <= features);
  std::vector<std::int64_t> totals(statistic.coordinates.size(), 0);
  if (statistic.indicators) {
    UNDERTONE_CHECK(lattice.clip == 1 && lattice.step == 1.0);  // a unit is a record
    for (const std::int64_t record : drawn.positions)
      for (std::size_t i = 0; i < totals.size(); ++i)
        totals[i] += number_of(drawn.block, record, statistic.coordinates[i]) == 1.0 ? 1 : 0;
    return totals;
  }
  const Units units = units_of(range, lattice.step);
  for (const std::int64_t record : drawn.positions)
    for (std::size_t i = 0; i < totals.size(); ++i)
      totals[i] += units.of(number_of(drawn.block, record, statistic.coordinates[i]));
  return totals;
}

}  // namespace undertone::silo
