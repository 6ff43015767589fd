#include "simulation/simulate.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace undertone::simulation {
namespace {

constexpr const char* kJobs = UNDERTONE_JOBS;

std::filesystem::path job(const char* name) { return std::filesystem::path(kJobs) / name; }

TEST(SimulateTest, ABaselineWithoutPrivacyDoesNotDependOnHowRepliesTravel) {
  const auto plain = simulate_without_privacy(job("breast-cancer.json"));
  const auto shuffled = simulate_without_privacy(job("breast-cancer-shuffle.json"));
  ASSERT_TRUE(plain && shuffled);
  // Logistic regression is right for 96 to 99 % of these records.
  EXPECT_GT(plain->values[1], 0.95);
  EXPECT_GT(shuffled->values[1], 0.95);
}

TEST(SimulateTest, AStarSetsAValueInEveryElement) {
  const std::string job = R"({"cohort": [{"epsilon": 1, "a": [1, 2]}, {"epsilon": 2, "a": [3]}], "other": {"*": 5}})";
  EXPECT_EQ(nlohmann::json::parse(job_for_simulation(job, "job", {"/cohort/*/epsilon=4", "/cohort/*/a/*=7"}).value()),
            nlohmann::json::parse(
                R"({"cohort": [{"epsilon": 4, "a": [7, 7]}, {"epsilon": 4, "a": [7]}], "other": {"*": 5}})"));
  EXPECT_NE(job_for_simulation(job, "job", {"/other/*=6"}).value().find("\"*\": 6"), std::string::npos);
  for (const char* nothing : {"/cohort/*/delta=1", "/nobody/*/epsilon=1", "/cohort/*epsilon=1", "/other/*/*=1"})
    EXPECT_FALSE(job_for_simulation(job, "job", {nothing}).has_value()) << nothing;
}

TEST(SimulateTest, ASectionThatTheJobHasLeftOutIsAdded) {
  const std::string job = R"({"cohort": []})";
  EXPECT_EQ(nlohmann::json::parse(job_for_simulation(job, "job", {R"(/simulation={"csv":"a.csv"})"}).value()),
            nlohmann::json::parse(R"({"cohort": [], "simulation": {"csv": "a.csv"}})"));
  EXPECT_EQ(nlohmann::json::parse(job_for_simulation(job, "job", {"/evaluation/every=3"}).value()),
            nlohmann::json::parse(R"({"cohort": [], "evaluation": {"every": 3}})"));
  for (const char* nothing : {"/cohort/0=1", "evaluation=1", "/evaluation/*=1"})
    EXPECT_FALSE(job_for_simulation(job, "job", {nothing}).has_value()) << nothing;
}

TEST(SimulateTest, EveryRoundIsSeenWhicheverWayAJobIsRun) {
  for (const char* name : {"breast-cancer.json", "breast-cancer-shuffle.json"}) {
    SCOPED_TRACE(name);
    SimulateOptions options;
    options.job = job(name);
    std::vector<SimulatedRound> rounds;
    const auto outcome = simulate(
        options, std::nullopt, [&](const SimulatedRound& round, const jobs::Job& /*job*/) { rounds.push_back(round); });
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(rounds.empty());
    EXPECT_EQ(rounds.size(), rounds.back().rounds);
    std::size_t evaluations = 0;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      EXPECT_EQ(rounds[i].round.value, i);
      if (rounds[i].metrics) {
        ASSERT_LT(evaluations, outcome->metrics.size());
        EXPECT_EQ(rounds[i].metrics->values, outcome->metrics[evaluations++].values);
      }
    }
    EXPECT_EQ(evaluations, outcome->metrics.size());
  }
}

/// Noised metrics say by how much, whichever way a job is run: a verdict rests on it.
TEST(SimulateTest, MetricsHaveTheSameNoiseWhicheverWayAJobIsRun) {
  std::vector<double> known;
  for (const bool direct : {false, true}) {
    SimulateOptions options;
    options.job = job("breast-cancer.json");
    options.set = {"/cohort/*/holdout_public=false"};
    options.direct = direct;
    double watched = 0.0;
    const auto outcome = simulate(options, std::nullopt, [&](const SimulatedRound& round, const jobs::Job& /*job*/) {
      if (round.metrics) watched = round.metrics->noise_stddev;
    });
    ASSERT_TRUE(outcome) << outcome.error().message;
    known.push_back(watched);
  }
  EXPECT_GT(known[0], 0.0);
  EXPECT_NEAR(known[1], known[0], 1e-12 * known[0]);
  SimulateOptions noiseless;
  noiseless.job = job("breast-cancer.json");
  noiseless.set = {"/cohort/*/holdout_public=false"};
  noiseless.direct = true;
  noiseless.noise = SimulatedNoise::None;
  EXPECT_EQ(simulate(noiseless, std::nullopt, {})->metrics.back().noise_stddev, 0.0);
}

