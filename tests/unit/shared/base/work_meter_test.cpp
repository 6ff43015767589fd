#include "shared/base/work_meter.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace undertone {
namespace {

TEST(WorkMeterTest, IsExhaustedByMoreThanItsMost) {
  WorkMeter meter(10);
  WorkMeter::charge(10);
  EXPECT_FALSE(meter.exhausted());
  EXPECT_FALSE(WorkMeter::stopped());
  WorkMeter::charge(1);
  EXPECT_TRUE(meter.exhausted());
  EXPECT_TRUE(WorkMeter::stopped());
}

TEST(WorkMeterTest, CountsWithEveryMeterOfItsThread) {
  WorkMeter outer(100);
  {
    WorkMeter inner(5);
    WorkMeter::charge(6);
    EXPECT_TRUE(inner.exhausted());
    EXPECT_TRUE(WorkMeter::stopped());
  }
  EXPECT_EQ(outer.done(), 6U);
  EXPECT_FALSE(WorkMeter::stopped());
}

TEST(WorkMeterTest, ASumBeyondSixtyFourBitsStaysExhausted) {
  WorkMeter meter(UINT64_MAX - 1);
  WorkMeter::charge(UINT64_MAX);
  WorkMeter::charge(UINT64_MAX);
  EXPECT_TRUE(meter.exhausted());
}

TEST(WorkMeterTest, StopsWhereItIsCancelled) {
  std::atomic<bool> cancelled = false;
  WorkMeter meter(10, &cancelled);
  EXPECT_FALSE(WorkMeter::stopped());
  cancelled = true;
  EXPECT_TRUE(WorkMeter::stopped());
  EXPECT_FALSE(meter.exhausted());
}

TEST(WorkMeterTest, IsOfItsThreadAlone) {
  WorkMeter meter(1);
  std::thread([] {
    WorkMeter::charge(100);
    EXPECT_FALSE(WorkMeter::stopped());
  }).join();
  EXPECT_EQ(meter.done(), 0U);
}

TEST(WorkMeterTest, WithoutAMeterNothingStops) {
  WorkMeter::charge(UINT64_MAX);
  EXPECT_FALSE(WorkMeter::stopped());
}

}  // namespace
}  // namespace undertone
