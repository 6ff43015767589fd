#include "shared/geometry/vertices.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace undertone::geometry {
namespace {

std::vector<std::int64_t> scores(const Vertices& vertices, const std::vector<std::int64_t>& gradient_sum) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(vertices.count()));
  vertices.scores(gradient_sum, out);
  return out;
}

/// A triangle away from 0, in R^2.
Eigen::MatrixXd triangle() {
  Eigen::MatrixXd columns(2, 3);
  columns << 10.0, 11.0, 10.0,  //
      20.0, 20.0, 22.0;
  return columns;
}

TEST(VerticesTest, OfTheL1BallComeInPairs) {
  const Vertices vertices = Vertices::of_l1_ball(3, 2.5).value();
  ASSERT_EQ(vertices.count(), 6);
  EXPECT_EQ(vertices.vertex(0), Eigen::Vector3d(2.5, 0.0, 0.0));
  EXPECT_EQ(vertices.vertex(1), Eigen::Vector3d(-2.5, 0.0, 0.0));
  EXPECT_EQ(vertices.vertex(5), Eigen::Vector3d(0.0, 0.0, -2.5));
  EXPECT_EQ(scores(vertices, {7, -8, 9}), (std::vector<std::int64_t>{-7, 7, 8, -8, -9, 9}));
  EXPECT_EQ(vertices.unit(), 2.5);
  EXPECT_EQ(vertices.norm_l1_max(), 2.5);
  EXPECT_EQ(vertices.score_range(16), 64);  // e_i and -e_i: each score moves by 32, and they move apart
}

TEST(VerticesTest, OfTheSimplexAreItsAxes) {
  const Vertices vertices = Vertices::of_simplex(3, 4.0).value();
  ASSERT_EQ(vertices.count(), 3);
  EXPECT_EQ(vertices.vertex(1), Eigen::Vector3d(0.0, 4.0, 0.0));
  EXPECT_EQ(scores(vertices, {7, -8, 9}), (std::vector<std::int64_t>{-7, 8, -9}));
  EXPECT_EQ(vertices.score_range(16), 64);
}

