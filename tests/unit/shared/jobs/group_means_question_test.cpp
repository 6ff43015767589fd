// Questions for means of groups, and what is stated of a regression: what jobs may ask, and in which units answers are.
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numbers>

#include "shared/algorithms/scoring/fisher_scoring.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/stated_regression.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

Json job_of_group_means(const Json& question) {
  Json job = Json::parse(R"({
    "format": "undertone.job/1", "name": "trial",
    "data": {"label": {"column": "cost", "min": 0, "max": 100},
             "features": [{"column": "arm", "categories": ["old", "new", "none"]},
                          {"column": "site", "categories": ["one"]}]},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 4, "delta": 1e-6}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
  job["statistics"] = {{"sampling_intervals", true}, {"questions", Json::array({question})}};
  return job;
}
const Json kGroupMeans = {{"kind", "group_means"}, {"column", "cost"}, {"group", "arm"}};

std::string said_of_group_means(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}

const statistics::Stated& estimate_named(const StatedQuestion& stated, const std::string& name) {
  const auto found = std::find_if(stated.estimates.begin(), stated.estimates.end(),
                                  [&](const NamedEstimate& one) { return one.name == name; });
  if (found == stated.estimates.end()) throw std::runtime_error("no estimate " + name);
  return found->stated;
}

