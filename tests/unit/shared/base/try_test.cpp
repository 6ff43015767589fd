#include <gtest/gtest.h>
#include <memory>

#include "shared/base/result.hpp"

namespace undertone {
namespace {

Status refused() { return Error{ErrorCode::PolicyRefused, "no"}; }

Result<int> after(const Status& first, int& evaluated) {
  UNDERTONE_TRY((++evaluated, first));
  return 3;
}

Result<std::unique_ptr<int>> doubled(Result<std::unique_ptr<int>> number) {
  UNDERTONE_TRY(number);
  **number *= 2;
  return number;
}

TEST(TryTest, PassesTheErrorOnAndEvaluatesOnce) {
  int evaluated = 0;
  const Result<int> out = after(refused(), evaluated);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::PolicyRefused);
  EXPECT_EQ(out.error().message, "no");
  EXPECT_EQ(evaluated, 1);
}

TEST(TryTest, GoesOnWithoutAnError) {
  int evaluated = 0;
  EXPECT_EQ(after(Status(), evaluated).value(), 3);
  EXPECT_EQ(evaluated, 1);
}

TEST(TryTest, LeavesTheValueWhereItIs) {
  EXPECT_EQ(**doubled(std::make_unique<int>(4)), 8);
  EXPECT_FALSE(doubled(Error{ErrorCode::Internal, "none"}));
}

}  // namespace
}  // namespace undertone
