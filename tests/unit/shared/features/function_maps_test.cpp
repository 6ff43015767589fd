#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "shared/features/feature_totals.hpp"

namespace undertone::statistics {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

Eigen::VectorXd mapped(const FeatureMap& map, const std::vector<double>& features, double label = 0.0) {
  Eigen::VectorXd out(dimension(map));
  contribution(map, {features, label}, out);
  return out;
}

/// Two values of column 0 (indicators 0 and 1), one of two values of column 1 (2 and 3), three of column 2 (4 to 6).
ConjunctionsMap three_columns(std::size_t degree) {
  return {{{IndicatorCells{0, 2}, 0},
           {IndicatorCells{0, 2}, 1},
           {IndicatorCells{2, 2}, 1},
           {IndicatorCells{4, 3}, 0},
           {IndicatorCells{4, 3}, 1},
           {IndicatorCells{4, 3}, 2}},
          degree};
}

/// Every record there can be: each indicator 0 or 1, however absurd.
std::vector<std::vector<double>> all_indicators(std::size_t count) {
  std::vector<std::vector<double>> out;
  for (std::size_t bits = 0; bits < (std::size_t{1} << count); ++bits) {
    std::vector<double>& record = out.emplace_back();
    for (std::size_t i = 0; i < count; ++i) record.push_back((bits >> i & 1U) != 0 ? 1.0 : 0.0);
  }
  return out;
}

TEST(ConjunctionsTest, EveryChoiceHasAPlaceOfItsOwn) {
  for (const std::size_t literals : {1U, 4U, 7U}) {
    for (std::size_t degree = 1; degree <= literals; ++degree) {
      SCOPED_TRACE(testing::Message() << degree << " of " << literals);
      const std::size_t count = conjunction_count(literals, degree);
      std::set<std::vector<std::size_t>> seen;
      std::size_t size = 1;
      for (std::size_t place = 0; place < count; ++place) {
        const std::vector<std::size_t> chosen = conjunction_at(place, literals, degree);
        EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
        EXPECT_GE(chosen.size(), size);  // smaller choices first
        size = chosen.size();
        EXPECT_TRUE(seen.insert(chosen).second);
        EXPECT_EQ(conjunction_place(chosen, literals), place);
      }
      EXPECT_LE(size, degree);
    }
  }
  EXPECT_EQ(conjunction_count(60, 3), 60U + 1770U + 34220U);
  EXPECT_EQ(conjunction_count(256, 8), kCellsMax + 1);
  EXPECT_EQ(combinations(5, 6), 0U);
}

TEST(ConjunctionsTest, ARecordIsCountedInTheChoicesOfItsOwnValues) {
  for (std::size_t degree = 1; degree <= 6; ++degree) {
    const ConjunctionsMap map = three_columns(degree);
    for (const std::vector<double>& record : all_indicators(7)) {
      const Eigen::VectorXd counted = mapped(map, record);
      for (Eigen::Index place = 0; place < counted.size(); ++place) {
        double holds = 1.0;
        for (const std::size_t literal : conjunction_at(static_cast<std::size_t>(place), 6, degree))
          if (cell_of(map.literals[literal].cells, {record, 0.0}) != map.literals[literal].cell) holds = 0.0;
        ASSERT_EQ(counted[place], holds);
        ASSERT_EQ(coordinate_of(map, {record, 0.0}, static_cast<std::size_t>(place)), holds);
      }
    }
  }
}

TEST(ConjunctionsTest, NoTwoRecordsDifferInMoreThanTheBoundAndSomeInAsMany) {
  // Columns that have one literal and columns that have several, in every mixture that seven indicators allow.
  const std::vector<std::vector<Literal>> choices{
      three_columns(1).literals,
      {{IndicatorCells{0, 1}, 0}, {IndicatorCells{1, 1}, 0}, {IndicatorCells{2, 1}, 0}, {IndicatorCells{3, 1}, 0}},
      {{IndicatorCells{0, 3}, 0}, {IndicatorCells{0, 3}, 2}, {IndicatorCells{3, 1}, 0}, {IndicatorCells{4, 1}, 0}},
      {{IndicatorCells{0, 2}, 0}, {IndicatorCells{2, 2}, 1}, {SignCells{6}, 1}}};
  for (const std::vector<Literal>& literals : choices) {
    for (std::size_t degree = 1; degree <= literals.size(); ++degree) {
      SCOPED_TRACE(testing::Message() << literals.size() << " literals, degree " << degree);
      const ConjunctionsMap map{literals, degree};
      ASSERT_TRUE(check(map, 8));
      std::vector<Eigen::VectorXd> images;
      for (const std::vector<double>& record : all_indicators(7)) images.push_back(mapped(map, record));
      double most = 0.0;
      for (const Eigen::VectorXd& a : images)
        for (const Eigen::VectorXd& b : images) most = std::max(most, (a - b).lpNorm<1>());
      EXPECT_EQ(most, static_cast<double>(differing_conjunctions(map)));
      EXPECT_EQ(pairwise_bound(map).l1, most);
      EXPECT_NEAR(pairwise_bound(map).l2, std::sqrt(most), 1e-12);
      EXPECT_EQ(integer_bound(map, 3).l1, 3 * static_cast<std::int64_t>(most));
    }
  }
}

TEST(ConjunctionsTest, TwoWaysOfReadingOneColumnAreTwoColumns) {
  // Indicator 1 of its own, and as one of two: a record has both, or the other of the two.
  const ConjunctionsMap map{{{IndicatorCells{0, 2}, 0}, {IndicatorCells{0, 2}, 1}, {IndicatorCells{1, 1}, 0}}, 2};
  ASSERT_TRUE(check(map, 3));
  const auto distance = [&](const std::vector<double>& a, const std::vector<double>& b) {
    return (mapped(map, a) - mapped(map, b)).lpNorm<1>();
  };
  EXPECT_LE(distance({1.0, 0.0}, {0.0, 1.0}), pairwise_bound(map).l1);
  EXPECT_LE(distance({0.0, 1.0}, {1.0, 1.0}), pairwise_bound(map).l1);
  EXPECT_LE(distance({0.0, 0.0}, {0.0, 1.0}), pairwise_bound(map).l1);
}

TEST(ConjunctionsTest, RefusesWhatIsNoChoice) {
  const auto refused = [](const ConjunctionsMap& map) { return !check(map, 8); };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(three_columns(0)));
  EXPECT_TRUE(refused(three_columns(7)));
  EXPECT_TRUE(refused({{{IndicatorCells{0, 2}, 2}}, 1}));
  EXPECT_TRUE(refused({{{IndicatorCells{0, 9}, 2}}, 1}));
  EXPECT_TRUE(refused({{{IndicatorCells{0, 2}, 1}, {IndicatorCells{0, 2}, 1}}, 1}));  // the same twice
  EXPECT_TRUE(refused({{{BinnedCells{0, {-1.0, 0.0, 1.0}}, 1}}, 1}));                 // a record may be in two cuts
  EXPECT_TRUE(refused({std::vector<Literal>(257, Literal{IndicatorCells{0, 2}, 0}), 1}));
}

