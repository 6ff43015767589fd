#include <gtest/gtest.h>

#include "shared/base/contained.hpp"
#include "tests/support/run_at_hand.hpp"

namespace undertone::coordinator {
namespace {

using tests::RunAtHand;

enum class Step { Start, Advance, Save, Restore };

struct Break {
  std::string name;
  Step step;
  int calls_before;  // of that step, which go well
};

/// An algorithm that finds an invariant broken at one of its calls.
class BreakingAlgorithm final : public algorithms::FederatedAlgorithm {
 public:
  BreakingAlgorithm(std::unique_ptr<algorithms::FederatedAlgorithm> inner, Step step, std::shared_ptr<int> left)
      : inner_(std::move(inner)), step_(step), left_(std::move(left)) {}

  [[nodiscard]] algorithms::Step start() override {
    meet(Step::Start);
    return inner_->start();
  }
  [[nodiscard]] Result<algorithms::Step> advance(const folds::Gathered& gathered) override {
    meet(Step::Advance);
    return inner_->advance(gathered);
  }
  [[nodiscard]] Eigen::VectorXd candidate() const override { return inner_->candidate(); }
  [[nodiscard]] std::vector<algorithms::MetricsRow> metrics() const override { return inner_->metrics(); }
  void save(ByteWriter& state) const override {
    meet(Step::Save);
    inner_->save(state);
  }
  [[nodiscard]] Status restore(ByteReader& state) override {
    meet(Step::Restore);
    return inner_->restore(state);
  }

 private:
  void meet(Step step) const {
    if (step == step_) UNDERTONE_CHECK(--*left_ >= 0);
  }

  std::unique_ptr<algorithms::FederatedAlgorithm> inner_;
  Step step_;
  std::shared_ptr<int> left_;  // calls that go well, over all objects of the run
};

class BrokenRunTest : public testing::TestWithParam<Break> {};

/// The process goes on: were the break not contained, this test would die with it.
TEST_P(BrokenRunTest, AnAlgorithmThatBreaksEndsItsRunAndNotTheProcess) {
  const auto left = std::make_shared<int>(GetParam().calls_before);
  RunAtHand run(tests::plain_job(), [left](const jobs::Job& job) {
    return std::make_unique<BreakingAlgorithm>(jobs::make_algorithm(job), GetParam().step, left);
  });
  run.begin();
  for (int round = 0; round < 3 && run.state() == RunState::Running; ++round) {
    (void)run.boot();  // a coordinator that is restarted in every round
    for (int i = 0; i < 3; ++i) (void)run.connect(i);
    for (int i = 0; i < 3 && run.state() == RunState::Running; ++i) (void)run.answer(i);
  }
  EXPECT_EQ(run.state(), RunState::Failed);
  EXPECT_NE(run.failure().find("failed within the program"), std::string::npos) << run.failure();
  EXPECT_EQ(*left, -1);  // nothing of it was called again
  // Whoever comes later hears that the run has ended.
  EXPECT_EQ(run.connect(0), "silo-0<job_ended");
  EXPECT_EQ(run.boot().find("<query"), std::string::npos);
}

/// What was saved by an earlier version, or is damaged, is one run's alone, also after its end.
TEST(EndedRunTest, AnOutcomeThatCannotBeReadAgainIsSaidAndSilosStillHearOfTheEnd) {
  for (const Step step : {Step::Restore, Step::Start}) {
    const auto left = std::make_shared<int>(1 << 20);
    RunAtHand run(tests::plain_job(), [&](const jobs::Job& job) {
      return std::make_unique<BreakingAlgorithm>(jobs::make_algorithm(job), step, left);
    });
    run.begin();
    while (run.state() == RunState::Running) {
      for (int i = 0; i < 3; ++i) (void)run.answer(i);
    }
    ASSERT_EQ(run.state(), RunState::Succeeded);
    *left = 0;
    EXPECT_EQ(run.boot(), "run_started | outcome_unreadable");
    EXPECT_EQ(run.connect(1), "silo-1<job_ended");
  }
}

TEST(EndedRunTest, ARunThatFailedSaysSoAgainThoughItsAlgorithmCannotBeRestored) {
  const auto left = std::make_shared<int>(0);
  RunAtHand run(tests::plain_job(), [&](const jobs::Job& job) {
    return std::make_unique<BreakingAlgorithm>(jobs::make_algorithm(job), Step::Restore, left);
  });
  run.begin();
  (void)run.cancel();
  EXPECT_EQ(run.boot(), "run_started | ended: enough");
}

INSTANTIATE_TEST_SUITE_P(Calls, BrokenRunTest,
                         testing::Values(Break{"FirstQuery", Step::Start, 0}, Break{"FirstRound", Step::Start, 1},
                                         Break{"RoundAfterRestart", Step::Start, 2},
                                         Break{"LaterRound", Step::Start, 3}, Break{"FirstAdvance", Step::Advance, 0},
                                         Break{"LastAdvance", Step::Advance, 2}, Break{"FirstSave", Step::Save, 0},
                                         Break{"LaterSave", Step::Save, 2}, Break{"Restore", Step::Restore, 0}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace undertone::coordinator
