#include "shared/base/line_budget.hpp"

#include <gtest/gtest.h>

namespace undertone {
namespace {

using std::chrono::milliseconds;

TEST(LineBudgetTest, LogsTenASecondAndThenSaysHowManyItLeftOut) {
  LineBudget budget;
  const std::chrono::steady_clock::time_point start{std::chrono::hours(1)};
  for (int i = 0; i < 500; ++i) {
    const LineBudget::Verdict verdict = budget.ask(start + milliseconds(i));
    EXPECT_EQ(verdict.log, i < 10);
    EXPECT_EQ(verdict.left_out, 0U);
  }
  const LineBudget::Verdict next = budget.ask(start + milliseconds(1000));
  EXPECT_TRUE(next.log);
  EXPECT_EQ(next.left_out, 490U);
  EXPECT_EQ(budget.ask(start + milliseconds(2500)).left_out, 0U);
}

}  // namespace
}  // namespace undertone
