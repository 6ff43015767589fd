#include "coordinator/host/work_marks.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace undertone::coordinator {
namespace {

class WorkMarksTest : public ::testing::Test {
 protected:
  /// A process that begins the step and dies of it.
  void die_at(std::uint64_t step) { WorkMarks(folder_.path() / "marks").begin(run_, {step}); }
  std::size_t set_aside() { return WorkMarks(folder_.path() / "marks").set_aside().size(); }

  tests::TemporaryFolder folder_;
  RunId run_{sha256("job"), {1}};
};

TEST_F(WorkMarksTest, ARunThatAProcessDiedOverThreeTimesAtOneStepIsSetAside) {
  die_at(4);
  die_at(4);
  EXPECT_TRUE(WorkMarks(folder_.path() / "marks").set_aside().empty());  // which is the second look, and no third death
}

TEST_F(WorkMarksTest, ThreeDeathsAtOneStepAreEnough) {
  for (int i = 0; i < 3; ++i) die_at(4);
  const WorkMarks marks(folder_.path() / "marks");
  ASSERT_EQ(marks.set_aside().size(), 1U);
  EXPECT_EQ(marks.set_aside().at(run_), RoundIndex{4});
}

TEST_F(WorkMarksTest, ProgressBetweenDeathsIsNoFault) {
  for (std::uint64_t step = 0; step < 6; ++step) die_at(step);
  EXPECT_EQ(set_aside(), 0U);
}

TEST_F(WorkMarksTest, WorkThatEndedAndAProcessThatStoppedInOrderLeaveNoMark) {
  for (int i = 0; i < 5; ++i) {
    WorkMarks marks(folder_.path() / "marks");
    marks.begin(run_, {1});
    marks.end(run_);
  }
  for (int i = 0; i < 5; ++i) {
    WorkMarks marks(folder_.path() / "marks");
    marks.begin(run_, {2});
    marks.forget_all();
  }
  EXPECT_EQ(set_aside(), 0U);
}

}  // namespace
}  // namespace undertone::coordinator
