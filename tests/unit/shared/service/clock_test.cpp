#include "shared/service/clock.hpp"

#include <gtest/gtest.h>

namespace undertone::service {
namespace {

// 2024-02-29 is 19782 days after 1970-01-01: 54 years of 365 days, 13 leap days before 2024, 31 + 28 days of 2024.
constexpr std::int64_t kLeapDay = std::int64_t{54 * 365 + 13 + 31 + 28} * 86400;

TEST(ClockTest, SaysTheSecondInUtc) {
  EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(kLeapDay + 3600 * 23 + 60 * 4 + 5), "2024-02-29T23:04:05Z");
}

TEST(ClockTest, SaysTheMinuteToPeople) {
  EXPECT_EQ(utc_minute(kLeapDay + 3600 * 9 + 60 * 7 + 59), "2024-02-29 09:07 UTC");
}

TEST(ClockTest, TheWallClockIsBeyondTheDayThisWasWritten) { EXPECT_GT(wall_clock(), kLeapDay); }

}  // namespace
}  // namespace undertone::service