TEST(GroupMeansQuestionTest, WhatCannotBeAskedIsSaid) {
  EXPECT_EQ(said_of_group_means(job_of_group_means(kGroupMeans)), "accepted");
  const auto finds = [&](const Json& changes, const char* problem) {
    Json question = kGroupMeans;
    question.update(changes);
    const std::string said = said_of_group_means(job_of_group_means(question));
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  finds({{"column", "arm"}}, "expected a column of numbers");
  finds({{"group", "cost"}}, "listed values");
  finds({{"group", "site"}}, "expected a column of 2 to 64 values, got 1");
  Json without = kGroupMeans;
  without.erase("group");
  EXPECT_NE(said_of_group_means(job_of_group_means(without)).find("/group"), std::string::npos);
  Json pure = job_of_group_means(kGroupMeans);
  pure["cohort"][0]["delta"] = 0;
  EXPECT_NE(said_of_group_means(pure), "accepted");  // squares are hidden by Gaussian noise alone
}

TEST(GroupMeansQuestionTest, MeansAndDifferencesAreInTheColumnsUnit) {
  const Job job = parse_job(job_of_group_means(kGroupMeans).dump(), "job.json").value();
  const auto* settings = job.algorithm.as<algorithms::StatisticsSettings>();
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  const planning::Release& release = *plan.release(RoundIndex{0});
  ASSERT_EQ(release.ask.dimension, 9);
  // 400 of "old" at 30, 300 of "new" at 50 and 300 of "none" at 50, each with the same spread of 10.
  std::vector<std::int64_t> totals;
  const auto put = [&](double number) { totals.push_back(std::llround(std::ldexp(number, 20))); };
  for (const auto& [count, mean] : {std::pair(400.0, 30.0), std::pair(300.0, 50.0), std::pair(300.0, 50.0)}) {
    const double u = (mean - 50.0) / 50.0;
    put(count);
    put(count * u);
    put(count * (u * u + 0.04) / std::numbers::sqrt2);
  }
  const std::vector<SiloTotals> silos{{1000, &release, &totals}};
  const StatedQuestion stated = state_question(settings->questions.front(), *settings, silos).value();
  EXPECT_NEAR(*estimate_named(stated, "mean of arm=old").value, 30.0, 1e-3);
  EXPECT_NEAR(*estimate_named(stated, "mean of arm=none").value, 50.0, 1e-3);
  const statistics::Stated& difference = estimate_named(stated, "difference of arm=new from arm=old");
  EXPECT_NEAR(*difference.value, 20.0, 1e-3);
  EXPECT_TRUE(difference.population->holds(20.0) && !difference.population->holds(0.0));
  EXPECT_LT(difference.population->half_width(), 5.0);
  ASSERT_EQ(stated.tests.size(), 1U);
  EXPECT_EQ(stated.tests.front().degrees, 2U);
  EXPECT_LT(*stated.tests.front().p_value, 1e-6);
  EXPECT_TRUE(state_question(settings->questions.front(), *settings, silos, false)->tests.empty());
}

Json job_of_regression() {
  return Json::parse(R"({
    "format": "undertone.job/1", "name": "trial",
    "data": {"label": {"column": "shrunk", "negative": "no", "positive": "yes"},
             "features": [{"column": "age", "min": 20, "max": 80},
                          {"column": "arm", "categories": ["old", "new"]},
                          {"column": "ward", "categories": ["a", "b", "c"]},
                          {"column": "smoker", "categories": ["yes"], "others_allowed": true}]},
    "model": {"kind": "logistic", "intercept": true}, "algorithm": {"kind": "fisher_scoring"},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 4, "delta": 1e-6}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
}

/// A fit that knows: age .6 for half of its range, arm .4 either way, ward .3 and -.2, smoker .1 either way, constant
/// -1.
statistics::ScoreFit known_fit() {
  statistics::ScoreFit fit;
  fit.carries = statistics::Carries::Enough;
  fit.coefficients.resize(6);
  fit.coefficients << 0.6, 0.4, 0.3, -0.2, 0.1, -1.0;
  fit.coefficients *= std::sqrt(5.0);
  fit.inverse = 1e-4 * Eigen::MatrixXd::Identity(6, 6);
  fit.score_noise = Eigen::MatrixXd::Identity(6, 6);
  fit.meat = Eigen::MatrixXd::Identity(6, 6);
  fit.moved = Eigen::VectorXd::Zero(6);
  return fit;
}

Json job_of_rates() {
  Json job = job_of_regression();
  job["data"]["label"] = {{"column", "admissions"}, {"min", 0}, {"max", 12}};
  job["data"]["features"].push_back({{"column", "years"}, {"min", 0.5}, {"max", 4}});
  job["model"]["kind"] = "poisson";
  job["algorithm"]["exposure"] = "years";
  return job;
}

TEST(StatedRegressionTest, RatesAreForAUnitOfTheExposureAndTheLabel) {
  const Job job = parse_job(job_of_rates().dump(), "job.json").value();
  const auto* settings = job.algorithm.as<algorithms::FisherScoringSettings>();
  ASSERT_NE(settings, nullptr);
  EXPECT_EQ(settings->terms.link, statistics::ScoreLink::Log);
  EXPECT_EQ(settings->terms.exposure, (statistics::ExposureFeature{7, 0.125}));
  EXPECT_EQ(settings->terms.of.size(), 5U);  // the exposure is none of them
  EXPECT_NEAR(settings->terms.record_norm, std::sqrt(5.0), 1e-12);
  const StatedQuestion stated =
      state_regression(job, {settings->terms, known_fit(), 1, 1000}, *statistics::Confidence::create(0.95));
  EXPECT_NEAR(*estimate_named(stated, "rate ratio of arm=new").value, std::exp(0.8), 1e-12);
  // Where every list has its first value the mean is 12 exp(-1 - .4 - .1) for 4 years: so much a year.
  EXPECT_NEAR(*estimate_named(stated, "(intercept)").value, std::log(12.0 * std::exp(-1.5) / 4.0), 1e-12);
  const statistics::Stated& intercept = estimate_named(stated, "(intercept)");
  EXPECT_NEAR(0.5 * (intercept.noise.low + intercept.noise.high), *intercept.value, 1e-9);
}

TEST(StatedRegressionTest, WhatIsNoRateIsRefusedInWords) {
  const auto said = [](const std::function<void(Json&)>& change) {
    Json job = job_of_rates();
    change(job);
    return said_of_group_means(job);
  };
  const auto holds = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EXPECT_EQ(said([](Json&) {}), "accepted");
  EXPECT_TRUE(holds(said([](Json& job) { job["data"]["label"]["min"] = -1; }), "min\" is 0"));
  EXPECT_TRUE(holds(said([](Json& job) { job["algorithm"]["exposure"] = "arm"; }), "/algorithm/exposure"));
  EXPECT_TRUE(holds(said([](Json& job) { job["data"]["features"].back()["min"] = -0.5; }), "/algorithm/exposure"));
  EXPECT_TRUE(holds(said([](Json& job) {
                      job["data"]["features"].back()["missing"] = {{"values", {""}}, {"value", 1}};
                    }),
                    "/algorithm/exposure"));
  EXPECT_TRUE(holds(said([](Json& job) {
                      job["data"]["label"] = {{"column", "shrunk"}, {"negative", "no"}, {"positive", "yes"}};
                      job["model"]["kind"] = "logistic";
                    }),
                    "of a model \"poisson\" alone"));
  EXPECT_TRUE(holds(said([](Json& job) { job["model"]["kind"] = "least_squares"; }), "or \"poisson\""));
  EXPECT_TRUE(holds(said([](Json& job) { job["cohort"][0]["holdout_records"] = 100; }), "hold no records out"));
}

TEST(StatedRegressionTest, CoefficientsAreInTheColumnsUnitsAndComparedWithTheFirstValue) {
  const Job job = parse_job(job_of_regression().dump(), "job.json").value();
  EXPECT_FALSE(is_evaluated(job));
  const auto* settings = job.algorithm.as<algorithms::FisherScoringSettings>();
  ASSERT_NE(settings, nullptr);
  using statistics::Covariate;
  EXPECT_EQ(settings->terms.of, (std::vector<Covariate>{{0, false}, {2, true}, {4, false}, {5, false}, {6, true}}));
  EXPECT_NEAR(settings->terms.record_norm, std::sqrt(5.0), 1e-12);
  const StatedQuestion stated =
      state_regression(job, {settings->terms, known_fit(), 1, 1000}, *statistics::Confidence::create(0.95));
  EXPECT_NEAR(*estimate_named(stated, "age").value, 0.6 / 30.0, 1e-12);
  EXPECT_NEAR(*estimate_named(stated, "arm=new").value, 0.8, 1e-12);
  EXPECT_NEAR(*estimate_named(stated, "ward=c").value, -0.2, 1e-12);
  EXPECT_NEAR(*estimate_named(stated, "smoker=yes").value, 0.2, 1e-12);
  EXPECT_NEAR(*estimate_named(stated, "(intercept)").value, -1.0 - 0.4 - 0.1, 1e-12);
  EXPECT_NEAR(*estimate_named(stated, "odds ratio of arm=new").value, std::exp(0.8), 1e-12);
  EXPECT_NEAR(estimate_named(stated, "odds ratio of arm=new").population->low,
              std::exp(estimate_named(stated, "arm=new").population->low), 1e-12);
  ASSERT_EQ(stated.tests.size(), 5U);
  EXPECT_TRUE(stated.tests.front().p_value.has_value());
  statistics::ScoreFit fit = known_fit();
  fit.carries = statistics::Carries::Barely;
  const StatedQuestion flagged =
      state_regression(job, {settings->terms, fit, 1, 1000}, *statistics::Confidence::create(0.95));
  EXPECT_FALSE(flagged.tests.front().p_value.has_value());
  EXPECT_NE(estimate_named(flagged, "age").note.find("flagged"), std::string::npos);
}

TEST(StatedRegressionTest, ManyCovariatesAreFittedWhereNobodyWaitsAndTooManyAreRefused) {
  const auto of = [](int columns) {
    Json job = job_of_regression();
    job["data"]["features"] = Json::array();
    for (int i = 0; i < columns; ++i)
      job["data"]["features"].push_back({{"column", fmt::format("x{}", i)}, {"min", 0}, {"max", 1}});
    return job;
  };
  EXPECT_FALSE(make_algorithm(parse_job(of(8).dump(), "job.json").value())->advance_takes_long());
  EXPECT_TRUE(make_algorithm(parse_job(of(128).dump(), "job.json").value())->advance_takes_long());
  EXPECT_NE(said_of_group_means(of(129)).find("at most 128 covariates, got 129"), std::string::npos);
}

TEST(StatedRegressionTest, WhatBendsItsIntervalsIsRefused) {
  const auto finds = [&](const char* pointer, const Json& value, const char* problem) {
    Json job = job_of_regression();
    job[Json::json_pointer(pointer)] = value;
    const std::string said = said_of_group_means(job);
    EXPECT_NE(said.find(problem), std::string::npos) << said;
  };
  EXPECT_EQ(said_of_group_means(job_of_regression()), "accepted");
  finds("/model/intercept", false, "needs a model with an intercept");
  finds("/domain", {{"kind", "l2_ball"}, {"radius", 5}}, "whole_space");
  finds("/regulariser", {{"kind", "l2"}, {"strength", 0.1}}, "needs the regulariser \"none\"");
  finds("/privacy/clip_norm", 1, "has a bound of its own");
  finds("/aggregation", {{"kind", "trimmed_mean"}, {"trim", 0.1}}, "totals are added up");
}

}  // namespace
}  // namespace undertone::jobs
