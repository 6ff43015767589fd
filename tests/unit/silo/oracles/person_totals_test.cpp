#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

#include "shared/base/random_source.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/statistic.hpp"

/// Feature maps of persons, of whom each adds the mean over her records.
namespace undertone::silo {
namespace {

using Form = releases::PersonContribution::Form;

constexpr Eigen::Index kTotalledFeatures = 4;  // two numbers, then two indicators

/// Persons with so many records each. @param hostile numbers of any kind, else what encoders write
models::Records totalled_persons(const std::vector<std::int64_t>& records, RandomSource& random, bool hostile) {
  const std::int64_t rows = std::accumulate(records.begin(), records.end(), std::int64_t{0});
  models::Records out{Eigen::MatrixXd(kTotalledFeatures, rows), Eigen::VectorXd(rows), {0}};
  const double any[] = {1.0,
                        -1.0,
                        0.0,
                        1e300,
                        -1e300,
                        1e-300,
                        std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (Eigen::Index j = 0; j < 2; ++j)
      out.features(j, i) = hostile ? any[random.below(8)] : 2.0 * random.unit() - 1.0;
    const std::uint64_t value = random.below(3);
    for (Eigen::Index j = 2; j < 4; ++j)
      out.features(j, i) = hostile ? any[random.below(8)] : (value == static_cast<std::uint64_t>(j) - 2 ? 1.0 : 0.0);
    out.targets[i] = hostile ? any[random.below(8)] : (random.below(2) == 0 ? -1.0 : 1.0);
  }
  for (const std::int64_t own : records) out.starts.push_back(out.starts.back() + own);
  return out;
}

std::vector<statistics::FeatureMap> maps_of_persons() {
  const statistics::BinnedCells four{0, {-1.0, -0.3, 0.0, 0.4, 1.0}};
  return {statistics::CountMap{statistics::IndicatorCells{2, 1}, 0},
          statistics::CellsMap{{four}},
          statistics::CellsMap{{statistics::IndicatorCells{2, 2}, statistics::SignCells{4}}},
          statistics::SumMap{0},
          statistics::CountedSumMap{1},
          statistics::MomentsMap{0, false},
          statistics::MomentsMap{1, true},
          statistics::FourMomentsMap{0},
          statistics::VectorMomentsMap{{0, 1, 4}},
          statistics::TreeMap{four},
          statistics::ConjunctionsMap{{{statistics::IndicatorCells{2, 2}, 0}, {statistics::SignCells{4}, 1}}, 2},
          statistics::CosinesMap{{0, 1}, 3},
          statistics::BallMap{{0, 1}, 0.8},
          statistics::BallMap{{0, 1}, 1.0, std::nullopt, false, statistics::BallMap::Besides::Products},
          statistics::LossesMap{statistics::ScalarLoss::Logistic, {0}, 4, true, 3.0, 3},
          statistics::LossesMap{statistics::ScalarLoss::Squared, {0}, 1, false, 1.0, 4}};
}

/// Returns how far two totals are apart: in l1, and in l2 squared.
std::pair<double, double> apart(const std::vector<std::int64_t>& one, const std::vector<std::int64_t>& other) {
  double l1 = 0.0;
  double l2_squared = 0.0;
  for (std::size_t j = 0; j < one.size(); ++j) {
    const auto difference = static_cast<double>(one[j] - other[j]);
    l1 += std::abs(difference);
    l2_squared += difference * difference;
  }
  return {l1, l2_squared};
}

std::vector<std::int64_t> person_totals(const statistics::FeatureMap& map, const models::Records& block,
                                        const PersonDraw& draw, std::int64_t units) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(block.count()));
  std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  return feature_totals(map, {units, 1.0 / static_cast<double>(units)}, {block, drawn, std::nullopt, &draw});
}

