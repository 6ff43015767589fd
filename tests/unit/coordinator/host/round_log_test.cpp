#include "coordinator/host/round_log.hpp"

#include <gtest/gtest.h>

namespace undertone::coordinator {
namespace {

using std::chrono::milliseconds;

RunId run_of(const char* text) { return {sha256(text), Nonce{}}; }

TEST(RoundLogTest, OfFastRoundsTheFirstEveryTenthAndTheLastHaveALine) {
  RoundLog log;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t round = 0; round < 25; ++round) {
    if (log.is_worth_a_line(run_of("a"), {round}, 25, TimePoint{} + milliseconds(10 * round))) lines.push_back(round);
  }
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{0, 9, 19, 24}));
}

TEST(RoundLogTest, ASlowRoundHasItsLineOnceASecondIsOver) {
  RoundLog log;
  const RunId run = run_of("a");
  EXPECT_TRUE(log.is_worth_a_line(run, {0}, 100, TimePoint{}));
  EXPECT_FALSE(log.is_worth_a_line(run, {1}, 100, TimePoint{} + milliseconds(999)));
  EXPECT_TRUE(log.is_worth_a_line(run, {2}, 100, TimePoint{} + milliseconds(1000)));
  EXPECT_FALSE(log.is_worth_a_line(run, {3}, 100, TimePoint{} + milliseconds(1999)));
}

TEST(RoundLogTest, RunsHaveTheirOwnLines) {
  RoundLog log;
  EXPECT_TRUE(log.is_worth_a_line(run_of("a"), {0}, 100, TimePoint{}));
  EXPECT_TRUE(log.is_worth_a_line(run_of("b"), {0}, 100, TimePoint{}));
  EXPECT_FALSE(log.is_worth_a_line(run_of("a"), {1}, 100, TimePoint{}));
  log.forget(run_of("a"));
  EXPECT_TRUE(log.is_worth_a_line(run_of("a"), {2}, 100, TimePoint{}));
}

}  // namespace
}  // namespace undertone::coordinator
