#include "silo/policy/objections.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "silo/policy/policy.hpp"

namespace undertone::silo {
namespace {

const std::string kNumbers = "the job costs epsilon 2; 3 of the data set's 4 are reserved already";

TEST(ObjectionsTest, ByDefaultOneWordLeavesAndNoNumber) {
  for (const ObjectionKind kind : {ObjectionKind::Policy, ObjectionKind::Counts, ObjectionKind::Budget,
                                   ObjectionKind::Schema, ObjectionKind::Shuffler, ObjectionKind::Owner}) {
    const std::string said = explanation(ExplainRefusals::Kind, kind, kNumbers);
    EXPECT_EQ(said, to_string(kind));
    EXPECT_EQ(said.find_first_of("0123456789"), said.npos);
  }
  EXPECT_EQ(explanation(ExplainRefusals::Kind, ObjectionKind::Job, kNumbers), "");
}

TEST(ObjectionsTest, NoneSaysNothingAndFullSaysTheSentence) {
  EXPECT_EQ(explanation(ExplainRefusals::None, ObjectionKind::Budget, kNumbers), "");
  EXPECT_EQ(explanation(ExplainRefusals::Full, ObjectionKind::Budget, kNumbers), kNumbers);
}

TEST(ObjectionsTest, WhatLeavesIsShortAndPrintable) {
  const std::string said =
      explanation(ExplainRefusals::Full, ObjectionKind::Policy, "a\n\xe2\x80\xa8" + std::string(2000, 'b'));
  EXPECT_EQ(said.size(), kExplanationBytesMax);
  EXPECT_EQ(said.substr(0, 6), "a????b");
}

TEST(ObjectionsTest, TheNearestDataSetIsOneOfTheSchemaWithTheFewestReasons) {
  std::vector<DatasetObjections> all = {{"other", {{ObjectionKind::Schema, "s"}}},
                                        {"far", {{ObjectionKind::Counts, "c"}, {ObjectionKind::Policy, "p"}}},
                                        {"near", {{ObjectionKind::Budget, "b"}}},
                                        {"as-near", {{ObjectionKind::Budget, "d"}}}};
  put_nearest_first(all);
  EXPECT_EQ(every_reason(all),
            "data set \"near\": b. data set \"as-near\": d. data set \"far\": c; p. data set \"other\": s");
}

TEST(ObjectionsTest, ASingleDataSetNeedsNoName) {
  EXPECT_EQ(every_reason({{"wards", {{ObjectionKind::Counts, "c"}, {ObjectionKind::Policy, "p"}}}}), "c; p");
  EXPECT_EQ(every_reason({{"wards", {}}}), "");
}

/// How long a selection takes depends on the scores, which are the records': who can time it learns of them.
void expect_intervals(const jobs::Job& job) {
  const jobs::CohortMember& member = job.cohort.front();
  const releases::SiloFacts& facts = member.facts;
  Policy policy{{std::string(job.model->name())},
                {std::string(job.algorithm->name())},
                {std::string(releases::to_string(job.unit))},
                1,
                1,
                facts.epsilon(),
                releases::Delta::create(facts.delta()).value(),
                {}};
  const DatasetFacts own{job.schema, facts.records, facts.holdout_records, facts.holdout_public};
  const std::vector<Objection> objections = objections_to(policy, own, job, member, job.noise);
  ASSERT_EQ(objections.size(), 1U);
  EXPECT_EQ(objections.front().kind, ObjectionKind::Policy);
  EXPECT_NE(objections.front().sentence.find("policy.release_interval_ms above 0"), std::string::npos);
  policy.release_interval = std::chrono::milliseconds(100);
  EXPECT_TRUE(objections_to(policy, own, job, member, job.noise).empty());
}

TEST(ObjectionsTest, SmoothInfluencesNeedThemToo) {
  const std::string file = std::string(UNDERTONE_SOURCE_DIR) + "/configs/jobs/breast-cancer.json";
  nlohmann::json job = nlohmann::json::parse(read_file(file, jobs::kJobBytesMax).value());
  job["privacy"].erase("clip_norm");
  job["algorithm"]["draw_fraction"] = 1;
  job["privacy"]["moments"] = {
      {"of", "coordinates"}, {"order", 4}, {"bound", 0.3}, {"influence", "smooth"}, {"source", "a pilot"}};
  expect_intervals(jobs::parse_job(job.dump(), file).value());
}

TEST(ObjectionsTest, SelectionsNeedRepliesThatLeaveAtIntervals) {
  const std::string file = std::string(UNDERTONE_SOURCE_DIR) + "/configs/jobs/breast-cancer-lasso.json";
  nlohmann::json lasso = nlohmann::json::parse(read_file(file, jobs::kJobBytesMax).value());
  expect_intervals(jobs::parse_job(lasso.dump(), file).value());
  // A silo's own choices are timed with its one answer, those along paths round by round.
  nlohmann::json& algorithm = lasso["algorithm"];
  algorithm["kind"] = "one_shot_frank_wolfe";
  expect_intervals(jobs::parse_job(lasso.dump(), file).value());
  const nlohmann::json vertices = algorithm["vertices"];
  algorithm = {{"kind", "private_tree_frank_wolfe"}, {"depth", 1}, {"smoothness", 10}, {"vertices", vertices}};
  expect_intervals(jobs::parse_job(lasso.dump(), file).value());
}

}  // namespace
}  // namespace undertone::silo