/// Spec person-unit, PU2: one record a person gives the very integers that records give.
TEST(PersonTotalsTest, PersonsOfOneRecordGiveTheVeryIntegersOfRecords) {
  RandomSource random(1);
  for (const statistics::FeatureMap& map : maps_of_persons()) {
    SCOPED_TRACE(statistics::name_of(map));
    const models::Records block = totalled_persons(std::vector<std::int64_t>(50, 1), random, false);
    models::Records plain = block;
    plain.starts.clear();
    std::vector<std::int64_t> all(50);
    std::iota(all.begin(), all.end(), std::int64_t{0});
    for (const std::int64_t units : {std::int64_t{1} << 20, std::int64_t{1} << 37}) {
      const double step = 1.0 / static_cast<double>(units);
      EXPECT_EQ(person_totals(map, block, PersonDraw(sha256("key"), 5), units),
                feature_totals(map, {units, step}, {plain, all}));
    }
  }
}

TEST(PersonTotalsTest, APersonAddsTheSharesOfHerRecords) {
  models::Records block{Eigen::MatrixXd::Zero(4, 4), Eigen::VectorXd::Zero(4), {0, 3, 4}};
  block.features.row(0) << -1.0, 0.5, 0.9, 0.0;
  const statistics::CellsMap halves{{statistics::BinnedCells{0, {-1.0, 0.0, 1.0}}}};
  // One of her three records is in the first half; the other person has all of her one there.
  EXPECT_EQ(person_totals(halves, block, PersonDraw(sha256("key"), 8), 3000), (std::vector<std::int64_t>{4000, 2000}));
  EXPECT_EQ(person_totals(statistics::SumMap{0}, block, PersonDraw(sha256("key"), 8), 3000),
            (std::vector<std::int64_t>{400}));
}

/// Spec person-unit, PU9 and PU3: one person is replaced by any other, with no, one or a hundred records and any
/// numbers in them. Totals move by no more than what the noise is calibrated to.
TEST(PersonTotalsTest, ReplacingAPersonMovesTotalsByNoMoreThanTwoRecordsAreApart) {
  RandomSource random(2);
  for (const statistics::FeatureMap& map : maps_of_persons()) {
    SCOPED_TRACE(statistics::name_of(map));
    const statistics::PairwiseBound bound = statistics::pairwise_bound(map);
    const auto dimension = static_cast<double>(statistics::dimension(map));
    const auto units = static_cast<double>(std::int64_t{1} << 20);
    double worst = 0.0;
    for (int trial = 0; trial < 300; ++trial) {
      const std::int64_t sizes[] = {0, 1, 2, 17, 100};
      const models::Records one = totalled_persons({sizes[random.below(5)]}, random, trial % 2 == 0);
      const models::Records other = totalled_persons({sizes[random.below(5)]}, random, trial % 3 == 0);
      const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
      const std::vector<std::int64_t> with = person_totals(map, one, draw, std::int64_t{1} << 20);
      const std::vector<std::int64_t> without = person_totals(map, other, draw, std::int64_t{1} << 20);
      const auto [l1, l2_squared] = apart(with, without);
      const double l2 = std::sqrt(l2_squared);
      EXPECT_LE(l2, std::ceil(bound.l2 * units + std::sqrt(dimension)) + 1.0);
      // A map of which Laplace noise hides nothing has no bound in l1 that is worth knowing.
      if (bound.l1 > 0.0) {
        EXPECT_LE(l1, std::ceil(bound.l1 * units) + dimension + 1.0);
      }
      worst = std::max(worst, l2 / (bound.l2 * units));
    }
    EXPECT_GT(worst, 0.4);
  }
}

/// Returns what persons add to a map's counts, by one of the ways to count them.
std::vector<std::int64_t> counted_totals(const statistics::FeatureMap& map, const models::Records& block,
                                         const PersonDraw& draw, Form form) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(block.count()));
  std::iota(drawn.begin(), drawn.end(), std::int64_t{0});
  return feature_totals(map, {1, 1.0}, {block, drawn, std::nullopt, &draw}, form);
}

