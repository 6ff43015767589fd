#include "shared/preview/weight_noise.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/jobs/planner.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::preview {
namespace {

nlohmann::ordered_json noise_of(const std::string& bytes) {
  const jobs::Job job = jobs::parse_job(bytes, "job.json").value();
  return weight_noise(job, jobs::plans_of(job).value());
}

std::string with_weights(const tests::SmallFederation& federation, const char* weights) {
  nlohmann::json job = nlohmann::json::parse(federation.job());
  job["weights"] = weights;
  for (nlohmann::json& silo : job["cohort"]) silo.erase("weight");
  return job.dump();
}

TEST(WeightNoiseTest, ComparesTheJobsWeightsWithOthers) {
  const tests::SmallFederation federation;
  const nlohmann::ordered_json own = noise_of(federation.job());
  const nlohmann::ordered_json records = noise_of(with_weights(federation, "records"));
  const nlohmann::ordered_json equal = noise_of(with_weights(federation, "equal"));
  // The others do not depend on what the job has.
  for (const char* name : {"records", "equal", "least"}) {
    EXPECT_DOUBLE_EQ(own.at(name).get<double>(), records.at(name).get<double>());
    EXPECT_GT(own.at("job").get<double>(), own.at("least").get<double>());
  }
  EXPECT_DOUBLE_EQ(records.at("job").get<double>(), own.at("records").get<double>());
  EXPECT_DOUBLE_EQ(equal.at("job").get<double>(), own.at("equal").get<double>());
  EXPECT_NE(describe_weight_noise(own).find("noise_optimal"), std::string::npos);
}

TEST(WeightNoiseTest, NoiseOptimalOnesReachTheLeastWhereAllRecordsAreRead) {
  const nlohmann::ordered_json noise = noise_of(with_weights({}, "noise_optimal"));
  // A plan's noise is the closed form's up to the lattice and the implementation's share of delta.
  EXPECT_NEAR(noise.at("job").get<double>() / noise.at("least").get<double>(), 1.0, 1e-4);
}

TEST(WeightNoiseTest, OfAlikeSilosAndOfLocalRunsThereIsNothingToCompare) {
  tests::SmallFederation alike;
  alike.equal = true;
  EXPECT_TRUE(noise_of(alike.job()).is_null());
  EXPECT_EQ(describe_weight_noise(nullptr), "");
  tests::SmallFederation local;
  local.regulariser = R"({"kind":"none"})";
  local.algorithm = R"({"kind":"local_sgd","rounds":2,"step_size":0.1,"local_steps":5})";
  EXPECT_TRUE(noise_of(local.job()).is_null());
}

}  // namespace
}  // namespace undertone::preview
