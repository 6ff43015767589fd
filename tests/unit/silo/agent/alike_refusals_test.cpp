#include "silo/agent/alike_refusals.hpp"

#include <gtest/gtest.h>

namespace undertone::silo {
namespace {

TEST(AlikeRefusalsTest, OfThousandsInAMinuteAFewAreNotedAndTheOthersCounted) {
  AlikeRefusals alike;
  std::uint64_t noted = 0;
  for (int i = 0; i < 3000; ++i) noted += alike.worth_noting(ObjectionKind::Policy, 600 + i / 100).has_value() ? 1 : 0;
  EXPECT_EQ(noted, AlikeRefusals::kNotedAMinute);
  EXPECT_EQ(alike.worth_noting(ObjectionKind::Policy, 700), 3000 - AlikeRefusals::kNotedAMinute);
  EXPECT_EQ(alike.worth_noting(ObjectionKind::Policy, 701), 0U);
}

TEST(AlikeRefusalsTest, AnotherKindIsNotedForItself) {
  AlikeRefusals alike;
  for (int i = 0; i < 100; ++i) (void)alike.worth_noting(ObjectionKind::Job, 60);
  EXPECT_EQ(alike.worth_noting(ObjectionKind::Budget, 60), 0U);
}

}  // namespace
}  // namespace undertone::silo