TEST(PersonTotalsTest, APersonCountsOnceInEveryCellOrWithAllOfHerRecords) {
  models::Records block{Eigen::MatrixXd::Zero(4, 4), Eigen::VectorXd::Zero(4), {0, 3, 4, 4}};
  block.features.row(0) << -1.0, -0.5, 0.9, -0.2;
  const statistics::CellsMap halves{{statistics::BinnedCells{0, {-1.0, 0.0, 1.0}}}};
  const PersonDraw draw(sha256("key"), 8);
  EXPECT_EQ(counted_totals(halves, block, draw, Form::Any), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(counted_totals(halves, block, draw, Form::Total), (std::vector<std::int64_t>{3, 1}));
  // With two slots at most two of her three records count, whichever they are.
  const std::vector<std::int64_t> two = counted_totals(halves, block, PersonDraw(sha256("key"), 2), Form::Total);
  EXPECT_EQ(two[0] + two[1], 3);
}

/// Spec person-unit 6.2 and rows 35 and 36: how far two persons are apart, whoever they are, is what the noise is
/// calibrated to, and pairs reach it.
TEST(PersonTotalsTest, ReplacingAPersonMovesCountsOfAllHerRecordsAsFarAsIsSaidAndNoFarther) {
  RandomSource random(6);
  const statistics::CellsMap cells{{statistics::BinnedCells{0, {-1.0, -0.6, -0.2, 0.0, 0.2, 0.6, 0.8, 1.0}}}};
  const statistics::CountMap one{statistics::IndicatorCells{2, 1}, 0};
  for (const statistics::FeatureMap& map : {statistics::FeatureMap(cells), statistics::FeatureMap(one)}) {
    for (const Form form : {Form::Any, Form::Total}) {
      for (const std::int64_t most : {1, 3, 5, 16}) {
        const releases::PairDistance bound =
            releases::pair_distance(releases::FeaturesMap{map}, releases::PersonContribution{most, form});
        EXPECT_TRUE(bound.counts);
        double worst_l1 = 0.0;
        double worst_l2 = 0.0;
        for (int trial = 0; trial < 600; ++trial) {
          const std::int64_t sizes[] = {0, 1, 2, 5, 17, 100};
          const PersonDraw draw(sha256(fmt::format("{}", trial)), most);
          const auto person = [&] {
            models::Records out = totalled_persons({sizes[random.below(6)]}, random, trial % 3 == 0);
            if (trial % 3 == 1 && out.rows() > 0) {  // all in one cell
              const double side = random.below(2) == 0 ? -1.0 : 1.0;
              out.features.setConstant(side);
            }
            return counted_totals(map, out, draw, form);
          };
          const std::vector<std::int64_t> first = person();
          const auto [l1, l2_squared] = apart(first, person());
          EXPECT_LE(l1, bound.l1);
          EXPECT_LE(l2_squared, bound.l2_squared);
          worst_l1 = std::max(worst_l1, l1);
          worst_l2 = std::max(worst_l2, l2_squared);
        }
        if (form == Form::Total) {
          EXPECT_EQ(worst_l1, bound.l1);
          EXPECT_EQ(worst_l2, bound.l2_squared);
        }
      }
    }
  }
  const releases::FeaturesMap many{cells};
  EXPECT_EQ(releases::pair_distance(many, releases::PersonContribution{5, Form::Total}).l1, 10.0);
  EXPECT_NEAR(std::sqrt(releases::pair_distance(many, releases::PersonContribution{5, Form::Total}).l2_squared),
              7.07107, 1e-5);
  EXPECT_EQ(releases::pair_distance({one}, releases::PersonContribution{5, Form::Total}).l1, 5.0);
  EXPECT_EQ(releases::pair_distance(many, releases::PersonContribution{3, Form::Any}).l1, 6.0);
  EXPECT_NEAR(std::sqrt(releases::pair_distance(many, releases::PersonContribution{3, Form::Any}).l2_squared), 2.44949,
              1e-5);
}

/// Spec person-unit 6.3 and row 34: the number of records costs nothing beside their sum. Whoever a person is replaced
/// by, also by nobody's records, the two totals move by 2 s at most in either norm, in whole units of any lattice, and
/// pairs reach it.
TEST(PersonTotalsTest, TheNumberOfRecordsBesideTheirSumMovesNoFartherThanTheSum) {
  RandomSource random(7);
  const statistics::FeatureMap map = statistics::CountedSumMap{0};
  for (const std::int64_t most : {1, 5, 64}) {
    for (const std::int64_t units : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 30}) {
      const releases::PairDistance bound =
          releases::pair_distance(releases::FeaturesMap{map}, releases::PersonContribution{most, Form::Total});
      EXPECT_EQ(bound.l1, 2.0 * static_cast<double>(most));
      EXPECT_EQ(bound.l2_squared, 4.0 * static_cast<double>(most * most));
      const double scale = static_cast<double>(units);
      double worst_l1 = 0.0;
      double worst_l2 = 0.0;
      for (int trial = 0; trial < 300; ++trial) {
        const std::int64_t sizes[] = {0, 1, 2, 5, 17, 100};
        const PersonDraw draw(sha256(fmt::format("{}", trial)), most);
        const auto person = [&](double side) {
          models::Records out = totalled_persons({sizes[random.below(6)]}, random, trial % 3 == 0);
          if (trial % 3 == 1) out.features.setConstant(side);
          const std::vector<std::int64_t> her = {0};
          return feature_totals(map, {units, 1.0 / scale}, {out, her, std::nullopt, &draw}, Form::Total);
        };
        const std::vector<std::int64_t> first = person(1.0);
        EXPECT_LE(std::abs(first[1]), first[0]);
        EXPECT_LE(first[0], most * units);
        EXPECT_EQ(first[0] % units, 0);
        const auto [l1, l2_squared] = apart(first, person(-1.0));
        worst_l1 = std::max(worst_l1, l1 / scale);
        worst_l2 = std::max(worst_l2, l2_squared / scale / scale);
      }
      EXPECT_LE(worst_l1, bound.l1);
      EXPECT_LE(worst_l2, bound.l2_squared);
      EXPECT_EQ(worst_l1, bound.l1);
      EXPECT_EQ(worst_l2, bound.l2_squared);
    }
  }
}

