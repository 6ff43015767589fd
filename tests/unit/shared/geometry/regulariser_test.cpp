#include "shared/geometry/regulariser.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "tests/support/convex_sets.hpp"

namespace undertone::geometry {
namespace {

Eigen::VectorXd prox(const Regulariser& regulariser, double step_size, Eigen::VectorXd w) {
  regulariser.prox(step_size, w);
  return w;
}

TEST(RegulariserTest, ValuesAreAsComputedByHand) {
  Eigen::VectorXd w(5);
  w << 3.0, -4.0, 0.0, 2.0, 100.0;  // the last is an intercept
  EXPECT_EQ(Regulariser::none().value(w), 0.0);
  EXPECT_EQ(Regulariser::l1(0.5, 4)->value(w), 4.5);
  EXPECT_EQ(Regulariser::squared_l2(2.0, 4)->value(w), 29.0);                              // 9 + 16 + 4
  EXPECT_EQ(Regulariser::elastic_net(0.5, 2.0, 4)->value(w), 33.5);                        // their sum
  EXPECT_DOUBLE_EQ(Regulariser::group_lasso(3.0, 2, 4)->value(w), 21.0 * std::sqrt(2.0));  // 3 sqrt(2) (5 + 2)
}

TEST(RegulariserTest, ProxIsAsComputedByHand) {
  const Eigen::Vector3d w(3.0, -0.5, 10.0);  // step size 1/2 throughout
  EXPECT_EQ(prox(Regulariser::none(), 0.5, w), w);
  EXPECT_EQ(prox(Regulariser::l1(2.0, 2).value(), 0.5, w), Eigen::Vector3d(2.0, 0.0, 10.0));
  EXPECT_EQ(prox(Regulariser::squared_l2(2.0, 2).value(), 0.5, w), Eigen::Vector3d(1.5, -0.25, 10.0));
  EXPECT_EQ(prox(Regulariser::elastic_net(2.0, 2.0, 2).value(), 0.5, w), Eigen::Vector3d(1.0, 0.0, 10.0));
  // Group of four, weight sqrt(4): norm 4, threshold 1/2 * 1 * 2 = 1.
  Eigen::VectorXd group(5);
  group << 2.0, -2.0, 2.0, 2.0, 10.0;
  Eigen::VectorXd shrunk(5);
  shrunk << 1.5, -1.5, 1.5, 1.5, 10.0;
  EXPECT_EQ(prox(Regulariser::group_lasso(1.0, 4, 4).value(), 0.5, group), shrunk);
  EXPECT_EQ(prox(Regulariser::group_lasso(4.0, 4, 4).value(), 0.5, group).head(4), Eigen::Vector4d::Zero());
}

TEST(RegulariserTest, GroupsOfOneAreTheL1Norm) {
  const Regulariser groups = Regulariser::group_lasso(2.0, 1, 3).value();
  EXPECT_EQ(groups.l1(), 2.0);
  EXPECT_EQ(groups.group(), 0.0);
}

TEST(RegulariserTest, TheSmoothGradientIsAddedToTheRegularisedCoordinates) {
  const Eigen::Vector3d w(1.0, -2.0, 7.0);
  const auto gradient = [&](const Regulariser& regulariser) {
    Eigen::VectorXd out = Eigen::Vector3d(1.0, 1.0, 1.0);
    regulariser.add_smooth_gradient(w, out);
    return out;
  };
  EXPECT_EQ(gradient(Regulariser::squared_l2(0.5, 2).value()), Eigen::Vector3d(1.5, 0.0, 1.0));
  EXPECT_EQ(gradient(Regulariser::elastic_net(9.0, 0.5, 2).value()), Eigen::Vector3d(1.5, 0.0, 1.0));
  EXPECT_EQ(gradient(Regulariser::l1(9.0, 2).value()), Eigen::Vector3d(1.0, 1.0, 1.0));
}

TEST(RegulariserTest, WithoutItsL2PartOnlyTheRestRemains) {
  EXPECT_EQ(Regulariser::elastic_net(9.0, 0.5, 2)->without_l2().l1(), 9.0);
  EXPECT_EQ(Regulariser::elastic_net(9.0, 0.5, 2)->without_l2().l2(), 0.0);
  EXPECT_EQ(Regulariser::squared_l2(0.5, 2)->without_l2().regularised(), 0);
  EXPECT_EQ(Regulariser::group_lasso(0.5, 2, 2)->without_l2().group(), 0.5);
}

TEST(RegulariserTest, SmoothnessAndStrongConvexityAreThoseOfTheWholeSpace) {
  EXPECT_TRUE(Regulariser::none().is_smooth());
  EXPECT_TRUE(Regulariser::squared_l2(0.5, 2)->is_smooth());
  EXPECT_FALSE(Regulariser::l1(0.5, 2)->is_smooth());
  EXPECT_FALSE(Regulariser::elastic_net(0.5, 0.5, 2)->is_smooth());
  EXPECT_FALSE(Regulariser::group_lasso(0.5, 2, 2)->is_smooth());
  EXPECT_EQ(Regulariser::squared_l2(0.5, 2)->strong_convexity(2), 0.5);
  EXPECT_EQ(Regulariser::elastic_net(9.0, 0.5, 2)->strong_convexity(2), 0.5);
  EXPECT_EQ(Regulariser::squared_l2(0.5, 2)->strong_convexity(3), 0.0);  // flat along the intercept
  EXPECT_EQ(Regulariser::l1(0.5, 2)->strong_convexity(2), 0.0);
}

TEST(RegulariserTest, ExtremesNeitherOverflowNorTurnIntoNaN) {
  const Eigen::Vector3d w(1e300, -1e-310, 1e300);
  for (const double step_size : {1e-300, 1.0, 1e100}) {
    for (const auto& regulariser :
         {Regulariser::l1(1e100, 3).value(), Regulariser::elastic_net(1e100, 1e100, 3).value(),
          Regulariser::squared_l2(1e-320, 3).value(), Regulariser::group_lasso(1e100, 3, 3).value()}) {
      const Eigen::VectorXd out = prox(regulariser, step_size, w);
      EXPECT_TRUE(out.allFinite());
      EXPECT_LE(out.stableNorm(), w.stableNorm());
    }
  }
}

TEST(RegulariserTest, ParametersOutOfRangeAreRefused) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL, 1.1e100}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(Regulariser::l1(bad, 2));
    EXPECT_FALSE(Regulariser::squared_l2(bad, 2));
    EXPECT_FALSE(Regulariser::elastic_net(bad, 1.0, 2));
    EXPECT_FALSE(Regulariser::elastic_net(1.0, bad, 2));
    EXPECT_FALSE(Regulariser::group_lasso(bad, 2, 2));
  }
  for (const Eigen::Index bad : {0, -1}) {
    EXPECT_FALSE(Regulariser::l1(1.0, bad));
    EXPECT_FALSE(Regulariser::squared_l2(1.0, bad));
    EXPECT_FALSE(Regulariser::elastic_net(1.0, 1.0, bad));
    EXPECT_FALSE(Regulariser::group_lasso(1.0, 2, bad));
    EXPECT_FALSE(Regulariser::group_lasso(1.0, bad, 2));
  }
  EXPECT_EQ(Regulariser::group_lasso(1.0, 3, 4).error().message,
            "the groups of the group lasso must be of a size >= 1 that divides 4 coordinates, got 3");
}

TEST(RegulariserDeathTest, AStepSizeOutOfRangeStopsTheProcess) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_DEATH(prox(Regulariser::none(), bad, Eigen::Vector2d(0, 0)), "step size");
  }
}

}  // namespace
}  // namespace undertone::geometry
