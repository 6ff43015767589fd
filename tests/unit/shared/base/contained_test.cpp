#include "shared/base/contained.hpp"

#include <gtest/gtest.h>
#include <new>

namespace undertone {
namespace {

Result<int> broken(int value) {
  UNDERTONE_CHECK(value < 3);
  return value;
}

TEST(ContainedTest, ABrokenInvariantIsAnErrorOfTheWorkThatItIsIn) {
  EXPECT_EQ(contained("the step", [] { return broken(2); }).value(), 2);
  const Result<int> failed = contained("the step", [] { return broken(3); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::Internal);
  EXPECT_NE(failed.error().message.find("the step failed within the program"), std::string::npos);
  EXPECT_NE(failed.error().message.find("value < 3"), std::string::npos);
}

TEST(ContainedTest, SoIsALackOfMemoryAndAnyException) {
  EXPECT_FALSE(contained("it", []() -> Status { throw std::bad_alloc(); }));
  EXPECT_FALSE(contained("it", []() -> Status { throw std::runtime_error("no"); }));
}

TEST(ContainedTest, AnErrorPassesAsItIs) {
  const Status failed = contained("it", []() -> Status { return Error{ErrorCode::Cancelled, "enough"}; });
  EXPECT_EQ(failed.error().code, ErrorCode::Cancelled);
}

TEST(ContainedDeathTest, OutsideOfItTheProcessStops) {
  (void)contained("it", [] { return broken(3); });
  EXPECT_FALSE(Containment::holds());
  EXPECT_DEATH((void)broken(3), "value < 3 does not hold");
}

}  // namespace
}  // namespace undertone
