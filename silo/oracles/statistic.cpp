#include "silo/oracles/statistic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "shared/features/feature_totals.hpp"
#include "silo/oracles/person_draw.hpp"

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
  double step = 0.0;

  /// Returns the number cut to the range, or the range's middle where it is not finite.
  [[nodiscard]] double held(double number) const {
    const double least = static_cast<double>(low) * step;
    const double most = static_cast<double>(high) * step;
    return std::isfinite(number) ? std::clamp(number, least, most) : 0.5 * (least + most);
  }
  /// @param number held, so that the quotient fits and lies between the ends, which are integers
  [[nodiscard]] std::int64_t of(double number) const {
    return std::clamp<std::int64_t>(std::llrint(number / step), low, high);
  }
};

Units units_of(const releases::RangeBound& range, double step) {
  constexpr double kUnitsMax = 0x1p52;
  const double low = range.low / step;
  const double high = range.high / step;
  UNDERTONE_CHECK(low < high && std::abs(low) <= kUnitsMax && std::abs(high) <= kUnitsMax);
  UNDERTONE_CHECK(std::floor(low) == low && std::floor(high) == high);  // what the noise is calibrated to
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), step};
}

/// Reads the drawn units one by one. A record's number is its own, and a person's is the mean over her records'. All
/// slots of a person are worked on and each is multiplied by 1 or 0, so that the time does not tell how many count.
class UnitMeans {
 public:
  explicit UnitMeans(const RecordSums::Drawn& drawn)
      : rows_(drawn.persons == nullptr ? 0 : drawn.persons->records_max()), of_persons_(drawn.persons != nullptr) {
    if (drawn.persons != nullptr && drawn.block.rows() > 0) pass_.emplace(*drawn.persons, drawn.block);
  }

  /// @param empty what somebody without a record counts as @param number of a row of the block: finite
  template <class Number>
  [[nodiscard]] double of(std::int64_t unit, double empty, const Number& number) {
    if (!of_persons_) return number(unit);
    if (!pass_) return empty;  // nobody has a record
    const std::size_t counted = pass_->next(unit, rows_);
    double sum = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) sum += (i < counted ? 1.0 : 0.0) * number(rows_[i]);
    return counted == 0 ? empty : sum / static_cast<double>(counted);
  }

 private:
  std::vector<std::int64_t> rows_;
  bool of_persons_;
  std::optional<PersonRows> pass_;
};

/// Reads a statistic's numbers of drawn units, in units of a lattice.
class NumberUnits {
 public:
  NumberUnits(const releases::StatisticMap& statistic, const releases::RangeBound& range,
              const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn)
      : indicators_(statistic.indicators), block_(drawn.block), means_(drawn) {
    const auto features = static_cast<std::size_t>(block_.features.rows());
    for (const std::size_t coordinate : statistic.coordinates) UNDERTONE_CHECK(coordinate <= features);
    // A record's indicator is one unit or none.
    UNDERTONE_CHECK(!indicators_ || drawn.persons != nullptr || (lattice.clip == 1 && lattice.step == 1.0));
    units_ = units_of(range, lattice.step);
  }
  [[nodiscard]] std::int64_t of(std::int64_t unit, std::size_t coordinate) {
    if (indicators_)
      return units_.of(means_.of(
          unit, 0.0, [&](std::int64_t row) { return number_of(block_, row, coordinate) == 1.0 ? 1.0 : 0.0; }));
    return units_.of(means_.of(unit, units_.held(std::numeric_limits<double>::quiet_NaN()),
                               [&](std::int64_t row) { return units_.held(number_of(block_, row, coordinate)); }));
  }

 private:
  bool indicators_;
  const models::Records& block_;
  UnitMeans means_;
  Units units_;
};

statistics::EncodedRecords records_of(const RecordSums::Drawn& drawn) {
  const models::Records& block = drawn.block;
  return {block.features.data(),
          static_cast<std::size_t>(block.features.rows()),
          {block.targets.data(), static_cast<std::size_t>(block.targets.size())},
          drawn.positions};
}

using PersonForm = releases::PersonContribution::Form;

/// Hands on what every person who is read contributes: the mean of phi over her records, its largest, or its total in
/// whole units. Her number of records changes neither the work nor what is looked at.
/// @param units of 1, to which each record is rounded of a total @param add takes the contribution, [dimension]
template <class Add>
void for_contributions(const statistics::FeatureMap& features, PersonForm form, double units,
                       const RecordSums::Drawn& drawn, Eigen::Index dimension, const Add& add) {
  const bool largest = form == PersonForm::Any;
  Eigen::VectorXd own(dimension);
  Eigen::VectorXd whole(dimension);
  Eigen::VectorXd dropped(dimension);
  std::vector<std::int64_t> rows(drawn.persons->records_max());
  if (drawn.block.rows() == 0) return;
  PersonRows pass(*drawn.persons, drawn.block);
  for (const std::int64_t person : drawn.positions) {
    const std::size_t counted = pass.next(person, rows);
    whole.setZero();
    dropped.setZero();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      statistics::contribution(features, encoded_record(drawn.block, rows[i]), own);
      if (form == PersonForm::Total)
        for (double& number : own) number = static_cast<double>(statistics::rounded_units(number, units));
      Eigen::VectorXd& into = i < counted ? whole : dropped;
      if (largest) {
        into = into.cwiseMax(own);
      } else {
        into += own;
      }
    }
    if (form == PersonForm::Mean) whole /= static_cast<double>(std::max<std::size_t>(counted, 1));
    add(whole);
  }
}

