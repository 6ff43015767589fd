#include "shared/features/feature_totals.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/base/random_source.hpp"

namespace undertone::statistics {
namespace {

constexpr std::size_t kWidth = 9;
constexpr std::size_t kRecords = 700;  // several batches of records, the last one short

struct Table {
  std::vector<double> features;
  std::vector<double> labels;
  std::vector<std::int64_t> positions;
};

/// Numbers of every kind, whole cells of indicators, some broken ones, and values that are edges themselves.
Table table_of(std::uint64_t seed) {
  constexpr double kOneNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> wild{kOneNan, HUGE_VAL, -HUGE_VAL, 1e300, -1e300, 0.0, -0.0, 1.0, -1.0, 0.25, -0.5, 5e-324};
  RandomSource random(seed);
  Table out;
  for (std::size_t i = 0; i < kRecords; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j)
      out.features.push_back(random.below(8) == 0 ? wild[random.below(wild.size())] : 2.4 * random.unit() - 1.2);
    const std::size_t first = out.features.size() - 3;
    if (random.below(4) != 0)
      for (std::size_t j = 0; j < 3; ++j) out.features[first + j] = random.below(2) == 0 ? 1.0 : 0.0;
    out.labels.push_back(random.below(6) == 0 ? wild[random.below(wild.size())] : std::floor(4.0 * random.unit()));
    out.positions.push_back(static_cast<std::int64_t>(random.below(kRecords)));  // any order, some twice
  }
  return out;
}

BinnedCells binned(std::size_t coordinate, std::vector<double> edges) { return {coordinate, std::move(edges)}; }

std::vector<FeatureMap> maps() {
  std::vector<double> even;
  for (int i = 0; i <= 32; ++i) even.push_back(i / 16.0 - 1.0);
  const BinnedCells uneven = binned(1, {-1.0, -0.5, -0.4999, -0.4998, 0.25, 0.9, 1.0});
  return {
      CountMap{IndicatorCells{6, 3}, 1},
      CellsMap{{binned(0, even)}},
      CellsMap{{uneven}},
      CellsMap{{binned(2, {-1.0, 1.0})}},                                             // no inner edge
      CellsMap{{binned(2, {-1.0, 0.25, 1.0})}},                                       // one
      CellsMap{{binned(3, {-1e308, -9e307, 9e307, 1e308})}},                          // further apart than a double
      CellsMap{{binned(3, {0.0, 5e-324, 1e-323, 1e300})}},                            // and as near as doubles are
      CellsMap{{IndicatorCells{6, 3}, ClassCells{kWidth, 4}, SignCells{4}, uneven}},  // what is in no cell of one axis
      CellsMap{{IndicatorCells{7, 3}}},                                               // the label among the indicators
      CellsMap{{binned(kWidth, {0.0, 1.0, 2.5, 4.0})}},
      CellsMap{{GradientCells{ScalarLoss::Squared, true, std::vector<double>(kWidth + 1, 0.1), {0.0, 0.5, 1.0, 4.0}}}},
      CellsMap{{SignCells{4}, GradientCells{ScalarLoss::Hinge, false, std::vector<double>(kWidth, -0.3), {0.0, 2.0}}}},
      TreeMap{binned(0, {-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0})},
      SumMap{2},
      SumMap{kWidth},
      CountedSumMap{2},
      CountedSumMap{kWidth},
      MomentsMap{0, false},
      MomentsMap{kWidth, true},
      CutMomentsMap{3, 0.1, 0.2, false},
      CutMomentsMap{kWidth, 0.0, 1.0, true},
      FourMomentsMap{1},
      GroupMomentsMap{IndicatorCells{6, 3}, 0, true},
      VectorMomentsMap{{0, 3, kWidth}},
      ConjunctionsMap{{{IndicatorCells{6, 3}, 0}, {SignCells{1}, 1}, {ClassCells{kWidth, 4}, 2}}, 2},
      CosinesMap{{0, 1}, 3},
      LossesMap{ScalarLoss::Hinge, {0}, 1, true, 2.0, 3},
      BallMap{{0, 1, 2, 3, 4, 5, 6, 7}, 0.7},
      BallMap{{0, 4}, 2.0, kWidth, true, BallMap::Besides::Square},
      BallMap{{1}, kBallRadiusMin, {}, true, BallMap::Besides::Products},
  };
}

/// What the totals are, said once more without anything that makes them fast.
std::vector<std::int64_t> plainly(const FeatureMap& map, std::int64_t units, const EncodedRecords& records) {
  Eigen::VectorXd one(dimension(map));
  std::vector<std::int64_t> out(static_cast<std::size_t>(one.size()), 0);
  for (const std::int64_t position : records.positions) {
    contribution(map, records.at(position), one);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] += std::llrint(one[static_cast<Eigen::Index>(i)] * static_cast<double>(units));
  }
  return out;
}

TEST(FeatureTotalsTest, AreTheRoundedContributionsOfTheRecordsThatAreRead) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Table table = table_of(seed);
    const EncodedRecords records{table.features.data(), kWidth, table.labels, table.positions};
    std::size_t place = 0;
    for (const FeatureMap& map : maps()) {
      SCOPED_TRACE(testing::Message() << name_of(map) << " at place " << place++ << ", seed " << seed);
      ASSERT_TRUE(check(map, kWidth + 1).has_value());
      for (const std::int64_t units : {std::int64_t{1}, std::int64_t{777}, std::int64_t{1} << 20U, kUnitsMax}) {
        std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension(map)), 5);  // added to what is there
        add_totals(map, units, records, sum);
        for (std::int64_t& total : sum) total -= 5;
        EXPECT_EQ(sum, plainly(map, units, records)) << units;
      }
    }
  }
}

TEST(FeatureTotalsTest, OfNoRecordsAreNothing) {
  const Table table = table_of(1);
  const EncodedRecords none{table.features.data(), kWidth, table.labels, {}};
  for (const FeatureMap& map : maps()) {
    std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension(map)), 0);
    add_totals(map, 1000, none, sum);
    EXPECT_EQ(std::count(sum.begin(), sum.end(), 0), dimension(map)) << name_of(map);
  }
}

}  // namespace
}  // namespace undertone::statistics
