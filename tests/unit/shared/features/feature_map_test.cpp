#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/features/feature_totals.hpp"

namespace undertone::statistics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Eigen::VectorXd phi(const FeatureMap& map, const std::vector<double>& features, double label = 0.0) {
  Eigen::VectorXd out(dimension(map));
  contribution(map, {features, label}, out);
  return out;
}

std::vector<std::int64_t> integers(const FeatureMap& map, std::int64_t units, const std::vector<double>& features) {
  const std::vector<double> label{0.0};
  const std::vector<std::int64_t> first{0};
  std::vector<std::int64_t> out(static_cast<std::size_t>(dimension(map)), 0);
  add_totals(map, units, {features.data(), features.size(), label, first}, out);
  return out;
}

struct Distance {
  double l1 = 0.0;
  double l2 = 0.0;
};
/// The largest over all pairs of records.
Distance farthest(const FeatureMap& map, const std::vector<std::vector<double>>& records) {
  std::vector<Eigen::VectorXd> images;
  images.reserve(records.size());
  for (const auto& record : records) images.push_back(phi(map, record));
  Distance out;
  for (const Eigen::VectorXd& a : images) {
    for (const Eigen::VectorXd& b : images) {
      out.l1 = std::max(out.l1, (a - b).lpNorm<1>());
      out.l2 = std::max(out.l2, (a - b).norm());
    }
  }
  return out;
}
Distance farthest_integers(const FeatureMap& map, std::int64_t units, const std::vector<std::vector<double>>& records) {
  std::vector<std::vector<std::int64_t>> images;
  images.reserve(records.size());
  for (const auto& record : records) images.push_back(integers(map, units, record));
  Distance out;
  for (const auto& a : images) {
    for (const auto& b : images) {
      double l1 = 0.0;
      double square = 0.0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto gap = static_cast<double>(a[i] - b[i]);
        l1 += std::abs(gap);
        square += gap * gap;
      }
      out.l1 = std::max(out.l1, l1);
      out.l2 = std::max(out.l2, std::sqrt(square));
    }
  }
  return out;
}

/// A number in [-1, 1] in steps of 1/100, beside one of three indicators.
std::vector<std::vector<double>> grid() {
  std::vector<std::vector<double>> out;
  for (int i = -100; i <= 100; ++i)
    for (int cell = 0; cell < 3; ++cell)
      out.push_back({i / 100.0, cell == 0 ? 1.0 : 0.0, cell == 1 ? 1.0 : 0.0, cell == 2 ? 1.0 : 0.0});
  return out;
}
std::vector<std::vector<double>> hostile_grid() {
  std::vector<std::vector<double>> out = grid();
  for (const double value : {kNan, kInfinity, -kInfinity, 1e300, -1e300, 7.0}) {
    out.push_back({value, 1.0, 0.0, 0.0});
    out.push_back({value, 1.0, 1.0, 1.0});
    out.push_back({value, kNan, kNan, kNan});
  }
  return out;
}

const Cells kGroups = IndicatorCells{1, 3};
const BinnedCells kEight{0, {-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0}};

struct Claim {
  FeatureMap map;
  bool l1_attained;
  bool l2_attained;
};

