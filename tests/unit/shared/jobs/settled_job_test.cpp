#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <thread>

#include "shared/base/work_meter.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

std::vector<std::string> jobs_of_statistics() {
  std::vector<tests::SmallFederation> federations = tests::federations_of_vectors();
  federations.push_back(tests::federation_of_reports());
  federations.push_back(tests::federation_of_functions());
  federations.push_back(tests::federation_of_choices());
  tests::SmallFederation open;
  open.statistics = R"({"questions":[
    {"kind":"marginals","columns":["y"],"width":1},{"kind":"kernels","columns":["x0","x1"]},
    {"kind":"loss","columns":["x2"],"response":"y"},{"kind":"mean","column":"x0"}]})";
  federations.push_back(open);
  std::vector<std::string> out;
  out.reserve(federations.size());
  for (const tests::SmallFederation& federation : federations) out.push_back(federation.job());
  return out;
}

TEST(SettledJobTest, WhatWasChosenIsReadBackAndGivesTheSamePlans) {
  for (const std::string& text : jobs_of_statistics()) {
    SCOPED_TRACE(text);
    const Job settled = parse_job(text, "job").value();
    const std::string choices = settled_choices(settled);
    ASSERT_FALSE(choices.empty());
    WorkMeter meter(0);  // nothing is chosen again
    const Job again = read_job(text, "job").value().settled_as(choices).value();
    EXPECT_FALSE(meter.exhausted());
    EXPECT_EQ(settled_choices(again), choices);
  }
  for (const std::string& text : jobs_of_statistics()) {
    const Job settled = parse_job(text, "job").value();
    const Job again = read_job(text, "job").value().settled_as(settled_choices(settled)).value();
    for (const CohortMember& member : settled.cohort)
      EXPECT_EQ(planning::plan_digest(plan_of(settled, member).value()),
                planning::plan_digest(plan_of(again, member).value()));
  }
}

TEST(SettledJobTest, DamagedChoicesAndThoseOfAnotherJobAreRefused) {
  const std::vector<std::string> texts = jobs_of_statistics();
  const std::string choices = settled_choices(parse_job(texts.back(), "job").value());
  const auto read = [&](const std::string& bytes) { return read_job(texts.back(), "job").value().settled_as(bytes); };
  ASSERT_TRUE(read(choices));
  for (std::size_t size = 0; size < choices.size(); ++size) EXPECT_FALSE(read(choices.substr(0, size))) << size;
  EXPECT_FALSE(read(choices + "x"));
  EXPECT_FALSE(read(settled_choices(parse_job(texts.front(), "job").value())));
}

TEST(SettledJobTest, AJobOfAModelLeavesNothingOpen) {
  const std::string text = tests::SmallFederation{}.job();
  EXPECT_EQ(settled_choices(parse_job(text, "job").value()), "");
  EXPECT_TRUE(read_job(text, "job").value().settled_as(""));
}

/// A legal job whose functions are chosen for so many silos of different promises.
std::string many_silos(std::size_t silos, std::size_t questions) {
  nlohmann::json job = nlohmann::json::parse(jobs_of_statistics().back());
  nlohmann::json asked = nlohmann::json::array();
  for (std::size_t q = 0; q < questions; ++q)
    asked.push_back({{"kind", "loss"},
                     {"columns", {"x" + std::to_string(q % 4)}},
                     {"response", "y"},
                     {"parameter_bound", 1.0 + 0.01 * static_cast<double>(q)}});
  job["statistics"]["questions"] = asked;
  const nlohmann::json one = job["cohort"][0];
  job["cohort"] = nlohmann::json::array();
  for (std::size_t i = 0; i < silos; ++i) {
    nlohmann::json silo = one;
    silo["silo"] = "silo-" + std::to_string(i);
    silo["epsilon"] = 1.0 + 1e-6 * static_cast<double>(i);
    job["cohort"].push_back(silo);
  }
  return job.dump();
}

// 40 silos and four such questions once took 25 s of the thread that serves every session.
TEST(SettledJobTest, ReadingChoosesNothingHoweverManySilosThereAre) {
  const std::string text = many_silos(5'000, 16);
  ASSERT_LT(text.size(), kJobBytesMax);
  WorkMeter meter(UINT64_MAX);
  ASSERT_TRUE(read_job(text, "job"));
  EXPECT_EQ(meter.done(), 0U);
}

TEST(SettledJobTest, SettlingIsBoundedWhateverAJobSays) {
  WorkMeter small(UINT64_MAX);
  ASSERT_TRUE(parse_job(many_silos(40, 4), "job"));
  EXPECT_LT(small.done(), kSettleWorkMax / 4);
  const std::string text = many_silos(5'000, 16);
  WorkMeter large(UINT64_MAX);
  const Result<Job> settled = parse_job(text, "job");
  // What one step takes beyond the budget before it is looked at again is little.
  EXPECT_LT(large.done(), kSettleWorkMax + kSettleWorkMax / 4);
  EXPECT_TRUE(settled || settled.error().code == ErrorCode::LimitExceeded);
}

TEST(SettledJobTest, APlanOfATinyEpsilonIsRefusedWithTheNumber) {
  tests::SmallFederation federation;
  federation.draw_fraction = 0.5;
  nlohmann::json job = nlohmann::json::parse(federation.job());
  for (nlohmann::json& silo : job["cohort"]) silo["epsilon"] = 1e-9;
  const Job parsed = parse_job(job.dump(), "job").value();
  WorkMeter meter(std::uint64_t{1} << 22U);  // less than a plan may take: the test is of the way out
  const Result<planning::Plan> plan = plan_of(parsed, parsed.cohort.front());
  EXPECT_FALSE(plan);
  EXPECT_LT(meter.done(), std::uint64_t{1} << 25U);
}

// Otherwise a coordinator that remembers a search of an earlier job accepts a job, and an agent that remembers nothing
// refuses the same job.
TEST(SettledJobTest, WhatAPlanTakesDoesNotDependOnWhatItsThreadPlannedBefore) {
  tests::SmallFederation federation;
  federation.draw_fraction = 0.5;
  const Job job = parse_job(federation.job(), "job").value();
  const auto work_of_plan = [&] {
    const WorkMeter meter(UINT64_MAX);
    EXPECT_TRUE(plan_of(job, job.cohort.front()));
    return meter.done();
  };
  std::uint64_t cold = 0;
  std::thread([&] { cold = work_of_plan(); }).join();
  work_of_plan();
  EXPECT_EQ(work_of_plan(), cold);
  EXPECT_GT(cold, 1'000U);
}

TEST(SettledJobTest, ManyUnknownColumnsAreFoundUnknownQuickly) {
  nlohmann::json job = nlohmann::json::parse(jobs_of_statistics().back());
  nlohmann::json columns = nlohmann::json::array();
  for (int i = 0; i < 20'000; ++i) columns.push_back("unknown column of some length " + std::to_string(i));
  job["statistics"]["questions"] = {{{"kind", "table"}, {"columns", columns}}};
  const Result<ReadJob> read = read_job(job.dump(), "job");
  ASSERT_FALSE(read);
  EXPECT_LT(read.error().message.size(), std::size_t{8} << 20U);
}

}  // namespace
}  // namespace undertone::jobs
