#include "shared/base/remembered_searches.hpp"

#include <gtest/gtest.h>

namespace undertone {
namespace {

TEST(RememberedSearchesTest, ASearchThatIsRememberedChargesWhatTheFirstOneTook) {
  RememberedSearches<int, int> known(2);
  int searches = 0;
  const auto search = [&]() -> Result<int> {
    ++searches;
    WorkMeter::charge(7);
    return 42;
  };
  for (int time = 0; time < 3; ++time) {
    const WorkMeter meter(100);
    EXPECT_EQ(known.find(1, search).value(), 42);
    EXPECT_EQ(meter.done(), 7U);
  }
  EXPECT_EQ(searches, 1);
}

TEST(RememberedSearchesTest, AMeterRefusesARememberedSearchAsItRefusedTheFirstOne) {
  RememberedSearches<int, int> known(2);
  const auto search = []() -> Result<int> {
    WorkMeter::charge(7);
    return 42;
  };
  for (int time = 0; time < 3; ++time) {
    {
      const WorkMeter meter(6);
      EXPECT_FALSE(known.find(1, search).has_value());
      EXPECT_TRUE(meter.exhausted());
    }
    EXPECT_EQ(known.find(1, search).value(), 42);
  }
}

TEST(RememberedSearchesTest, WhatAStoppedSearchFoundIsNotRemembered) {
  RememberedSearches<int, int> known(2);
  const auto search = []() -> Result<int> {
    WorkMeter::charge(7);
    return WorkMeter::stopped() ? -1 : 42;
  };
  {
    const WorkMeter meter(6);
    EXPECT_FALSE(known.find(1, search).has_value());
  }
  EXPECT_EQ(known.find(1, search).value(), 42);
}

TEST(RememberedSearchesTest, ASearchWithinASearchIsChargedWhetherItIsRememberedOrNot) {
  RememberedSearches<int, int> inner(1);
  const auto once = [](int value) {
    return [value]() -> Result<int> {
      WorkMeter::charge(5);
      return value;
    };
  };
  const auto work_of_outer = [&](bool warm) {
    RememberedSearches<int, int> outer(1);
    if (warm) {
      EXPECT_EQ(inner.find(3, once(3)).value(), 3);
    }
    const WorkMeter meter(100);
    EXPECT_EQ(outer
                  .find(9,
                        [&]() -> Result<int> {
                          WorkMeter::charge(2);
                          return inner.find(3, once(3)).value() + inner.find(3, once(3)).value();
                        })
                  .value(),
              6);
    return meter.done();
  };
  EXPECT_EQ(work_of_outer(false), 12U);
  EXPECT_EQ(work_of_outer(true), 12U);
}

TEST(RememberedSearchesTest, TheOldestIsForgottenFirstAndAFailureIsNotRemembered) {
  RememberedSearches<int, int> known(2);
  int searches = 0;
  const auto search = [&]() -> Result<int> { return ++searches; };
  EXPECT_FALSE(known.find(1, []() -> Result<int> { return Error{ErrorCode::InvalidArgument, "none"}; }).has_value());
  EXPECT_EQ(known.find(1, search).value(), 1);
  EXPECT_EQ(known.find(2, search).value(), 2);
  EXPECT_EQ(known.find(3, search).value(), 3);  // forgets 1
  EXPECT_EQ(known.find(2, search).value(), 2);
  EXPECT_EQ(known.find(1, search).value(), 4);
}

}  // namespace
}  // namespace undertone