TEST(FeatureMapTest, NoTwoRecordsAreFartherApartThanItsBoundAndSomeAreAsFar) {
  // Tight where noise of that norm is offered. (1, u, u^2 / sqrt 2) in two groups: 1 + 1 + 1/2, twice: 5.
  const std::vector<Claim> claims{{CountMap{kGroups, 1}, true, true},
                                  {CellsMap{{kGroups}}, true, true},
                                  {CellsMap{{kGroups, kEight}}, true, true},
                                  {SumMap{0}, true, true},
                                  {CountedSumMap{0}, true, true},
                                  {MomentsMap{0, false}, true, true},
                                  {MomentsMap{0, true}, true, true},
                                  {CutMomentsMap{0, 0.25, 0.5, false}, false, true},
                                  {CutMomentsMap{0, -1.0, 3.0, true}, false, false},
                                  {FourMomentsMap{0}, false, true},
                                  {GroupMomentsMap{kGroups, 0, false}, true, true},
                                  {GroupMomentsMap{kGroups, 0, true}, true, true},
                                  {TreeMap{kEight}, true, true}};
  for (const Claim& claim : claims) {
    SCOPED_TRACE(name_of(claim.map));
    ASSERT_TRUE(check(claim.map, 5));
    const PairwiseBound bound = pairwise_bound(claim.map);
    const Distance found = farthest(claim.map, hostile_grid());
    EXPECT_LE(found.l1, bound.l1 * (1.0 + 1e-14));
    EXPECT_LE(found.l2, bound.l2 * (1.0 + 1e-14));
    if (claim.l1_attained) {
      EXPECT_GE(found.l1, bound.l1 * (1.0 - 1e-3));
    }
    if (claim.l2_attained) {
      EXPECT_GE(found.l2, bound.l2 * (1.0 - 1e-3));
    }
  }
}

TEST(FeatureMapTest, OnALatticeTheIntegersKeepTheBound) {
  for (const FeatureMap& map : std::vector<FeatureMap>{
           CountMap{kGroups, 1}, CellsMap{{kGroups}}, CellsMap{{kGroups, kEight}}, SumMap{0}, CountedSumMap{0},
           MomentsMap{0, false}, MomentsMap{0, true}, FourMomentsMap{0}, GroupMomentsMap{kGroups, 0, false},
           GroupMomentsMap{kGroups, 0, true}, TreeMap{kEight}}) {
    for (const std::int64_t units : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, std::int64_t{1} << 20U}) {
      SCOPED_TRACE(testing::Message() << name_of(map) << " at " << units);
      const IntegerPairwiseBound bound = integer_bound(map, units);
      const Distance found = farthest_integers(map, units, hostile_grid());
      EXPECT_LE(found.l1, static_cast<double>(bound.l1));
      EXPECT_LE(found.l2, bound.l2);
      if (counts(map) || std::holds_alternative<SumMap>(map) || std::holds_alternative<CountedSumMap>(map)) {
        EXPECT_EQ(found.l1, static_cast<double>(bound.l1));
        EXPECT_NEAR(found.l2, bound.l2, 1e-12 * bound.l2);
      }
    }
  }
}

TEST(FeatureMapTest, TheSecondMomentOfAVectorIsFree) {
  // Row 23: with kappa^2 = 1/2 the distance is 2, that of the first moments alone: x = -y of norm 1. In two dimensions
  // the box's corners have norm R = sqrt 2.
  const FeatureMap map = VectorMomentsMap{{0, 1}};
  ASSERT_TRUE(check(map, 3));
  EXPECT_EQ(dimension(map), 5);
  std::vector<std::vector<double>> records;
  for (int i = -10; i <= 10; ++i)
    for (int j = -10; j <= 10; ++j) records.push_back({i / 10.0, j / 10.0});
  const Distance found = farthest(map, records);
  EXPECT_LE(found.l2, 2.0 + 1e-14);
  EXPECT_GE(found.l2, 2.0 - 1e-12);
  EXPECT_LE(found.l1, pairwise_bound(map).l1);
  const Distance rounded = farthest_integers(map, 1000, records);
  EXPECT_LE(rounded.l2, integer_bound(map, 1000).l2);
  // (x, svec(x x') / sqrt 2) / R, R^2: x = (1, -1): (1, -1) / sqrt 2, then (1/2) / sqrt 2, -1/2, (1/2) / sqrt 2.
  const Eigen::VectorXd image = phi(map, {1.0, -1.0});
  const double eighth = 0.5 / std::numbers::sqrt2;
  EXPECT_NEAR(image[2], eighth, 1e-15);
  EXPECT_NEAR(image[3], -0.5, 1e-15);
  EXPECT_NEAR(image[4], eighth, 1e-15);
}