TEST(VerticesTest, ListedOnesAreIntegersOnAPublicLattice) {
  // The largest coordinate is 22 < 2^5, so the step is 2^(5 - 16) = 2^-11, which divides every coordinate.
  const Vertices vertices = Vertices::listed(triangle()).value();
  ASSERT_EQ(vertices.count(), 3);
  EXPECT_EQ(vertices.dimension(), 2);
  EXPECT_EQ(vertices.unit(), 0x1p-11);
  for (Eigen::Index j = 0; j < 3; ++j) EXPECT_EQ(vertices.vertex(j), triangle().col(j));
  EXPECT_EQ(scores(vertices, {1, -1}),
            (std::vector<std::int64_t>{20'480, 18'432, 24'576}));  // 2048 times 20 - 10, 20 - 11, 22 - 10
  EXPECT_EQ(vertices.score_factor(), 2048 * 32);                   // 10 + 22
  EXPECT_EQ(vertices.norm_l1_max(), 32.0);
  EXPECT_EQ(vertices.anchor(), Eigen::Vector2d(10.5, 21.0));  // the middle of 10 .. 11 and of 20 .. 22
  EXPECT_EQ(vertices.reach_l1(), 1.5);
  EXPECT_EQ(vertices.score_range(16), 32 * 2048 * 3);  // (11, 20) and (10, 22) are 3 apart: the place of 0 is no matter
}

TEST(VerticesTest, TheAnchorIsZeroWhereTheMiddleIsNoNearer) {
  // Of the simplex's vertices the middle is (1/2, 1/2, 1/2), 3/2 from each in l1, and 0 is 1.
  const Vertices vertices = Vertices::listed(Eigen::Matrix3d::Identity()).value();
  EXPECT_EQ(vertices.anchor(), Eigen::Vector3d::Zero());
  EXPECT_EQ(vertices.reach_l1(), 1.0);
  EXPECT_EQ(Vertices::of_l1_ball(3, 2.5).value().anchor(), Eigen::Vector3d::Zero());
  EXPECT_EQ(Vertices::of_l1_ball(3, 2.5).value().reach_l1(), 2.5);
}

TEST(VerticesTest, ListedOnesAreRoundedToTheNearest) {
  Eigen::MatrixXd columns(1, 2);
  columns << 1.0, 0.3;  // 1 is in [1, 2): step 2^-15
  const Vertices vertices = Vertices::listed(columns).value();
  EXPECT_EQ(vertices.vertex(0)[0], 1.0);
  EXPECT_EQ(vertices.vertex(1)[0], std::round(0.3 * 0x1p15) * 0x1p-15);
}

TEST(VerticesTest, AScaledVertexIsAdded) {
  for (const Vertices& vertices : {Vertices::of_l1_ball(2, 3.0).value(), Vertices::of_simplex(2, 3.0).value(),
                                   Vertices::listed(triangle()).value()}) {
    for (Eigen::Index j = 0; j < vertices.count(); ++j) {
      Eigen::VectorXd point = Eigen::Vector2d(1.0, -1.0);
      vertices.add_scaled(j, 0.5, point);
      EXPECT_EQ(point, Eigen::VectorXd(Eigen::Vector2d(1.0, -1.0) + 0.5 * vertices.vertex(j)));
    }
  }
}

TEST(VerticesTest, TheMinimiserHasTheHighestScore) {
  for (const Vertices& vertices : {Vertices::of_l1_ball(2, 3.0).value(), Vertices::of_simplex(2, 3.0).value(),
                                   Vertices::listed(triangle()).value()}) {
    for (std::int64_t a = -3; a <= 3; ++a) {
      for (std::int64_t b = -3; b <= 3; ++b) {
        const std::vector<std::int64_t> found = scores(vertices, {a, b});
        const Eigen::Vector2d gradient(static_cast<double>(a), static_cast<double>(b));
        const Eigen::Index best = vertices.minimiser(gradient);
        EXPECT_EQ(found[static_cast<std::size_t>(best)], *std::max_element(found.begin(), found.end()));
        for (Eigen::Index j = 0; j < vertices.count(); ++j) {
          EXPECT_EQ(-static_cast<double>(found[static_cast<std::size_t>(j)]) * vertices.unit(),
                    vertices.vertex(j).dot(gradient));
        }
      }
    }
  }
}

TEST(VerticesTest, ScoresAreExactAtTheEndsOfTheirRange) {
  const std::int64_t most = std::int64_t{1} << 62U;
  const Vertices ball = Vertices::of_l1_ball(2, 1.0).value();
  EXPECT_EQ(scores(ball, {most, -most}), (std::vector<std::int64_t>{-most, most, most, -most}));
  // Listed: 2^16 and -2^16 units in one vertex, so the factor is 2^17 and the sum may reach 2^45.
  Eigen::MatrixXd columns(2, 2);
  columns << 1.0, -1.0, -1.0, 1.0;
  const Vertices listed = Vertices::listed(columns * (2.0 - 0x1p-16)).value();
  ASSERT_EQ(listed.score_factor(), std::int64_t{1} << 17U);
  const std::int64_t end = std::int64_t{1} << 45U;
  EXPECT_EQ(scores(listed, {end, -end}), (std::vector<std::int64_t>{-most, most}));
  EXPECT_EQ(listed.score_range(listed.levels_max()), std::int64_t{1} << 49U);  // 2 * 2^30 * 2^18
}

TEST(VerticesTest, ASumThatTheScoresCannotHoldStopsTheProcess) {
  const Vertices ball = Vertices::of_l1_ball(1, 1.0).value();
  EXPECT_DEATH((void)scores(ball, {(std::int64_t{1} << 62U) + 1}), "");
  EXPECT_DEATH((void)ball.score_range(0), "");
  EXPECT_DEATH((void)ball.score_range(ball.levels_max() + 1), "");
}

TEST(VerticesTest, TheScoreRangeHoldsForEveryReplacementAndIsAttained) {
  // Records of levels 2 in R^2: 25 by 25 replacements, whose scores' differences move by the range at most.
  for (const Vertices& vertices : {Vertices::of_l1_ball(2, 3.0).value(), Vertices::of_simplex(2, 3.0).value(),
                                   Vertices::listed(triangle()).value()}) {
    std::int64_t largest = 0;
    for (int code = 0; code < 625; ++code) {
      const std::vector<std::int64_t> before = scores(vertices, {code % 5 - 2, code / 5 % 5 - 2});
      const std::vector<std::int64_t> after = scores(vertices, {code / 25 % 5 - 2, code / 125 - 2});
      for (std::size_t i = 0; i < before.size(); ++i) {
        for (std::size_t k = 0; k < before.size(); ++k) {
          largest = std::max(largest, std::abs((before[i] - before[k]) - (after[i] - after[k])));
        }
      }
    }
    EXPECT_EQ(largest, vertices.score_range(2));
  }
}

TEST(VerticesTest, RefusesBallsAndSimplicesThatAreNone) {
  for (const double size : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 1e101}) {
    EXPECT_FALSE(Vertices::of_l1_ball(2, size)) << size;
    EXPECT_FALSE(Vertices::of_simplex(2, size)) << size;
  }
  EXPECT_FALSE(Vertices::of_l1_ball(0, 1.0));
  EXPECT_FALSE(Vertices::of_simplex(1, 1.0));  // one point leaves nothing to choose
  EXPECT_FALSE(Vertices::of_l1_ball(Vertices::kDimensionMax + 1, 1.0));
  EXPECT_FALSE(Vertices::of_simplex(Vertices::kDimensionMax + 1, 1.0));
}

/// What `listed` says of a triangle with this number for the second coordinate of vertex 2.
std::string said_of(double value) {
  Eigen::MatrixXd columns = triangle();
  columns(1, 2) = value;
  const Result<Vertices> vertices = Vertices::listed(columns);
  return vertices ? "" : vertices.error().message;
}

TEST(VerticesTest, NamesTheListedVertexThatIsRefused) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, 1e101}) {
    EXPECT_NE(said_of(value).find("vertex 2: coordinate 1"), std::string::npos) << said_of(value);
  }
  EXPECT_NE(said_of(20.0).find("vertex 2 repeats vertex 0"), std::string::npos) << said_of(20.0);
  EXPECT_NE(said_of(20.0 + 1e-9).find("vertex 2 repeats vertex 0"), std::string::npos);  // equal once rounded
  EXPECT_EQ(said_of(21.0), "");
}

TEST(VerticesTest, RefusesListsOfTheWrongSize) {
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd(2, 0)));
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd(0, 2)));
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd::Ones(2, 1)));
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd::Zero(2, 2)));
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd::Ones(1, Vertices::kListedMax + 1)));
  EXPECT_FALSE(Vertices::listed(Eigen::MatrixXd::Identity(Vertices::kListedNumbersMax / 2 + 1, 2)));
  EXPECT_TRUE(Vertices::listed(Eigen::MatrixXd::Identity(Vertices::kListedNumbersMax / 2, 2)));
}

}  // namespace
}  // namespace undertone::geometry