/// Nothing in the records is looked at, and whoever has more than may count is in the last cell.
TEST(PersonTotalsTest, APersonIsInTheCellOfHowManyRecordsSheHas) {
  const std::int64_t most = 16;
  statistics::BinnedCells cells{0, {}};
  for (const double edge : {0.0, 1.0, 2.0, 4.0, 8.0, 16.0}) cells.edges.push_back(2.0 * edge / 16.0 - 1.0);
  const statistics::FeatureMap map = statistics::CellsMap{{cells}};
  RandomSource random(8);
  for (const bool hostile : {false, true}) {
    const models::Records block = totalled_persons({0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 400}, random, hostile);
    EXPECT_EQ(counted_totals(map, block, PersonDraw(sha256("key"), most), Form::Number),
              (std::vector<std::int64_t>{2, 1, 2, 2, 4}));
  }
  const models::Records nobody = totalled_persons({0, 0, 0}, random, false);
  EXPECT_EQ(counted_totals(map, nobody, PersonDraw(sha256("key"), most), Form::Number),
            (std::vector<std::int64_t>{3, 0, 0, 0, 0}));
  const releases::PairDistance bound =
      releases::pair_distance(releases::FeaturesMap{map}, releases::PersonContribution{most, Form::Number});
  EXPECT_EQ(bound.l1, 2.0);
  EXPECT_EQ(bound.l2_squared, 2.0);
  EXPECT_TRUE(bound.counts);
  // A map of a record's columns has no such cells.
  EXPECT_FALSE(
      releases::contributes_to({statistics::CellsMap{{statistics::BinnedCells{1, {-1.0, 0.0, 1.0}}}}}, Form::Number));
  EXPECT_FALSE(releases::contributes_to({statistics::CellsMap{{cells, cells}}}, Form::Number));
}