TEST(FeatureMapTest, VectorsInABallAreNoFartherApartThanItsDiameter) {
  std::vector<std::vector<double>> records;
  for (int i = -8; i <= 8; ++i)
    for (int j = -8; j <= 8; ++j)
      for (const double label : {-1.0, 1.0}) records.push_back({i / 8.0, j / 8.0, label});
  records.push_back({kNan, kInfinity, kNan});
  records.push_back({1e300, -1e300, -kInfinity});
  using Besides = BallMap::Besides;
  for (const double tiny : {1e-310, 1e-200, 1e-170, 1e-20}) records.push_back({tiny, -tiny, 1.0});
  for (const double radius : {kBallRadiusMin, 0.3, 1.0, 5.0}) {
    for (const bool constant : {false, true}) {
      for (const bool sign : {false, true}) {
        for (const Besides besides : {Besides::Nothing, Besides::Square, Besides::Products}) {
          SCOPED_TRACE(testing::Message() << radius << constant << sign << static_cast<int>(besides));
          const BallMap ball{{0, 1}, radius, sign ? std::optional<std::size_t>(2) : std::nullopt, constant, besides};
          const FeatureMap map = ball;
          ASSERT_TRUE(check(map, 4));
          const PairwiseBound bound = pairwise_bound(map);
          const Distance found = farthest(map, records);
          EXPECT_LE(found.l1, bound.l1);
          EXPECT_LE(found.l2, bound.l2);
          if (radius <= 1.0 && !constant && besides != Besides::Square) {
            EXPECT_GE(found.l2, bound.l2 * (1.0 - 1e-9));
          }
          for (const std::int64_t units : {std::int64_t{3}, std::int64_t{1} << 20U}) {
            const Distance rounded = farthest_integers(map, units, records);
            EXPECT_LE(rounded.l1, static_cast<double>(integer_bound(map, units).l1));
            EXPECT_LE(rounded.l2, integer_bound(map, units).l2);
          }
        }
      }
    }
  }
  // (3/5, 4/5) of what is longer; over the radius of what is shorter; with the label's sign.
  EXPECT_NEAR(phi(BallMap{{0, 1}, 0.5}, {0.6, 0.8})[0], 0.6, 1e-15);
  EXPECT_NEAR(phi(BallMap{{0, 1}, 2.0}, {0.6, 0.8})[1], 0.4, 1e-15);
  EXPECT_NEAR(phi(BallMap{{0, 1}, 2.0, 2}, {0.6, 0.8, -1.0})[1], -0.4, 1e-15);
  EXPECT_FALSE(check(BallMap{{}, 1.0}, 4));
  EXPECT_FALSE(check(BallMap{{0, 0}, 1.0}, 4));
  EXPECT_FALSE(check(BallMap{{0}, 0.0}, 4));
  EXPECT_FALSE(check(BallMap{{0}, kNan}, 4));
  for (const double vanishing : {1e-310, 1e-200, 0x1p-21}) EXPECT_FALSE(check(BallMap{{0}, vanishing}, 4));
  EXPECT_FALSE(check(BallMap{{9}, 1.0}, 4));
  EXPECT_FALSE(check(BallMap{{0}, 1.0, 9}, 4));
}

TEST(FeatureMapTest, CellsAreOpenBelowAndClosedAbove) {
  const Cells cells = BinnedCells{0, {-1.0, 0.0, 0.5, 1.0}};
  const auto at = [&](double value) { return cell_of(cells, {std::vector<double>{value}, 0.0}); };
  EXPECT_EQ(at(-1.0), 0U);
  EXPECT_EQ(at(0.0), 0U);
  EXPECT_EQ(at(1e-300), 1U);
  EXPECT_EQ(at(0.5), 1U);
  EXPECT_EQ(at(1.0), 2U);
  EXPECT_EQ(at(-9.0), 0U);  // clamped
  EXPECT_EQ(at(9.0), 2U);
  EXPECT_EQ(at(kNan), 0U);  // counts as 0
  EXPECT_EQ(at(kInfinity), 0U);
}

