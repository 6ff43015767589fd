#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMinimal = R"({
  "format": "undertone.job/1",
  "data": {"label": {"column": "sick", "negative": "no", "positive": "yes"},
           "features": [{"column": "age", "min": 0, "max": 120}]},
  "model": {"kind": "logistic"},
  "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 1},
  "cohort": [
    {"silo": "a", "records": 400, "holdout_records": 100, "holdout_public": true, "epsilon": 2, "delta": 1e-5},
    {"silo": "b", "records": 300, "holdout_records": 100, "holdout_public": true, "epsilon": 2, "delta": 1e-5}]})";

Json minimal() { return Json::parse(kMinimal); }

// These values are part of every job that was ever submitted without them, as its SHA-256 is of the bytes alone. A
// change here changes what such a job does after silos have approved it: it needs another format.
TEST(JobDefaultsTest, AreFrozen) {
  Json expected = minimal();
  expected["name"] = "unnamed";
  expected["model"]["intercept"] = true;
  expected["domain"] = {{"kind", "l2_ball"}, {"radius", 10}};
  expected["regulariser"] = {{"kind", "l2"}, {"strength", 0.001}};
  expected["wire"] = {{"points", "f64"}, {"replies", "i64"}, {"reply_step_log2", -40}};
  expected["algorithm"] = {{"kind", "noisy_minibatch_sgd"}, {"rounds", 50},       {"step_size", 1},
                           {"averaging", "last"},           {"draw_fraction", 1}, {"schedule", "cosine"}};
  expected["cohort"][0]["weight"] = 400;
  expected["cohort"][1]["weight"] = 300;
  expected["participation"] = {{"quorum", 2},
                               {"join_deadline_ms", 604'800'000},
                               {"round_deadline_ms", 600'000},
                               {"resend_ms", 10'000},
                               {"grace_ms", 0}};
  expected["evaluation"] = {{"every", 0}, {"metrics", "basic"}};
  const std::string full = full_job(kMinimal, "job").value();
  // Without regard to the order of keys.
  EXPECT_EQ(nlohmann::json::parse(full), nlohmann::json(expected)) << full;
}

TEST(JobDefaultsTest, AMinimalJobIsPlannedAsItsFullOneAndAFullOneIsLeftAsItIs) {
  const std::string full = full_job(kMinimal, "job").value();
  EXPECT_EQ(full_job(full, "job").value(), full);
  const Job one = parse_job(kMinimal, "job").value();
  const Job other = parse_job(full, "job").value();
  const planning::Plan plan = plan_of(one, one.cohort.front()).value();
  EXPECT_EQ(plan.rounds(), 51U);  // 50 steps and an evaluation
  EXPECT_EQ(planning::plan_digest(plan), planning::plan_digest(plan_of(other, other.cohort.front()).value()));
  EXPECT_EQ(one.participation.quorum, other.participation.quorum);
  Json complete = Json::parse(tests::SmallFederation{}.job());
  complete["participation"]["grace_ms"] = 0;
  complete["evaluation"]["metrics"] = "basic";
  EXPECT_EQ(nlohmann::json::parse(full_job(complete.dump(), "job").value()), nlohmann::json(complete));
}

TEST(JobDefaultsTest, MomentsGetTheirOneStepAndNetworksHaveToSayTheirs) {
  Json moments = minimal();
  moments["model"] = {{"kind", "moments"}};
  const Job job = parse_job(moments.dump(), "job").value();
  EXPECT_EQ(plan_of(job, job.cohort.front()).value().rounds(), 2U);  // a step and an evaluation
  Json network = minimal();
  network["data"]["label"] = {{"column", "sick"}, {"classes", {"no", "yes"}}};
  network["model"] =
      Json::parse(R"({"kind": "network", "seed": 1, "hidden": [{"kind": "dense", "activation": "tanh", "width": 3}]})");
  const Result<Job> refused = parse_job(network.dump(), "job");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "job: /algorithm: missing, expected an object");
}

TEST(JobDefaultsTest, NothingOfPrivacyHasOne) {
  const auto refused = [](const Json& job, const std::string& pointer) {
    const Result<Job> parsed = parse_job(job.dump(), "job");
    ASSERT_FALSE(parsed) << pointer;
    EXPECT_NE(parsed.error().message.find("job: " + pointer + ": missing"), std::string::npos)
        << parsed.error().message;
  };
  for (const char* key : {"format", "data", "model", "privacy", "cohort"}) {
    Json job = minimal();
    job.erase(key);
    refused(job, std::string("/") + key);
  }
  for (const char* key : {"mode", "unit", "noise", "clip_norm"}) {
    Json job = minimal();
    job["privacy"].erase(key);
    refused(job, std::string("/privacy/") + key);
  }
  for (const char* key : {"silo", "records", "holdout_records", "holdout_public", "epsilon", "delta"}) {
    Json job = minimal();
    job["cohort"][1].erase(key);
    refused(job, std::string("/cohort/1/") + key);
  }
}

TEST(JobDefaultsTest, AnUnknownKeyBesideADefaultIsStillAnError) {
  Json job = minimal();
  job["wire"] = {{"reply", "i32"}};
  const Result<Job> refused = parse_job(job.dump(), "job");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "job: /wire/reply: unknown key");
}

}  // namespace
}  // namespace undertone::jobs
