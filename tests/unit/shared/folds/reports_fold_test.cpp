#include "shared/folds/reports_fold.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "shared/folds/aggregation.hpp"

namespace undertone::folds {
namespace {

using queries::Reports;

ReportShape shape_of(std::size_t coordinates, releases::Randomiser randomiser) {
  releases::StatisticMap map;
  for (std::size_t j = 0; j < coordinates; ++j) map.coordinates.push_back(j);
  return ReportShape({map,
                      {},
                      releases::RangeBound{-1.0, 1.0},
                      static_cast<Eigen::Index>(coordinates),
                      releases::ReportsForm{randomiser}});
}

TEST(ReportShapeTest, AdmitsOneReportOfEveryRecordAndNoneThatNoRecordCanMake) {
  const ReportShape bits = shape_of(1, releases::Randomiser::Bit);
  EXPECT_TRUE(bits.admits(Reports{{0, 1, 1}}, 3));
  EXPECT_FALSE(bits.admits(Reports{{0, 1, 1}}, 2));
  EXPECT_FALSE(bits.admits(Reports{{0, 1, 1}}, 4));
  EXPECT_FALSE(bits.admits(Reports{{0, 2, 1}}, 3));
  EXPECT_FALSE(bits.admits(Reports{{0, -1, 1}}, 3));
  EXPECT_FALSE(bits.admits(Reports{{}}, 0));
  EXPECT_FALSE(bits.admits(queries::NoisedSums{{0, 1, 1}}, 3));
  EXPECT_FALSE(bits.admits(queries::Selected{{1}}, 1));
  const ReportShape numbers = shape_of(1, releases::Randomiser::Laplace);
  EXPECT_TRUE(numbers.admits(Reports{{std::int64_t{1} << 36U, -(std::int64_t{1} << 36U)}}, 2));
  EXPECT_FALSE(numbers.admits(Reports{{(std::int64_t{1} << 36U) + 1, 0}}, 2));
}

TEST(ReportShapeTest, EverySlotReportsOnOneCoordinate) {
  const ReportShape three = shape_of(3, releases::Randomiser::Laplace);
  EXPECT_EQ(three.totals({1, 10, 100, 2, 20, 200, 3}), (std::vector<std::int64_t>{6, 30, 300}));
  for (const std::int64_t records : {std::int64_t{3}, std::int64_t{7}, std::int64_t{8}, std::int64_t{9}}) {
    std::int64_t all = 0;
    for (Eigen::Index j = 0; j < 3; ++j) all += three.slots(records, j);
    EXPECT_EQ(all, records);
  }
  EXPECT_EQ(three.slots(7, 0), 3);
  EXPECT_EQ(three.slots(7, 2), 2);
}

TEST(ReportsFoldTest, AddsUpTheSameInAnyOrderOfArrivalAndHoldsNoReport) {
  const std::vector<std::vector<std::int64_t>> silos = {{1, 0, 1}, {0, 0}, {1, 1, 1, 1, 0}};
  RoundFold forth{ReportsFold(shape_of(2, releases::Randomiser::Bit))};
  RoundFold back{ReportsFold(shape_of(2, releases::Randomiser::Bit))};
  for (std::size_t i = 0; i < silos.size(); ++i) {
    forth.add(silos[i], 1);
    back.add(silos[silos.size() - 1 - i], 1);
  }
  const Folded forth_value = forth.value();
  const auto& reports = std::get<folds::Reports>(forth_value);
  EXPECT_EQ(reports.totals, Eigen::Vector2d(4.0, 2.0));
  EXPECT_EQ(reports.reports, 10);
  EXPECT_EQ(forth.replies(), 3);
  EXPECT_EQ(std::get<folds::Reports>(back.value()).totals, reports.totals);
}

}  // namespace
}  // namespace undertone::folds
