#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "shared/features/feature_map.hpp"
#include "shared/features/feature_totals.hpp"

namespace undertone::statistics {
namespace {

/// Features: the time, whether it is missing, indicators of "alive", "relapse" and "death", an arm. Two causes, three
/// intervals: cells 0 to 2 are relapses, 3 to 5 deaths, 6 to 8 censored, 9 survivors, 10 missing.
ExitCells cells() {
  ExitCells out;
  out.time = 0;
  out.time_missing = 1;
  out.edges = {-1.0, -0.5, 0.0, 0.5};
  out.event = IndicatorCells{2, 3};
  out.cause_of = {2, 0, 1};
  out.causes = 2;
  return out;
}
constexpr std::size_t kExitWidth = 7;  // with a label

std::optional<std::size_t> cell(double time, std::array<double, 3> event, double missing = 0.0) {
  const std::vector<double> features{time, missing, event[0], event[1], event[2], 1.0};
  return cell_of(cells(), {features, 0.0});
}
constexpr std::array<double, 3> kAlive{1, 0, 0};
constexpr std::array<double, 3> kRelapse{0, 1, 0};
constexpr std::array<double, 3> kDeath{0, 0, 1};

TEST(ExitCellsTest, ARecordIsWhereAndHowItWasLastSeen) {
  EXPECT_EQ(cell(-0.7, kRelapse), 0U);
  EXPECT_EQ(cell(-0.2, kRelapse), 1U);
  EXPECT_EQ(cell(0.4, kDeath), 5U);
  EXPECT_EQ(cell(-0.2, kAlive), 7U);
  EXPECT_EQ(cell(0.7, kAlive), 9U);
  EXPECT_EQ(cell(0.7, kDeath), 9U);  // after the grid: then it was alive
}

TEST(ExitCellsTest, EdgesBelongToTheIntervalTheyEnd) {
  EXPECT_EQ(cell(-1.0, kRelapse), 0U);  // the start is in the first one
  EXPECT_EQ(cell(-0.5, kRelapse), 0U);
  EXPECT_EQ(cell(0.0, kAlive), 7U);
  EXPECT_EQ(cell(0.5, kDeath), 5U);
  EXPECT_EQ(cell(0.5, kAlive), 9U);   // censored on the last edge: seen until there
  EXPECT_EQ(cell(-7.0, kDeath), 3U);  // beyond the bounds is cut to the first interval
}

TEST(ExitCellsTest, WhatIsNotKnownIsACellOfItsOwn) {
  EXPECT_EQ(cell(-0.2, kRelapse, 1.0), 10U);
  EXPECT_EQ(cell(std::nan(""), kRelapse), 10U);
  EXPECT_EQ(cell(std::numeric_limits<double>::infinity(), kRelapse), 10U);
  EXPECT_EQ(cell(-0.2, {0, 0, 0}), 10U);
  EXPECT_EQ(cell(-0.2, {1, 1, 0}), 10U);
}

TEST(ExitCellsTest, AGroupWithEveryCellIsCheckedBeforeItIsAsked) {
  EXPECT_TRUE(check_cells(cells(), kExitWidth));
  ExitCells wrong = cells();
  wrong.cause_of = {2, 0};
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
  wrong = cells();
  wrong.cause_of = {3, 0, 1};
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
  wrong = cells();
  wrong.edges = {0.0, 0.0};
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
  wrong = cells();
  wrong.time = kExitWidth;
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
  wrong = cells();
  wrong.time_missing = kExitWidth;
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
  wrong = cells();
  wrong.event = IndicatorCells{5, 3};
  EXPECT_FALSE(check_cells(wrong, kExitWidth));
}

TEST(ExitCellsTest, DigestsTellEveryFieldApart) {
  std::vector<ExitCells> different(7, cells());
  different[1].time = 5;
  different[2].time_missing.reset();
  different[3].edges[1] = -0.4;
  different[4].event = IndicatorCells{1, 3};
  different[5].cause_of = {2, 1, 0};
  different[6].causes = 1;
  different[6].cause_of = {1, 0, 0};
  for (std::size_t i = 0; i < different.size(); ++i)
    for (std::size_t j = i + 1; j < different.size(); ++j)
      EXPECT_NE(canonical_text(Cells(different[i])), canonical_text(Cells(different[j]))) << i << " and " << j;
}

/// Any two records, with ties, the ends of the grid, missing times and events, groups that are not listed.
TEST(ExitCellsTest, ReplacingARecordMovesTwoCellsByOneEach) {
  const FeatureMap map = CellsMap{{IndicatorCells{5, 1}, cells()}};
  ASSERT_TRUE(check(map, kExitWidth));
  const PairwiseBound bound = pairwise_bound(map);
  EXPECT_DOUBLE_EQ(bound.l1, 2.0);
  EXPECT_DOUBLE_EQ(bound.l2, std::sqrt(2.0));
  const std::array<double, 11> times{-1e300, -1.0, -0.5, 0.0, 0.25, 0.5, 0.6, 1.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
  std::mt19937_64 random(7);
  const auto any = [&](const auto& values) { return values[random() % values.size()]; };
  const std::array<double, 4> flags{0.0, 1.0, 0.5, std::nan("")};
  for (int pair = 0; pair < 20000; ++pair) {
    std::vector<double> features;
    std::vector<double> labels;
    for (int record = 0; record < 2; ++record) {
      features.push_back(any(times));
      for (int flag = 0; flag < 5; ++flag) features.push_back(any(flags));
      labels.push_back(any(times));
    }
    Eigen::VectorXd first(dimension(map));
    Eigen::VectorXd second(dimension(map));
    contribution(map, {std::span(features).first(6), labels[0]}, first);
    contribution(map, {std::span(features).last(6), labels[1]}, second);
    EXPECT_LE((first - second).lpNorm<1>(), 2.0);
    EXPECT_LE((first - second).norm(), std::sqrt(2.0));
    EXPECT_LE(first.sum(), 1.0);
    // What a silo adds up is the same.
    const std::vector<std::int64_t> positions{0, 1};
    std::vector<std::int64_t> sum(static_cast<std::size_t>(dimension(map)), 0);
    add_totals(map, 1, EncodedRecords{features.data(), 6, labels, positions}, sum);
    for (std::size_t i = 0; i < sum.size(); ++i)
      EXPECT_EQ(static_cast<double>(sum[i]),
                first[static_cast<Eigen::Index>(i)] + second[static_cast<Eigen::Index>(i)]);
  }
}

}  // namespace
}  // namespace undertone::statistics