/// This counts persons in the cells that their numbers of records are in. Nothing of the records is looked at.
void add_numbers_of_records(const statistics::FeatureMap& features, std::int64_t units, const RecordSums::Drawn& drawn,
                            std::span<std::int64_t> totals) {
  const auto most = static_cast<std::int64_t>(drawn.persons->records_max());
  Eigen::VectorXd own(static_cast<Eigen::Index>(totals.size()));
  for (const std::int64_t person : drawn.positions) {
    const auto place = static_cast<std::size_t>(person);
    const std::int64_t hers = drawn.block.starts[place + 1] - drawn.block.starts[place];
    // Edges from 0 to the most are encoded in the same way, so that a number on an edge is on the encoded one.
    const double encoded = 2.0 * static_cast<double>(std::min(hers, most)) / static_cast<double>(most) - 1.0;
    statistics::contribution(features, {{&encoded, 1}, 0.0}, own);
    for (std::size_t j = 0; j < totals.size(); ++j) totals[j] += std::llrint(own[static_cast<Eigen::Index>(j)]) * units;
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
                                         const RecordSums::Drawn& drawn, PersonForm form) {
  UNDERTONE_CHECK(lattice.clip >= 1 && lattice.clip <= (std::int64_t{1} << 40U));
  const auto width = static_cast<std::size_t>(drawn.block.features.rows()) + 1;
  UNDERTONE_CHECK(statistics::check(features, width).has_value());
  std::vector<std::int64_t> totals(static_cast<std::size_t>(statistics::dimension(features)), 0);
  if (drawn.persons != nullptr) {
    UNDERTONE_CHECK(releases::contributes_to({features}, form));
    if (form == PersonForm::Number) {
      add_numbers_of_records(features, lattice.clip, drawn, totals);
      return totals;
    }
    const auto scale = static_cast<double>(lattice.clip);
    const auto size = static_cast<Eigen::Index>(totals.size());
    for_contributions(features, form, scale, drawn, size, [&](const Eigen::VectorXd& hers) {
      for (std::size_t j = 0; j < totals.size(); ++j) {
        const double number = hers[static_cast<Eigen::Index>(j)];
        // A total is in whole units, of as many records as may count at most, which the plan has room for.
        totals[j] += form == PersonForm::Total ? std::llrint(number) : statistics::rounded_units(number, scale);
      }
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
  const auto size = static_cast<Eigen::Index>(totals.size());
  for_contributions(features, PersonForm::Mean, 1.0, drawn, size, [&](const Eigen::VectorXd& mean) {
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
  UNDERTONE_CHECK(drawn.persons == nullptr);  // totals of persons are of feature maps
  NumberUnits units(statistic, range, lattice, drawn);
  std::vector<std::int64_t> totals(statistic.coordinates.size(), 0);
  for (const std::int64_t record : drawn.positions)
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += units.of(record, statistic.coordinates[i]);
  return totals;
}

std::vector<std::int64_t> statistic_numbers(const releases::StatisticMap& statistic, const releases::RangeBound& range,
                                            const mechanisms::Lattice& lattice, const RecordSums::Drawn& drawn,
                                            std::span<const std::int64_t> slots) {
  UNDERTONE_CHECK(slots.size() == drawn.positions.size());
  NumberUnits units(statistic, range, lattice, drawn);
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
  UnitMeans means(drawn);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(slots[i]) % dimension;
    const double mean = means.of(drawn.positions[i], range->low, [&](std::int64_t row) {
      const double number = statistics::coordinate_of(features, encoded_record(drawn.block, row), place);
      return std::isfinite(number) ? std::clamp(number, range->low, range->high) : range->low;
    });
    // A mean of numbers within the range may be rounded out of it.
    numbers[i] = static_cast<std::int64_t>(std::clamp(mean, range->low, range->high) / lattice.step);
  }
  return numbers;
}

void for_ball_vectors(const statistics::BallMap& ball, const RecordSums::Drawn& drawn,
                      const std::function<void(const Eigen::VectorXd& vector)>& use) {
  const auto width = static_cast<std::size_t>(drawn.block.features.rows()) + 1;
  UNDERTONE_CHECK(statistics::check(ball, width).has_value());
  UNDERTONE_CHECK(ball.besides == statistics::BallMap::Besides::Nothing);
  Eigen::VectorXd vector = Eigen::VectorXd::Zero(ball.length());
  if (drawn.persons == nullptr) {
    for (const std::int64_t record : drawn.positions) {
      statistics::in_ball(ball, encoded_record(drawn.block, record), vector);
      use(vector);
    }
  } else if (drawn.block.rows() == 0) {
    for (std::size_t i = 0; i < drawn.positions.size(); ++i) use(vector);  // nobody has a record
  } else {
    for_contributions(ball, PersonForm::Mean, 1.0, drawn, ball.length(), use);
  }
}

}  // namespace undertone::silo