TEST(CosinesTest, AreProductsOfCosinesOfEachCoordinate) {
  const CosinesMap map{{0, 2}, 4};
  EXPECT_EQ(dimension(map), 15);
  for (const double a : {-1.0, -0.3, 0.0, 0.7, 1.0}) {
    for (const double b : {-1.0, 0.2, 1.0}) {
      const std::vector<double> record{a, 9.0, b};
      const Eigen::VectorXd out = mapped(map, record);
      for (std::size_t v = 0; v < 4; ++v) {
        for (std::size_t w = 0; w < 4; ++w) {
          if (v + w == 0) continue;
          const std::size_t place = v + 4 * w - 1;
          const double expected =
              std::cos(static_cast<double>(v) * std::acos(a)) * std::cos(static_cast<double>(w) * std::acos(b));
          EXPECT_NEAR(out[static_cast<Eigen::Index>(place)], expected, 1e-14);
          EXPECT_NEAR(coordinate_of(map, {record, 0.0}, place), expected, 1e-14);
        }
      }
    }
  }
  for (const double wild : {kNoNumber, kUnbounded, -kUnbounded, 1e300, -5.0}) {
    const Eigen::VectorXd out = mapped(map, {wild, 0.0, wild});
    EXPECT_LE(out.lpNorm<Eigen::Infinity>(), 1.0);
  }
  EXPECT_EQ(cosine_count(8, 64), kCellsMax + 1);
  EXPECT_FALSE(check(CosinesMap{{0, 0}, 4}, 3));
  EXPECT_FALSE(check(CosinesMap{{}, 4}, 3));
  EXPECT_FALSE(check(CosinesMap{{0}, 1}, 3));
  EXPECT_FALSE(check(CosinesMap{{3}, 2}, 3));
  EXPECT_FALSE(check(CosinesMap{{0, 1, 2}, 200}, 3));
}