TEST(SimulateTest, ASimulationEndsAtTheNextRoundWhereItIsNotWantedAnyLonger) {
  for (const bool direct : {false, true}) {
    SimulateOptions options;
    options.job = job("breast-cancer.json");
    options.direct = direct;
    std::size_t rounds = 0;
    options.stop = [&] { return rounds >= 3; };
    const auto outcome = simulate(options, std::nullopt, [&](const SimulatedRound&, const jobs::Job&) { ++rounds; });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(rounds, 3U);
  }
}

/// A job of one silo with a table in memory.
class SiloTableTest : public ::testing::Test {
 protected:
  jobs::Job job_of(std::int64_t records, std::int64_t holdout) {
    return jobs::parse_job(fmt::format(R"({{"format": "undertone.job/1", "data": {{
      "label": {{"column": "y", "negative": "no", "positive": "yes"}}, "features": [{{"column": "x", "min": 0, "max": 1}}]}},
      "model": {{"kind": "logistic"}}, "privacy": {{"mode": "isrl", "unit": "record", "noise": "test", "clip_norm": 1}},
      "cohort": [{{"silo": "a", "records": {}, "holdout_records": {}, "holdout_public": true, "epsilon": 1,
                  "delta": 1e-5}}]}})",
                                       records, holdout),
                           "job")
        .value();
  }
  [[nodiscard]] data::Frame rows(std::size_t count) const {
    return {{{"x", data::Frame::Numbers(x_.data(), count)},
             {"y", data::Frame::Texts{std::span(y_.data(), count), {"no", "yes"}}}}};
  }
  const SiloId silo_ = SiloId::create("a").value();

 private:
  std::vector<double> x_ = std::vector<double>(40, 0.5);
  std::vector<std::int32_t> y_ = std::vector<std::int32_t>(40, 1);
};

TEST_F(SiloTableTest, IsDividedAsTheCohortSays) {
  const auto silos = silos_with(job_of(32, 8), {{silo_, rows(40)}});
  ASSERT_TRUE(silos) << silos.error().message;
  EXPECT_EQ(silos->front().dataset.training.count(), 32);
  EXPECT_EQ(silos->front().dataset.holdout.count(), 8);
}

TEST_F(SiloTableTest, MayHaveAHoldoutOfItsOwn) {
  const auto silos = silos_with(job_of(40, 3), {{silo_, rows(40), rows(3)}});
  ASSERT_TRUE(silos) << silos.error().message;
  EXPECT_EQ(silos->front().dataset.training.count(), 40);
  EXPECT_EQ(silos->front().dataset.holdout.count(), 3);
}

TEST_F(SiloTableTest, OfOtherNumbersOrOfNobodyIsRefused) {
  const auto message = [](const Result<std::vector<SimulatedSilo>>& silos) {
    return silos ? std::string() : silos.error().message;
  };
  EXPECT_NE(message(silos_with(job_of(30, 8), {{silo_, rows(40)}})).find("counts on 30 records"), std::string::npos);
  EXPECT_NE(message(silos_with(job_of(32, 8), {})).find("silo a: expected its table"), std::string::npos);
  EXPECT_NE(message(silos_with(job_of(40, 4), {{silo_, rows(40), rows(3)}})).find("4 held out"), std::string::npos);
}

// The library's own words once reached people.
TEST(JobForSimulationTest, APlaceThatIsNoneIsRefusedInWords) {
  for (const char* set : {"x=3", "/~2=3", "/cohort/99999999999999999999/epsilon=3"}) {
    const Result<std::string> changed = job_for_simulation(R"({"cohort":[{"epsilon":1}]})", "job.json", {set});
    ASSERT_FALSE(changed) << set;
    EXPECT_EQ(changed.error().message.find("json.exception"), std::string::npos) << changed.error().message;
    EXPECT_NE(changed.error().message.find("--set"), std::string::npos);
  }
}

}  // namespace
}  // namespace undertone::simulation
