#include "shared/releases/cost.hpp"

#include <gtest/gtest.h>

namespace undertone::releases {
namespace {

Cost cost(std::uint64_t gaussian, std::uint64_t pure, std::uint64_t ranged) {
  return {ShiftSquaredAmount::from_units(gaussian), EpsilonAmount::from_units(pure), EpsilonAmount::from_units(ranged)};
}

TEST(CostTest, NothingIsTheCostOfPublicRecordsAlone) {
  EXPECT_TRUE(Cost{}.is_zero());
  EXPECT_FALSE(cost(1, 0, 0).is_zero());
  EXPECT_FALSE(cost(0, 1, 0).is_zero());
  EXPECT_FALSE(cost(0, 0, 1).is_zero());
}

TEST(CostTest, EachLawAddsUpForItself) {
  EXPECT_EQ(cost(1, 2, 3).plus(cost(10, 20, 30)).value(), cost(11, 22, 33));
  EXPECT_EQ(cost(1, 2, 3).times(7).value(), cost(7, 14, 21));
}

TEST(CostTest, ItFitsWhereEveryLawDoes) {
  EXPECT_TRUE(cost(1, 2, 3).fits(cost(1, 2, 3)));
  EXPECT_FALSE(cost(2, 2, 3).fits(cost(1, 2, 3)));
  EXPECT_FALSE(cost(1, 3, 3).fits(cost(1, 2, 3)));
  EXPECT_FALSE(cost(1, 2, 4).fits(cost(1, 2, 3)));
  // What is left of one law pays for no other.
  EXPECT_FALSE(cost(0, 1, 0).fits(cost(100, 0, 100)));
}

TEST(CostTest, AnOverflowIsRefused) {
  Cost most;
  most.pure = EpsilonAmount::from_units(~UInt128{0});
  EXPECT_FALSE(most.plus(cost(0, 1, 0)));
  EXPECT_FALSE(most.times(2));
  EXPECT_TRUE(most.plus(cost(1, 0, 1)));
}

TEST(CostTest, ItsTextIsReadBack) {
  for (const Cost& one : {Cost{}, cost(5, 0, 0), cost(0, 5, 0), cost(0, 0, 5), cost(1, 2, 3), cost(7, 0, 9)}) {
    SCOPED_TRACE(one.to_string());
    EXPECT_EQ(Cost::parse(one.to_string()).value(), one);
  }
  EXPECT_EQ(cost(123, 0, 0).to_string(), "gaussian:123");
  EXPECT_EQ(cost(0, 5, 7).to_string(), "pure:5+ranged:7");
  EXPECT_EQ(Cost{}.to_string(), "0");
}

TEST(CostTest, ABareNumberIsOfGaussianReleases) { EXPECT_EQ(Cost::parse("123").value(), cost(123, 0, 0)); }

TEST(CostTest, ACostHasOneSpelling) {
  for (const char* text : {"",
                           "+",
                           "gaussian",
                           "gaussian:",
                           "gaussian:0",
                           "gaussian:01",
                           "gaussian:-1",
                           "pure:1+",
                           "+pure:1",
                           "pure:1++ranged:2",
                           "ranged:1+pure:2",
                           "pure:1+pure:2",
                           "gaussian:1,pure:2",
                           "laplace:1",
                           "Pure:1",
                           "pure:1 ",
                           "pure: 1",
                           "pure:1+ranged",
                           "1+pure:2",
                           "pure:340282366920938463463374607431768211456"}) {
    EXPECT_FALSE(Cost::parse(text)) << text;
  }
}

}  // namespace
}  // namespace undertone::releases
