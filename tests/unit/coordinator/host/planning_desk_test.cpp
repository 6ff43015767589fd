#include "coordinator/host/planning_desk.hpp"

#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/preview/job_preview.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::coordinator {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

class PlanningDeskTest : public ::testing::Test {
 protected:
  static std::string job(int silos, double step_size = 0.5) {
    tests::SmallFederation federation;
    federation.silos = silos;
    federation.quorum = 1;
    federation.draw_fraction = 0.25;  // of different records each: every silo is planned for itself
    federation.step_size = step_size;
    return federation.job();
  }
  /// The same with promises that no job had before: a process remembers what it searched for others.
  static std::string fresh(const std::string& text) {
    static int made = 0;
    nlohmann::ordered_json out = nlohmann::ordered_json::parse(text);
    ++made;
    for (auto& member : out["cohort"]) member["delta"] = member["delta"].get<double>() * (1.0 - 1e-6 * made);
    return out.dump();
  }
  Result<ApiHooks::Submitted> on_planned(const std::string& who) {
    submitted_.push_back(who);
    return ApiHooks::Submitted{RunId{sha256(who), {}}, true};
  }
  /// Runs until as many jobs were submitted.
  void run_until(std::size_t count) {
    while (submitted_.size() < count && context_.run_one_for(std::chrono::seconds(60)) > 0) {
    }
    ASSERT_EQ(submitted_.size(), count);
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_ = asio::make_work_guard(context_);
  std::vector<std::string> submitted_;
  PlanningDesk desk_{context_, [this](const PlannedJob& /*planned*/, bool /*again*/, const std::string& who) {
                       return on_planned(who);
                     }};
};

TEST_F(PlanningDeskTest, APlanThatIsShownIsWhatTheCommandPrintsAndNothingIsSubmitted) {
  const auto shown = [&](const std::string& text) {
    const std::string id = desk_.enter(text, PlanningPurpose::Show, "alice").value();
    EXPECT_NE(desk_.enter(text, PlanningPurpose::Submit, "bob").value(), id);
    std::optional<PlanningDesk::Outcome> outcome;
    asio::co_spawn(context_, desk_.outcome(id, std::chrono::seconds(60)),
                   [&](const std::exception_ptr& /*failure*/, std::optional<PlanningDesk::Outcome> made) {
                     outcome = std::move(made);
                   });
    while (!outcome && context_.run_one_for(std::chrono::seconds(60)) > 0) {
    }
    return outcome.value();
  };
  const PlanningDesk::Outcome plan = shown(job(2));
  ASSERT_TRUE(plan);
  EXPECT_EQ(std::get<std::string>(*plan), preview::plan_of_job(job(2), "job").value());
  const PlanningDesk::Outcome refused = shown("{}");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/cohort"), std::string::npos);
  run_until(1);
  EXPECT_EQ(submitted_, std::vector<std::string>{"bob"});  // and not alice, who looked
}

TEST_F(PlanningDeskTest, ItsJobsHavePlans) {
  for (const int silos : {1, 2, 3, 5}) {
    const Result<PlannedJob> planned = PlannedJob::plan(job(silos), "job");
    EXPECT_TRUE(planned) << silos << ": " << (planned ? "" : planned.error().message);
  }
}

TEST_F(PlanningDeskTest, NobodyWaitsForAnothersLargeJob) {
  ASSERT_TRUE(desk_.enter(fresh(job(5)), PlanningPurpose::Submit, "alice"));
  ASSERT_TRUE(desk_.enter(fresh(job(1)), PlanningPurpose::Submit, "bob"));
  run_until(2);
  EXPECT_EQ(submitted_, (std::vector<std::string>{"bob", "alice"}));
}

TEST_F(PlanningDeskTest, AnOperatorsJobsArePlannedInTheirOrder) {
  const std::string first = desk_.enter(fresh(job(5)), PlanningPurpose::Submit, "alice").value();
  const std::string second = desk_.enter(fresh(job(2)), PlanningPurpose::Submit, "alice").value();
  EXPECT_NE(first, second);
  EXPECT_EQ(desk_.before(first), 0U);
  EXPECT_EQ(desk_.before(second), 1U);
  run_until(2);
}

TEST_F(PlanningDeskTest, TheSameTextIsPlannedOnceForAnOperator) {
  const std::string first = desk_.enter(job(3), PlanningPurpose::Submit, "alice").value();
  EXPECT_EQ(desk_.enter(job(3), PlanningPurpose::Submit, "alice").value(), first);
  EXPECT_NE(desk_.enter(job(3), PlanningPurpose::Submit, "bob").value(), first);
  run_until(2);
}

TEST_F(PlanningDeskTest, AnOperatorHasSixteenJobsPlannedAndAllHaveSixtyFour) {
  const auto enter = [&](int number, const std::string& who) {
    return desk_.enter(job(3, 0.01 * (number + 1)), PlanningPurpose::Submit, who).has_value();
  };
  int accepted = 0;
  for (int i = 0; i < 20; ++i) accepted += enter(i, "alice") ? 1 : 0;
  EXPECT_EQ(accepted, 16);
  for (int who = 0; who < 8; ++who)
    for (int i = 0; i < 16; ++i) accepted += enter(i, "operator-" + std::to_string(who)) ? 1 : 0;
  EXPECT_EQ(accepted, 64);
}

TEST_F(PlanningDeskTest, WhatIsGivenUpIsNotSubmitted) {
  const std::string large = desk_.enter(fresh(job(5)), PlanningPurpose::Submit, "alice").value();
  const std::string waiting = desk_.enter(job(2), PlanningPurpose::Submit, "alice").value();
  EXPECT_FALSE(desk_.cancel(large, "bob"));  // another's
  EXPECT_TRUE(desk_.cancel(large, "alice"));
  EXPECT_TRUE(desk_.knows(waiting));
  run_until(1);
  std::optional<PlanningDesk::Outcome> outcome;
  asio::co_spawn(context_, desk_.outcome(large, milliseconds(1)),
                 [&](const std::exception_ptr& /*none*/, std::optional<PlanningDesk::Outcome> made) {
                   outcome = std::move(made);
                 });
  while (!outcome && context_.run_one_for(std::chrono::seconds(60)) > 0) {
  }
  ASSERT_TRUE(outcome.has_value());
  ASSERT_FALSE(*outcome);
  EXPECT_EQ(outcome->error().code, ErrorCode::Cancelled);
  EXPECT_FALSE(desk_.cancel(large, "alice"));  // it is over
}

}  // namespace
}  // namespace undertone::coordinator
