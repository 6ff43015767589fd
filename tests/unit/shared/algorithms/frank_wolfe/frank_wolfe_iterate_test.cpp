#include "shared/algorithms/frank_wolfe/frank_wolfe_iterate.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/geometry/simplex_projection.hpp"

namespace undertone::algorithms {
namespace {

using geometry::Vertices;

FrankWolfeIterate iterate(std::uint64_t iterates, const Eigen::VectorXd& start) {
  return FrankWolfeIterate::create(Vertices::of_l1_ball(start.size(), 1.0).value(), iterates, start).value();
}

TEST(FrankWolfeIterateTest, StepsAreAsComputedByHand) {
  // l1 ball of R^2, vertices e_1, -e_1, e_2, -e_2. mu = 1, 2/3, 1/2.
  FrankWolfeIterate run = iterate(4, Eigen::Vector2d(0.25, 0.25));
  EXPECT_EQ(run.at(), 1U);
  ASSERT_TRUE(run.advance({{0, 5.0}}));
  EXPECT_EQ(run.point(), Eigen::VectorXd(Eigen::Vector2d(1.0, 0.0)));  // nothing of the start stays
  ASSERT_TRUE(run.advance({{3, 1.0}}));
  EXPECT_LT((run.point() - Eigen::Vector2d(1.0 / 3.0, -2.0 / 3.0)).norm(), 1e-15);
  ASSERT_TRUE(run.advance({{1, 3.0}, {2, 1.0}}));  // the mean vertex is (-3/4, 1/4)
  EXPECT_LT((run.point() - Eigen::Vector2d(1.0 / 6.0 - 0.375, -1.0 / 3.0 + 0.125)).norm(), 1e-15);
  EXPECT_TRUE(run.finished());
  EXPECT_FALSE(run.advance({{0, 1.0}}));
}

TEST(FrankWolfeIterateTest, OnlyTheSharesOfTheVotesMatter) {
  FrankWolfeIterate one = iterate(10, Eigen::Vector3d::Zero());
  FrankWolfeIterate other = iterate(10, Eigen::Vector3d::Zero());
  for (Eigen::Index t = 0; !one.finished(); ++t) {
    ASSERT_TRUE(one.advance({{t % 6, 1.0}, {(t + 1) % 6, 0.5}}));
    ASSERT_TRUE(other.advance({{(t + 1) % 6, 8.0}, {t % 6, 16.0}}));
  }
  EXPECT_EQ(one.point(), other.point());
}

TEST(FrankWolfeIterateTest, GoesOnFromASavedIterate) {
  FrankWolfeIterate whole = iterate(20, Eigen::Vector3d::Zero());
  const auto votes = [](std::uint64_t t) { return VertexTally{{static_cast<Eigen::Index>(t * t % 6), 1.0}}; };
  while (whole.at() < 9) ASSERT_TRUE(whole.advance(votes(whole.at())));
  FrankWolfeIterate restored =
      FrankWolfeIterate::create(whole.vertices(), whole.iterates(), whole.point(), whole.at()).value();
  while (!whole.finished()) ASSERT_TRUE(whole.advance(votes(whole.at())));
  while (!restored.finished()) ASSERT_TRUE(restored.advance(votes(restored.at())));
  EXPECT_EQ(restored.point(), whole.point());
}

TEST(FrankWolfeIterateTest, StaysInThePolytope) {
  FrankWolfeIterate run = iterate(5000, Eigen::VectorXd::Zero(7));
  for (std::uint64_t t = 1; !run.finished(); ++t) {
    const auto vertex = static_cast<Eigen::Index>(t * 2654435761U % 14);
    ASSERT_TRUE(run.advance({{vertex, 0.1}, {(vertex + 3) % 14, 0.7}}));
    ASSERT_LE(run.point().lpNorm<1>(), 1.0 + 1e-12);
  }
}

TEST(FrankWolfeIterateTest, RefusesVotesThatAreNoneAndStaysWhereItWas) {
  FrankWolfeIterate run = iterate(5, Eigen::Vector2d(0.5, 0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const VertexTally& votes : {VertexTally{}, VertexTally{{-1, 1.0}}, VertexTally{{4, 1.0}},
                                   VertexTally{{0, 1.0}, {1, 0.0}}, VertexTally{{0, -1.0}}, VertexTally{{0, nan}},
                                   VertexTally{{0, HUGE_VAL}}, VertexTally{{0, 1e308}, {1, 1e308}}}) {
    EXPECT_FALSE(run.advance(votes));
  }
  EXPECT_EQ(run.at(), 1U);
  EXPECT_EQ(run.point(), Eigen::VectorXd(Eigen::Vector2d(0.5, 0.0)));
}

TEST(FrankWolfeIterateTest, RefusesAStartThatIsNone) {
  const Vertices vertices = Vertices::of_l1_ball(2, 1.0).value();
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(2);
  EXPECT_TRUE(FrankWolfeIterate::create(vertices, 2, zero));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, 1, zero));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, FrankWolfeIterate::kIteratesMax + 1, zero));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, 5, zero, 0));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, 5, zero, 6));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, 5, Eigen::VectorXd::Zero(3)));
  EXPECT_FALSE(FrankWolfeIterate::create(vertices, 5, Eigen::Vector2d(0.0, std::numeric_limits<double>::infinity())));
}

TEST(FrankWolfeIterateTest, ReachesAKnownLassoAtItsRate) {
  // A full design {-1, 1}^d without noise has loss ||theta - w||^2 / 2, whose minimum over the l1 ball is at the
  // projection of w; Gamma = max ||a - b||^2 = 4. Exact selections have gap_T <= 2 Gamma/(T+1), Theorem 5.2.
  Eigen::MatrixXd targets(6, 2);  // inside the ball, and outside: that one's projection is (3/4, -1/4, 0, ...)
  targets.transpose() << 0.4, -0.3, 0.2, 0.0, 0.0, 0.0,  //
      2.0, -1.5, 0.1, 0.0, 0.0, 0.0;
  for (const Eigen::Index column : {0, 1}) {
    const Eigen::VectorXd w = targets.col(column);
    Eigen::VectorXd optimum = w;
    geometry::project_onto_l1_ball(1.0, optimum);
    const double least = 0.5 * (optimum - w).squaredNorm();
    FrankWolfeIterate run = iterate(2000, Eigen::VectorXd::Zero(6));
    while (!run.finished()) {
      const Eigen::VectorXd gradient = run.point() - w;
      ASSERT_TRUE(run.advance({{run.vertices().minimiser(gradient), 1.0}}));
      const double gap = 0.5 * (run.point() - w).squaredNorm() - least;
      ASSERT_LE(gap, 8.0 / (static_cast<double>(run.at()) + 1.0)) << run.at();
    }
    EXPECT_LT((run.point() - optimum).norm(), 0.05);
  }
}

TEST(FrankWolfeIterateTest, TheMeanOfVotesHasTheMeanOfTheirErrors) {
  // Silos of opposite gradients vote for opposite vertices, and the step goes nowhere: the floor that heterogeneity
  // sets, spec non-euclidean 3.2.
  FrankWolfeIterate run = iterate(3, Eigen::Vector3d::Zero());
  ASSERT_TRUE(run.advance({{0, 1.0}, {1, 1.0}}));
  EXPECT_EQ(run.point(), Eigen::VectorXd(Eigen::Vector3d::Zero()));
}

}  // namespace
}  // namespace undertone::algorithms
