#include "silo/oracles/statistic.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "shared/features/feature_totals.hpp"

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

/// A statistic's numbers of records in units of a lattice.
class NumberUnits {
 public:
  NumberUnits(const releases::StatisticMap& statistic, const releases::RangeBound& range,
              const mechanisms::Lattice& lattice, const models::Records& block)
      : indicators_(statistic.indicators), block_(block) {
    const auto features = static_cast<std::size_t>(block.features.rows());
    for (const std::size_t coordinate : statistic.coordinates) UNDERTONE_CHECK(coordinate <= features);
    if (indicators_) {
      UNDERTONE_CHECK(lattice.clip == 1 && lattice.step == 1.0);  // a unit is a record
    } else {
      units_ = units_of(range, lattice.step);
    }
  }
  [[nodiscard]] std::int64_t of(std::int64_t record, std::size_t coordinate) const {
    const double number = number_of(block_, record, coordinate);
    if (indicators_) return number == 1.0 ? 1 : 0;
    return units_.of(number);
  }

 private:
  bool indicators_;
  const models::Records& block_;
  Units units_;
};

statistics::EncodedRecords records_of(const RecordSums::Drawn& drawn) {
  const models::Records& block = drawn.block;
  return {block.features.data(),
          static_cast<std::size_t>(block.features.rows()),
          {block.targets.data(), static_cast<std::size_t>(block.targets.size())},
          drawn.positions};
}

/// Hands on the mean of phi over a person's records, of every person who is read. Her number of records changes neither
/// the work nor what is looked at.
/// @param add takes the mean, [dimension]
template <class Add>
void for_person_means(const statistics::FeatureMap& features, const RecordSums::Drawn& drawn, Eigen::Index dimension,
                      const Add& add) {
  Eigen::VectorXd own(dimension);
  Eigen::VectorXd mean(dimension);
  Eigen::VectorXd dropped(dimension);
  std::vector<std::int64_t> rows(drawn.persons->records_max());
  if (drawn.block.rows() == 0) return;
  for (const std::int64_t person : drawn.positions) {
    const std::size_t counted = drawn.persons->rows_of(drawn.block, person, rows);
    mean.setZero();
    dropped.setZero();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      statistics::contribution(features, encoded_record(drawn.block, rows[i]), own);
      (i < counted ? mean : dropped) += own;
    }
    mean /= static_cast<double>(std::max<std::size_t>(counted, 1));
    add(mean);
  }
}

/// What a person's shares of cells in a row add, in units: the part up to each cell is rounded, so that it is within
/// [0, units] as a fact about integers, and whole where all of her records are in one cell.
void add_ranked(const Eigen::VectorXd& shares, std::int64_t units, std::span<std::int64_t> totals) {
  double part = 0.0;
  std::int64_t before = 0;
  for (std::size_t j = 0; j < totals.size(); ++j) {
    part += shares[static_cast<Eigen::Index>(j)];
    const std::int64_t through = std::clamp(statistics::rounded_units(part, static_cast<double>(units)), before, units);
    totals[j] += through - before;
    before = through;
  }
}

}  // namespace

statistics::EncodedRecord encoded_record(const models::Records& block, std::int64_t record) {
  const double* column = block.features.data() + record * block.features.rows();
  return {{column, static_cast<std::size_t>(block.features.rows())}, block.targets[record]};
}

std::vector<std::int64_t> feature_totals(const statistics::FeatureMap& features, const mechanisms::Lattice& lattice,
                                         const RecordSums::Drawn& drawn) {
  UNDERTONE_CHECK(lattice.clip >= 1 && lattice.clip <= (std::int64_t{1} << 40U));
  const auto width = static_cast<std::size_t>(drawn.block.features.rows()) + 1;
  UNDERTONE_CHECK(statistics::check(features, width).has_value());
  std::vector<std::int64_t> totals(static_cast<std::size_t>(statistics::dimension(features)), 0);
  if (drawn.persons != nullptr) {
    const auto scale = static_cast<double>(lattice.clip);
    for_person_means(features, drawn, static_cast<Eigen::Index>(totals.size()), [&](const Eigen::VectorXd& mean) {
      for (std::size_t j = 0; j < totals.size(); ++j)
        totals[j] += statistics::rounded_units(mean[static_cast<Eigen::Index>(j)], scale);
    });
    return totals;
  }
  statistics::add_totals(features, lattice.clip, records_of(drawn), totals);
  return totals;
}

std::vector<std::int64_t> scored_totals(const statistics::FeatureMap& features, std::int64_t levels, bool ranked,
                                        const RecordSums::Drawn& drawn) {
  if (drawn.persons == nullptr) return feature_totals(features, {levels, 1.0 / static_cast<double>(levels)}, drawn);
  const auto width = static_cast<std::size_t>(drawn.block.features.rows()) + 1;
  UNDERTONE_CHECK(statistics::check(features, width).has_value());
  std::vector<std::int64_t> totals(static_cast<std::size_t>(statistics::dimension(features)), 0);
  for_person_means(features, drawn, static_cast<Eigen::Index>(totals.size()), [&](const Eigen::VectorXd& mean) {
    if (ranked) return add_ranked(mean, levels, totals);
    for (std::size_t j = 0; j < totals.size(); ++j) {
      const double number = mean[static_cast<Eigen::Index>(j)];
      totals[j] += std::clamp<std::int64_t>(statistics::rounded_units(number, static_cast<double>(levels)), 0, levels);
    }
  });
  return totals;
}

std::vector<std::int64_t> statistic_totals(const releases::StatisticMap& statistic, const releases::RangeBound& range,
                                           const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn) {
  const NumberUnits units(statistic, range, lattice, drawn.block);
  std::vector<std::int64_t> totals(statistic.coordinates.size(), 0);
  for (const std::int64_t record : drawn.positions)
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += units.of(record, statistic.coordinates[i]);
  return totals;
}

std::vector<std::int64_t> statistic_numbers(const releases::StatisticMap& statistic, const releases::RangeBound& range,
                                            const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn,
                                            std::span<const std::int64_t> slots) {
  UNDERTONE_CHECK(slots.size() == drawn.positions.size());
  const NumberUnits units(statistic, range, lattice, drawn.block);
  std::vector<std::int64_t> numbers(slots.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t coordinate = static_cast<std::size_t>(slots[i]) % statistic.coordinates.size();
    numbers[i] = units.of(drawn.positions[i], statistic.coordinates[coordinate]);
  }
  return numbers;
}

std::vector<std::int64_t> feature_numbers(const statistics::FeatureMap& features, const mechanisms::Lattice& lattice,
                                          const RecordSums::Drawn& drawn, std::span<const std::int64_t> slots) {
  UNDERTONE_CHECK(slots.size() == drawn.positions.size());
  const auto width = static_cast<std::size_t>(drawn.block.features.rows()) + 1;
  UNDERTONE_CHECK(statistics::check(features, width).has_value());
  const std::optional<statistics::CoordinateRange> range = statistics::reported_range(features);
  UNDERTONE_CHECK(range.has_value());
  const auto dimension = static_cast<std::size_t>(statistics::dimension(features));
  std::vector<std::int64_t> numbers(slots.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = statistics::coordinate_of(features, encoded_record(drawn.block, drawn.positions[i]),
                                                    static_cast<std::size_t>(slots[i]) % dimension);
    const double held = std::isfinite(number) ? std::clamp(number, range->low, range->high) : range->low;
    numbers[i] = static_cast<std::int64_t>(held / lattice.step);
  }
  return numbers;
}

}  // namespace undertone::silo
