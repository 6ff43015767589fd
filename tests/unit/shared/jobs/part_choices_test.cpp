#include "shared/jobs/part_choices.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/small_federation.hpp"

namespace undertone::jobs {
namespace {

using Assignment = releases::Slice::Assignment;

std::vector<PlannedParts> compared(const std::string& algorithm, const std::string& model = "", int records = 601) {
  tests::SmallFederation federation;
  federation.algorithm = algorithm;
  if (!model.empty()) federation.model = model;
  nlohmann::json job = nlohmann::json::parse(federation.job());
  for (nlohmann::json& silo : job["cohort"]) {
    silo["records"] = records;
    silo["epsilon"] = 1.0;
    silo["delta"] = 1e-5;
  }
  return compare_parts(parse_job(job.dump(), "job.json").value());
}

TEST(PartChoicesTest, SecretPartsTakeLessNoiseAndBinsLeast) {
  for (const char* parts : {"permutation", "secret_permutation", "bins"}) {
    const auto found =
        compared(fmt::format(R"({{"kind":"proximal_sgd","rounds":6,"step_size":1,"parts":"{}"}})", parts));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].assignment, Assignment::Bins);
    EXPECT_EQ(found[1].assignment, Assignment::SecretPermutation);
    EXPECT_EQ(found[2].assignment, Assignment::Permutation);
    EXPECT_LT(found[0].noise, found[1].noise);
    EXPECT_LT(found[1].noise, 0.95);
    EXPECT_EQ(found[2].noise, 1.0);
    for (const PlannedParts& one : found)
      EXPECT_EQ(one.of_job, one.assignment == (std::string(parts) == "bins"          ? Assignment::Bins
                                               : std::string(parts) == "permutation" ? Assignment::Permutation
                                                                                     : Assignment::SecretPermutation));
  }
}

TEST(PartChoicesTest, SaysWhereTheUnreadRecordCostsMoreThanTheSecretSaves) {
  // Two parts of one record each, of four: the secret permutation has a record a part, the others two.
  const auto found = compared(R"({"kind":"proximal_sgd","rounds":2,"step_size":1})", "", 4);
  const auto secret = std::find_if(found.begin(), found.end(), [](const PlannedParts& one) {
    return one.assignment == Assignment::SecretPermutation;
  });
  ASSERT_NE(secret, found.end());
  EXPECT_GT(secret->noise, 1.0);
  EXPECT_EQ(found.front().of_job, found.front().assignment == Assignment::Permutation);
}

TEST(PartChoicesTest, ComparesPassesThatAreCutDifferently) {
  // Two passes of one part each: of a permutation twice the same, of bins two draws.
  const auto found = compared(
      R"({"kind":"noisy_minibatch_sgd","rounds":2,"passes":2,"step_size":1,"averaging":"last","draw_fraction":1})");
  ASSERT_FALSE(found.empty());
  for (const PlannedParts& one : found) EXPECT_GT(one.noise, 0.0);
}

TEST(PartChoicesTest, OffersNoBinsWhereATimeWouldTellAndNothingWithoutParts) {
  const auto softmax = compared(R"({"kind":"proximal_sgd","rounds":6,"step_size":1})", R"({"kind":"softmax"})");
  ASSERT_EQ(softmax.size(), 2U);
  EXPECT_EQ(softmax[0].assignment, Assignment::SecretPermutation);
  EXPECT_TRUE(
      compared(R"({"kind":"noisy_minibatch_sgd","rounds":5,"step_size":1,"averaging":"last","draw_fraction":1})")
          .empty());
}

}  // namespace
}  // namespace undertone::jobs
