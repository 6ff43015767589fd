#include "shared/base/remembered_searches.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <thread>
#include <vector>

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

TEST(RememberedSearchesTest, ThreadsThatAskForTheSameAtOnceSearchOnceAndAreAllCharged) {
  constexpr int kThreads = 4;
  RememberedSearches<int, int> known(2);
  std::atomic<int> searches = 0;
  std::latch all_there(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      all_there.arrive_and_wait();
      const WorkMeter meter(100);
      EXPECT_EQ(known
                    .find(1,
                          [&]() -> Result<int> {
                            ++searches;
                            WorkMeter::charge(7);
                            return 42;
                          })
                    .value(),
                42);
      EXPECT_EQ(meter.done(), 7U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(searches, 1);
}

TEST(RememberedSearchesTest, WhoWaitsForASearchThatFailsSearchesItself) {
  RememberedSearches<int, int> known(2);
  std::latch begun(1);
  std::latch go_on(1);
  std::thread first([&] {
    EXPECT_FALSE(known
                     .find(1,
                           [&]() -> Result<int> {
                             begun.count_down();
                             go_on.wait();
                             return Error{ErrorCode::InvalidArgument, "none"};
                           })
                     .has_value());
  });
  begun.wait();
  std::thread second([&] { EXPECT_EQ(known.find(1, []() -> Result<int> { return 42; }).value(), 42); });
  // Another key is not held up, whatever is under way.
  EXPECT_EQ(known.find(2, []() -> Result<int> { return 5; }).value(), 5);
  go_on.count_down();
  first.join();
  second.join();
}

TEST(RememberedSearchesTest, WhoIsCancelledWhileItWaitsWaitsNoLonger) {
  RememberedSearches<int, int> known(2);
  std::latch begun(1);
  std::latch go_on(1);
  std::thread first([&] {
    EXPECT_EQ(known
                  .find(1,
                        [&]() -> Result<int> {
                          begun.count_down();
                          go_on.wait();
                          return 42;
                        })
                  .value(),
              42);
  });
  begun.wait();
  std::atomic<bool> cancelled = false;
  std::thread second([&] {
    const WorkMeter meter(100, &cancelled);
    EXPECT_FALSE(known.find(1, []() -> Result<int> { return 0; }).has_value());
  });
  cancelled = true;
  second.join();  // while the first one still searches
  go_on.count_down();
  first.join();
}

}  // namespace
}  // namespace undertone