TEST(FeatureMapTest, LengthsOfGradientsAreThoseOfTheLossAtThePoint) {
  // At w = (0.5, -1, 0.25) of two features and the intercept: s = 0.5 x_1 - x_2 + 0.25.
  const auto length = [](ScalarLoss loss, std::vector<double> x, double y) {
    return gradient_length({loss, true, {0.5, -1.0, 0.25}, {0.0, 1.0}}, {x, y});
  };
  EXPECT_NEAR(length(ScalarLoss::Squared, {0.6, -0.8}, 0.5), 0.85 * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(length(ScalarLoss::Absolute, {0.6, -0.8}, 0.5), std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(length(ScalarLoss::Logistic, {0.6, -0.8}, -1.0), std::sqrt(2.0) / (1.0 + std::exp(-1.35)), 1e-12);
  EXPECT_NEAR(length(ScalarLoss::Hinge, {0.6, -0.8}, 1.0), 0.0, 1e-12);
  EXPECT_NEAR(length(ScalarLoss::Hinge, {0.6, -0.8}, -1.0), std::sqrt(2.0), 1e-12);
  // Whatever a record holds, it is in one cell.
  const Cells cells = GradientCells{ScalarLoss::Squared, true, {0.5, -1.0, 0.25}, {0.0, 0.5, 1.0}};
  for (const double value : {0.0, 9.0, -1e300, kNan, kInfinity, -kInfinity})
    for (const double label : {0.0, kNan, kInfinity, -1e300})
      EXPECT_LT(cell_of(cells, {std::vector<double>{value, -value}, label}).value(), 2U);
  EXPECT_TRUE(check_cells(cells, 3));
  EXPECT_FALSE(check_cells(cells, 2));  // a record has a coordinate for every number of the point
  EXPECT_FALSE(check_cells(GradientCells{ScalarLoss::Squared, true, {0.5}, {0.0, 1.0}}, 3));
  EXPECT_FALSE(check_cells(GradientCells{ScalarLoss::Squared, false, {0.5, kNan}, {0.0, 1.0}}, 3));
  EXPECT_FALSE(check_cells(GradientCells{ScalarLoss::Squared, false, {0.5, 0.5}, {0.5, 1.0}}, 3));
  EXPECT_FALSE(check_cells(GradientCells{ScalarLoss::Squared, false, {0.5, 0.5}, {0.0, 0.0}}, 3));
  EXPECT_FALSE(check_cells(GradientCells{ScalarLoss::Squared, false, {0.5, 0.5}, {}}, 3));
  // Replacing a record moves it from one cell to another: 2 in l1.
  EXPECT_EQ(pairwise_bound(CellsMap{{cells}}).l1, 2.0);
}

TEST(FeatureMapTest, ARecordOfNoCellIsCountedInNone) {
  const Cells indicators = IndicatorCells{0, 2};
  const auto of = [&](double a, double b) { return cell_of(indicators, {std::vector<double>{a, b}, 0.0}); };
  EXPECT_EQ(of(0.0, 1.0), 1U);
  EXPECT_FALSE(of(0.0, 0.0));
  EXPECT_FALSE(of(1.0, 1.0));
  EXPECT_FALSE(of(kNan, 0.5));
  const Cells classes = ClassCells{0, 3};
  const auto label = [&](double value) { return cell_of(classes, {{}, value}); };
  EXPECT_EQ(label(2.0), 2U);
  for (const double value : {-1.0, 3.0, 0.5, kNan, kInfinity}) EXPECT_FALSE(label(value)) << value;
  const Cells signs = SignCells{0};
  EXPECT_EQ(cell_of(signs, {{}, -1.0}), 0U);
  EXPECT_EQ(cell_of(signs, {{}, 1.0}), 1U);
  EXPECT_EQ(cell_of(signs, {{}, kNan}), 0U);
}

TEST(FeatureMapTest, ATableHasItsLastAxisFastest) {
  // Indicator 2 of 3, u = 0.3 in cell 5 of 8: 2 * 8 + 5.
  const Eigen::VectorXd table = phi(CellsMap{{kGroups, kEight}}, {0.3, 0.0, 0.0, 1.0});
  EXPECT_EQ(table.sum(), 1.0);
  EXPECT_EQ(table[21], 1.0);
}

TEST(FeatureMapTest, ATreeCountsARecordOnceALevel) {
  // Leaf 5 of 8: node 1 of 2, node 2 of 4, leaf 5: places 1, 2 + 2, 6 + 5.
  const Eigen::VectorXd tree = phi(TreeMap{kEight}, {0.3});
  EXPECT_EQ(tree.size(), 14);
  EXPECT_EQ(tree.sum(), 3.0);
  EXPECT_EQ(tree[1], 1.0);
  EXPECT_EQ(tree[4], 1.0);
  EXPECT_EQ(tree[11], 1.0);
}

TEST(FeatureMapTest, RefusesWhatIsNoQuestion) {
  const auto refused = [](const FeatureMap& map) { return !check(map, 4); };
  EXPECT_TRUE(refused(SumMap{4}));
  EXPECT_TRUE(refused(MomentsMap{9, true}));
  EXPECT_TRUE(refused(FourMomentsMap{4}));
  EXPECT_TRUE(refused(CutMomentsMap{0, 1.5, 1.0, false}));
  EXPECT_TRUE(refused(CutMomentsMap{0, 0.0, 0.5 * kCutRadiusMin, false}));
  EXPECT_TRUE(refused(CutMomentsMap{0, 0.0, HUGE_VAL, false}));
  EXPECT_TRUE(refused(CountMap{IndicatorCells{2, 3}, 0}));
  EXPECT_TRUE(refused(CountMap{IndicatorCells{0, 0}, 0}));
  EXPECT_TRUE(refused(CountMap{IndicatorCells{0, 3}, 3}));
  EXPECT_TRUE(refused(CountMap{IndicatorCells{std::numeric_limits<std::size_t>::max(), 2}, 0}));
  EXPECT_TRUE(refused(CellsMap{}));
  EXPECT_TRUE(refused(CellsMap{{ClassCells{0, 1 << 11}, ClassCells{1, 1 << 11}}}));
  EXPECT_TRUE(refused(CellsMap{{ClassCells{0, 0}}}));
  EXPECT_TRUE(refused(VectorMomentsMap{}));
  EXPECT_TRUE(refused(VectorMomentsMap{{1, 1}}));
  EXPECT_TRUE(refused(VectorMomentsMap{{1, 4}}));
  EXPECT_TRUE(refused(TreeMap{{0, {0.0, 0.5, 0.7, 1.0}}}));  // three leaves
  EXPECT_TRUE(refused(TreeMap{{0, {0.0, 1.0}}}));
  EXPECT_TRUE(refused(GroupMomentsMap{ClassCells{0, kCellsMax}, 1, true}));
  for (const std::vector<double>& edges : std::vector<std::vector<double>>{
           {}, {0.0}, {0.0, 0.0}, {1.0, 0.0}, {0.0, kNan}, {kNan, 1.0}, {0.0, kInfinity}}) {
    EXPECT_TRUE(refused(CellsMap{{BinnedCells{0, edges}}}));
  }
  const Status message = check(CellsMap{{BinnedCells{0, {0.0, 0.5, 0.25}}}}, 4);
  EXPECT_EQ(message.error().message, "a statistic: expected finite edges that ascend, got 0.25 at place 2 after 0.5");
}

}  // namespace
}  // namespace undertone::statistics
