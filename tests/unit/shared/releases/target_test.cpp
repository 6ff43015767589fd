#include "shared/releases/target.hpp"

#include <gtest/gtest.h>

namespace undertone::releases {
namespace {

Epsilon epsilon(double value) { return Epsilon::create(value).value(); }
Delta delta(double value) { return Delta::create(value).value(); }

TEST(TargetTest, ALedgerCountsEveryKindAsAnEpsilonAndADelta) {
  const Target approximate = ApproximateDp{epsilon(1.0), delta(1e-5)};
  const Target pure = PureDp{epsilon(2.0)};
  const Target concentrated = ConcentratedDp{Rho::create(0.5).value(), delta(1e-6), epsilon(5.0)};
  EXPECT_EQ(epsilon_of(approximate).value(), 1.0);
  EXPECT_EQ(delta_of(approximate), 1e-5);
  EXPECT_EQ(epsilon_of(pure).value(), 2.0);
  EXPECT_EQ(delta_of(pure), 0.0);
  EXPECT_EQ(epsilon_of(concentrated).value(), 5.0);
  EXPECT_EQ(delta_of(concentrated), 1e-6);
}

TEST(TargetTest, ItIsSaidInWords) {
  EXPECT_EQ(to_string(ApproximateDp{epsilon(1.0), delta(1e-5)}), "epsilon 1, delta 1e-05");
  EXPECT_EQ(to_string(PureDp{epsilon(2.0)}), "epsilon 2, delta 0");
  EXPECT_EQ(to_string(ConcentratedDp{Rho::create(0.5).value(), delta(1e-6), epsilon(5.0)}),
            "rho 0.5: epsilon 5 at delta 1e-06");
}

}  // namespace
}  // namespace undertone::releases
