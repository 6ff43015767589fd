#include "silo/agent/release_gate.hpp"

#include <gtest/gtest.h>
#include <random>

namespace undertone::silo {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using TimePoint = ReleaseGate::TimePoint;

TEST(ReleaseGateTest, AnswersLeaveAtMultiplesOfTheIntervalWhateverTheyTook) {
  std::mt19937_64 draw(5);
  for (const milliseconds interval : {milliseconds(1), milliseconds(5), milliseconds(50), milliseconds(6000)}) {
    ReleaseGate gate(interval);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      const TimePoint asked{microseconds(draw() % 1'000'000'000)};
      const TimePoint ready = asked + microseconds(draw() % 100'000);
      const TimePoint leaves = gate.leaves_at(asked, ready);
      ASSERT_GT(leaves, ready);
      ASSERT_EQ((leaves - asked) % interval, std::chrono::nanoseconds(0));
    }
  }
}

TEST(ReleaseGateTest, AnAnswerThatIsReadyJustBeforeAMultipleWaitsForTheNext) {
  ReleaseGate gate(milliseconds(80));
  const TimePoint asked{};
  EXPECT_EQ(gate.leaves_at(asked, asked + milliseconds(74)), asked + milliseconds(80));
  EXPECT_EQ(gate.leaves_at(asked, asked + milliseconds(76)), asked + milliseconds(160));
}

TEST(ReleaseGateTest, CountsTheAnswersThatOverran) {
  ReleaseGate gate(milliseconds(5));
  (void)gate.leaves_at({}, TimePoint(milliseconds(2)));
  EXPECT_EQ(gate.overruns(), 0U);
  EXPECT_EQ(gate.leaves_at({}, TimePoint(milliseconds(7))), TimePoint(milliseconds(10)));
  EXPECT_EQ(gate.leaves_at({}, TimePoint(milliseconds(4'000))), TimePoint(milliseconds(4'005)));
  EXPECT_EQ(gate.overruns(), 2U);
}

// A shuffler that delays its Welcome would otherwise learn when an answer of another job was ready.
TEST(ReleaseGateTest, AShufflerThatComesWhileAnAnswerIsComputedOrHeldIsServedWhenItLeaves) {
  ReleaseGate gate(milliseconds(50));
  EXPECT_TRUE(gate.serve_now("mixer"));
  gate.close();
  EXPECT_FALSE(gate.serve_now("mixer"));
  (void)gate.leaves_at({}, TimePoint(milliseconds(20)));
  EXPECT_FALSE(gate.serve_now("adder"));  // computed, and not left yet
  EXPECT_EQ(gate.open(), (std::set<std::string>{"adder", "mixer"}));
  EXPECT_TRUE(gate.serve_now("mixer"));
  EXPECT_TRUE(gate.open().empty());
}

}  // namespace
}  // namespace undertone::silo