TEST(LossesTest, AreOfEveryPointOfTheGridAndInZeroToOne) {
  for (const ScalarLoss loss : {ScalarLoss::Logistic, ScalarLoss::Hinge, ScalarLoss::Squared, ScalarLoss::Absolute}) {
    SCOPED_TRACE(to_string(loss));
    const LossesMap map{loss, {0, 1}, 2, true, 3.0, 4};
    ASSERT_TRUE(check(map, 3));
    EXPECT_EQ(dimension(map), 125);
    EXPECT_EQ(grid_point(map, 0), Eigen::Vector3d(-3.0, -3.0, -3.0));
    EXPECT_EQ(grid_point(map, 124), Eigen::Vector3d(3.0, 3.0, 3.0));
    EXPECT_EQ(grid_point(map, 1 + 5 * 2 + 25 * 3), Eigen::Vector3d(-1.5, 0.0, 1.5));
    const std::vector<double> record{0.5, -0.25};
    const Eigen::VectorXd out = mapped(map, record, 1.0);
    for (std::size_t place = 0; place < 125; ++place) {
      const Eigen::VectorXd w = grid_point(map, place);
      const double score = 0.5 * w[0] - 0.25 * w[1] + w[2];
      EXPECT_NEAR(out[static_cast<Eigen::Index>(place)] * largest_of(loss, 9.0), value_of(loss, score, 1.0), 1e-12);
      EXPECT_EQ(coordinate_of(map, {record, 1.0}, place), out[static_cast<Eigen::Index>(place)]);
    }
    for (const double wild : {kNoNumber, kUnbounded, -kUnbounded, 1e300, 1.0, -1.0}) {
      for (const double label : {kNoNumber, kUnbounded, -1e300, 1.0, -1.0}) {
        const Eigen::VectorXd wide = mapped(map, {wild, -wild}, label);
        EXPECT_GE(wide.minCoeff(), 0.0);
        EXPECT_LE(wide.maxCoeff(), 1.0);
      }
    }
  }
  // log(1 + e^-m): at 0 log 2; (0.5 - 1)^2 / 2; |0.5 - 1|; max(0, 1 - 0.5).
  EXPECT_DOUBLE_EQ(value_of(ScalarLoss::Logistic, 0.0, 1.0), std::log(2.0));
  EXPECT_DOUBLE_EQ(value_of(ScalarLoss::Squared, 0.5, 1.0), 0.125);
  EXPECT_DOUBLE_EQ(value_of(ScalarLoss::Absolute, 0.5, 1.0), 0.5);
  EXPECT_DOUBLE_EQ(value_of(ScalarLoss::Hinge, 0.5, 1.0), 0.5);
}

TEST(LossesTest, RefusesWhatIsNoLoss) {
  const auto refused = [](const LossesMap& map) { return !check(map, 5); };
  EXPECT_FALSE(refused({ScalarLoss::Logistic, {0, 1}, 4, true, 1.0, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {}, 4, true, 1.0, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0, 1, 2}, 4, true, 1.0, 4}));  // four parameters
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0, 0}, 4, false, 1.0, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0, 4}, 4, false, 1.0, 4}));  // the label among the features
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {5}, 4, false, 1.0, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0}, 4, false, 0.0, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0}, 4, false, kNoNumber, 4}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0}, 4, false, 1.0, 0}));
  EXPECT_TRUE(refused({ScalarLoss::Logistic, {0, 1, 2}, 4, false, 1.0, 128}));  // 129^3
}

TEST(ReportedRangeTest, IsOfMapsOfWhichARecordMayReportOneCoordinate) {
  EXPECT_TRUE(reported_range(three_columns(2)));
  EXPECT_EQ(reported_range(CosinesMap{{0}, 2})->low, -1.0);
  EXPECT_EQ(reported_range(LossesMap{})->low, 0.0);
  EXPECT_FALSE(reported_range(SumMap{0}));
  EXPECT_FALSE(reported_range(MomentsMap{0, true}));
}

TEST(FunctionMapsTest, OnALatticeTheIntegersKeepTheBound) {
  std::vector<std::vector<double>> records = all_indicators(5);
  for (const double wild : {kNoNumber, kUnbounded, -1e300, 0.3, -0.99}) records.push_back({wild, 1.0, wild, -1.0, 0.0});
  for (const FeatureMap& map :
       std::vector<FeatureMap>{CosinesMap{{0, 1}, 5}, LossesMap{ScalarLoss::Squared, {0, 1}, 2, false, 2.0, 6},
                               ConjunctionsMap{{{IndicatorCells{0, 2}, 0}, {IndicatorCells{2, 3}, 1}}, 2}}) {
    for (const std::int64_t units : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 20U}) {
      SCOPED_TRACE(testing::Message() << name_of(map) << " at " << units);
      const IntegerPairwiseBound bound = integer_bound(map, units);
      const std::vector<double> label{0.0};
      const std::vector<std::int64_t> first{0};
      std::vector<std::vector<std::int64_t>> images;
      for (const std::vector<double>& record : records) {
        images.emplace_back(static_cast<std::size_t>(dimension(map)), 0);
        add_totals(map, units, {record.data(), record.size(), label, first}, images.back());
      }
      for (const auto& a : images) {
        for (const auto& b : images) {
          double l1 = 0.0;
          double square = 0.0;
          for (std::size_t i = 0; i < a.size(); ++i) {
            l1 += std::abs(static_cast<double>(a[i] - b[i]));
            square += std::pow(static_cast<double>(a[i] - b[i]), 2);
          }
          ASSERT_LE(l1, static_cast<double>(bound.l1));
          ASSERT_LE(std::sqrt(square), bound.l2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace undertone::statistics