/// Of a selection among totals, or among the cells that hold a rank: one person moves each total, or the rank of each
/// edge, by the levels at most, whoever she is. That is what the draw is calibrated to.
TEST(PersonTotalsTest, ReplacingAPersonMovesWhatIsSelectedFromByTheLevelsAtMost) {
  RandomSource random(4);
  const statistics::CellsMap cells{{statistics::BinnedCells{0, {-1.0, -0.6, -0.3, 0.0, 0.1, 0.4, 0.8, 1.0}}}};
  const statistics::LossesMap losses{statistics::ScalarLoss::Logistic, {0}, 1, true, 3.0, 3};
  for (const bool ranked : {true, false}) {
    const statistics::FeatureMap map = ranked ? statistics::FeatureMap(cells) : statistics::FeatureMap(losses);
    for (const std::int64_t levels : {16, 1 << 20}) {
      std::int64_t worst = 0;
      for (int trial = 0; trial < 300; ++trial) {
        const std::int64_t sizes[] = {0, 1, 3, 7, 100};
        const PersonDraw draw(sha256(fmt::format("{}", trial)), 1 + static_cast<std::int64_t>(random.below(16)));
        const auto totals = [&](bool hostile) {
          const models::Records block = totalled_persons({sizes[random.below(5)]}, random, hostile);
          const std::vector<std::int64_t> her = {0};
          return scored_totals(map, levels, ranked, {block, her, std::nullopt, &draw});
        };
        std::vector<std::int64_t> one = totals(trial % 2 == 0);
        std::vector<std::int64_t> other = totals(trial % 3 == 0);
        if (ranked) {
          std::partial_sum(one.begin(), one.end(), one.begin());
          std::partial_sum(other.begin(), other.end(), other.begin());
        }
        for (std::size_t j = 0; j < one.size(); ++j) worst = std::max(worst, std::abs(one[j] - other[j]));
        for (const std::int64_t number : one) EXPECT_TRUE(0 <= number && number <= levels);
      }
      EXPECT_LE(worst, levels);
      EXPECT_GT(worst, levels / 2);
    }
  }
}

TEST(PersonTotalsTest, PersonsOfOneRecordAreSelectedFromAsRecordsAre) {
  RandomSource random(5);
  const models::Records block = totalled_persons(std::vector<std::int64_t>(50, 1), random, false);
  models::Records plain = block;
  plain.starts.clear();
  std::vector<std::int64_t> all(50);
  std::iota(all.begin(), all.end(), std::int64_t{0});
  const PersonDraw draw(sha256("key"), 5);
  const statistics::CellsMap cells{{statistics::BinnedCells{0, {-1.0, -0.3, 0.0, 0.4, 1.0}}}};
  const statistics::LossesMap losses{statistics::ScalarLoss::Logistic, {0}, 1, true, 3.0, 3};
  EXPECT_EQ(scored_totals(cells, 1 << 20, true, {block, all, std::nullopt, &draw}),
            scored_totals(cells, 1 << 20, true, {plain, all}));
  EXPECT_EQ(scored_totals(losses, 1 << 20, false, {block, all, std::nullopt, &draw}),
            scored_totals(losses, 1 << 20, false, {plain, all}));
}

/// Spec person-unit 4 and PU7: which rows are worked on does not tell how many are hers.
TEST(PersonTotalsTest, WhatAnotherPersonHasChangesNothing) {
  RandomSource random(3);
  const models::Records block = totalled_persons({3, 1, 40}, random, false);
  models::Records hostile = block;
  for (Eigen::Index row = 4; row < 44; ++row) hostile.features.col(row).setConstant(kTotalledFeatures);
  const std::vector<std::int64_t> two = {0, 1};
  const PersonDraw draw(sha256("key"), 16);
  for (const statistics::FeatureMap& map : maps_of_persons())
    EXPECT_EQ(feature_totals(map, {1 << 20, 0x1p-20}, {block, two, std::nullopt, &draw}),
              feature_totals(map, {1 << 20, 0x1p-20}, {hostile, two, std::nullopt, &draw}));
}

}  // namespace
}  // namespace undertone::silo
