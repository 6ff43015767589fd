#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

/// A job of records as one of as many persons.
Json of_persons(const tests::SmallFederation& federation) {
  Json job = Json::parse(federation.job());
  job["privacy"]["unit"] = "person";
  const std::string model = job.contains("model") ? job["model"]["kind"] : "";
  job["privacy"]["person"] = {{"records_max", 8}};
  if (!model.empty())
    job["privacy"]["person"]["contribution"] =
        model == "network" || model == "softmax" ? "mean_of_clipped" : "clipped_mean";
  for (Json& member : job["cohort"]) {
    member["persons"] = member["records"];
    member["holdout_persons"] = member["holdout_records"];
    member.erase("records");
    member.erase("holdout_records");
  }
  return job;
}

std::string problem_of(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  if (!parsed) return parsed.error().message;
  const Result<planning::Plan> plan = plan_of(*parsed, parsed->cohort.front());
  return plan ? "" : plan.error().message;
}

/// Spec person-unit 3 and PU2: what a person contributes is bounded as a record is, so noise, cost and draws are those
/// of as many records. The plan's digest alone tells the unit, and how many of her records count.
TEST(PersonJobTest, APlanOfPersonsIsThatOfAsManyRecordsButForItsDigest) {
  const tests::SmallFederation federation;
  const Job records = parse_job(federation.job(), "job.json").value();
  const Job persons = parse_job(of_persons(federation).dump(), "job.json").value();
  for (std::size_t i = 0; i < records.cohort.size(); ++i) {
    const planning::Plan one = plan_of(records, records.cohort[i]).value();
    const planning::Plan other = plan_of(persons, persons.cohort[i]).value();
    EXPECT_EQ(one.epsilon(), other.epsilon());
    for (const releases::Block block : releases::kProtectedBlocks) EXPECT_EQ(one.cost(block), other.cost(block));
    EXPECT_NE(planning::plan_digest(one), planning::plan_digest(other));
    for (std::uint64_t round = 0; round < one.rounds(); ++round) {
      EXPECT_EQ(one.release({round})->noise_stddev_of_mean(), other.release({round})->noise_stddev_of_mean());
      EXPECT_EQ(other.release({round})->ask.records.persons->records_max, 8);
    }
    // The work is that of her records, as many as may count, whatever she has.
    EXPECT_GT(planning::products_of_answer(*other.release({0}), 4), planning::products_of_answer(*one.release({0}), 4));
  }
}

TEST(PersonJobTest, AStatisticOfTooManyPersonsIsTooMuchWork) {
  tests::SmallFederation means;
  means.statistics = R"({"noise":"gaussian","questions":[{"kind":"mean","column":"x0"}]})";
  const Job persons = parse_job(of_persons(means).dump(), "job.json").value();
  planning::Release release = *plan_of(persons, persons.cohort.front()).value().release({0});
  const releases::SiloFacts& facts = persons.cohort.front().facts;
  EXPECT_TRUE(planning::check_work(release, facts));
  release.records_drawn = std::int64_t{1} << 40U;  // of each, every one of 8 slots is worked through
  EXPECT_FALSE(planning::check_work(release, facts));
  release.ask.records.persons.reset();
  EXPECT_TRUE(planning::check_work(release, facts));
}

TEST(PersonJobTest, HowManyOfHerRecordsCountIsPartOfThePlan) {
  Json job = of_persons({});
  const Job eight = parse_job(job.dump(), "job.json").value();
  job["privacy"]["person"]["records_max"] = 9;
  const Job nine = parse_job(job.dump(), "job.json").value();
  EXPECT_NE(planning::plan_digest(plan_of(eight, eight.cohort[0]).value()),
            planning::plan_digest(plan_of(nine, nine.cohort[0]).value()));
}

TEST(PersonJobTest, WhatDoesNotGoWithTheUnitIsRefusedInWords) {
  EXPECT_EQ(problem_of(of_persons({})), "");
  Json job = of_persons({});
  job["privacy"].erase("person");
  EXPECT_NE(problem_of(job).find("/privacy/person"), std::string::npos) << problem_of(job);
  job = of_persons({});
  job["cohort"][0]["records"] = 50;
  EXPECT_NE(problem_of(job).find("/cohort/0/records: unknown key"), std::string::npos) << problem_of(job);
  job = of_persons({});
  job["privacy"]["person"]["records_max"] = 65;
  EXPECT_NE(problem_of(job).find("records_max"), std::string::npos);
  job = Json::parse(tests::SmallFederation{}.job());
  job["privacy"]["person"] = {{"contribution", "clipped_mean"}, {"records_max", 8}};
  EXPECT_NE(problem_of(job).find("/privacy/person: expected none"), std::string::npos) << problem_of(job);
  job = Json::parse(tests::SmallFederation{}.job());
  job["cohort"][0]["persons"] = 50;
  EXPECT_NE(problem_of(job).find("unknown key"), std::string::npos);
  job = Json::parse(tests::federation_of_choices().job());
  job["privacy"]["unit"] = "person";
  EXPECT_NE(problem_of(job).find("/privacy/person"), std::string::npos) << problem_of(job);
}

/// Networks write no gradient out, so that nothing of a person is there to be clipped as one.
TEST(PersonJobTest, TheContributionFollowsFromTheModel) {
  Json job = of_persons({});
  job["privacy"]["person"]["contribution"] = "mean_of_clipped";
  EXPECT_NE(problem_of(job).find("/privacy/person/contribution: expected \"clipped_mean\" of a logistic model"),
            std::string::npos)
      << problem_of(job);
  int networks = 0;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    Json of = of_persons(federation);
    if (!of.contains("model") || of["model"]["kind"] != "network" || !problem_of(of).empty()) continue;
    ++networks;
    of["privacy"]["person"]["contribution"] = "clipped_mean";
    EXPECT_NE(problem_of(of).find("expected \"mean_of_clipped\" of a network model"), std::string::npos)
        << problem_of(of);
  }
  EXPECT_GE(networks, 1);
}

/// What cannot be made of persons is refused, whichever algorithm asks for it: nothing reads them record by record.
TEST(PersonJobTest, EveryAlgorithmIsPlannedForPersonsOrRefusedInWords) {
  int planned = 0;
  int refused = 0;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    const std::string problem = problem_of(of_persons(federation));
    if (!problem.empty()) {
      ++refused;
      EXPECT_NE(problem.find("persons"), std::string::npos) << problem;
      continue;
    }
    ++planned;
    const Job job = parse_job(of_persons(federation).dump(), "job.json").value();
    const planning::Plan plan = plan_of(job, job.cohort.front()).value();
    for (const planning::Plan::Segment& segment : plan.segments()) {
      EXPECT_TRUE(segment.release.ask.records.persons);
      EXPECT_TRUE(releases::takes_persons(segment.release.ask));
    }
  }
  EXPECT_GT(planned, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace undertone::jobs
