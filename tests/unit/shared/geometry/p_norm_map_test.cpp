#include "shared/geometry/p_norm_map.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/geometry/duality_map.hpp"

namespace undertone::geometry {
namespace {

/// Potentials of a power that was chosen; those of the setup's own are in mirror_map_test.
TEST(PNormMapTest, OfAPowerTakesItAsItIs) {
  // d = 64: the setup of l_1 has 1 + 1/6, and 1.1 is below that.
  const PNormMap map = PNormMap::of_power(1.0, 1.1, L1Ball{2.0}, 64).value();
  EXPECT_EQ(map.power(), 1.1);
  EXPECT_EQ(map.norm_exponent(), 1.0);
  EXPECT_EQ(map.diameter(), 4.0);
  EXPECT_NEAR(*map.divergence_max(), 20.0, 1e-12);                                 // 4/(2 0.1)
  EXPECT_NEAR(map.strong_convexity(), std::pow(64.0, -2.0 * (0.1 / 1.1)), 1e-15);  // 1 - 1/1.1 = 0.1/1.1
  EXPECT_EQ(PNormMap::create(1.0, L1Ball{2.0}, 64).value().power(), 1.0 + 1.0 / 6.0);
}

TEST(PNormMapTest, OfAPowerStepsAsItsPotentialDoes) {
  // d = 4, power 1.25, from 0 along -e_1: grad h(t e_1) = 4 t e_1, so a step of 2 ends at t = 1/2, in the l1 ball of
  // radius 1; a step of 8 at its boundary.
  const PNormMap map = PNormMap::of_power(1.0, 1.25, L1Ball{1.0}, 4).value();
  for (const auto& [step_size, expected] : {std::pair(2.0, 0.5), std::pair(8.0, 1.0)}) {
    Eigen::VectorXd state = map.start();
    map.step(-Eigen::VectorXd::Unit(4, 0), {step_size, 1.0}, state);
    Eigen::VectorXd point(4);
    map.point(state, point);
    EXPECT_NEAR((point - expected * Eigen::VectorXd::Unit(4, 0)).norm(), 0.0, 1e-12);
    EXPECT_TRUE(map.check_state(state));
  }
}

TEST(PNormMapTest, OfAPowerRefusesOneThatDoesNotFitTheNorm) {
  EXPECT_TRUE(PNormMap::of_power(1.5, 1.5, WholeSpace{}, 3));
  for (const double power : {1.0, 1.4, 2.5, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(PNormMap::of_power(1.5, power, WholeSpace{}, 3)) << power;
  for (const double norm : {0.9, 2.1, std::nan("")})
    EXPECT_FALSE(PNormMap::of_power(norm, 2.0, WholeSpace{}, 3)) << norm;
  for (const double radius : {0.0, -1.0, std::nan(""), 1e101})
    EXPECT_FALSE(PNormMap::of_power(1.0, 1.5, L1Ball{radius}, 3)) << radius;
}

}  // namespace
}  // namespace undertone::geometry
