#include "shared/jobs/statistics_section.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/algorithms/table.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

/// Encoded: 0 age, 1 age missing, 2 sex=female, 3 sex=male, 4 hours, 5 the label.
Json statistics_job() {
  return Json::parse(R"({
    "format": "undertone.job/1", "name": "census",
    "data": {"label": {"column": "income", "negative": "low", "positive": "high"},
             "features": [{"column": "age", "min": 20, "max": 80,
                           "missing": {"texts": ["?"], "value": 40, "indicator": true}},
                          {"column": "sex", "categories": ["female", "male"]},
                          {"column": "hours", "min": 0, "max": 100}]},
    "statistics": {"questions": [{"kind": "count", "column": "sex", "value": "male"},
                                 {"kind": "mean", "column": "hours"},
                                 {"kind": "missing", "column": "age"},
                                 {"kind": "count", "column": "income", "value": "low"}]},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 1, "delta": 0},
               {"silo": "b", "records": 500, "holdout_records": 0, "holdout_public": false, "epsilon": 1, "delta": 0}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
}

std::string said_of_section(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}

std::string said_of_questions(const Json& questions) {
  Json job = statistics_job();
  job["statistics"]["questions"] = questions;
  return said_of_section(job);
}

void section_finds(const std::string& said, const std::string& problem) {
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

TEST(StatisticsSectionTest, QuestionsAreOfTheSchemasColumns) {
  const Result<Job> job = parse_job(statistics_job().dump(), "job.json");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_FALSE(job->model);
  const auto* settings = job->algorithm.as<algorithms::StatisticsSettings>();
  ASSERT_NE(settings, nullptr);
  const std::vector<algorithms::StatisticAsked>& asked = settings->questions;
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[0].name, "count of sex=male");
  EXPECT_EQ(asked[0].coordinate, 3U);
  EXPECT_FALSE(std::get<algorithms::CountAsked>(asked[0].what).complement);
  EXPECT_EQ(asked[1].name, "mean of hours");
  EXPECT_EQ(asked[1].coordinate, 4U);
  EXPECT_EQ(std::get<algorithms::MeanAsked>(asked[1].what).high, 100.0);
  EXPECT_EQ(asked[2].name, "count of age missing");
  EXPECT_EQ(asked[2].coordinate, 1U);
  EXPECT_EQ(asked[3].name, "count of income=low");
  EXPECT_EQ(asked[3].coordinate, 5U);
  EXPECT_TRUE(std::get<algorithms::CountAsked>(asked[3].what).complement);
  EXPECT_EQ(feature_names(*job)[3], "sex=male");
}

TEST(StatisticsSectionTest, NumericLabelsAndDatesHaveMeans) {
  Json job = statistics_job();
  job["data"]["label"] = {{"column", "score"}, {"min", -1}, {"max", 3}};
  job["data"]["features"][2] = {
      {"column", "seen"}, {"date", "YYYY-MM-DD"}, {"min", "2000-01-01"}, {"max", "2020-01-01"}};
  job["statistics"]["questions"] = {{{"kind", "mean"}, {"column", "score"}}, {{"kind", "mean"}, {"column", "seen"}}};
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& asked = parsed->algorithm.as<algorithms::StatisticsSettings>()->questions;
  EXPECT_EQ(asked[0].coordinate, 5U);
  EXPECT_EQ(std::get<algorithms::MeanAsked>(asked[0].what).low, -1.0);
  EXPECT_EQ(asked[1].name, "mean of seen, in days since 1970-01-01");
  EXPECT_EQ(std::get<algorithms::MeanAsked>(asked[1].what).low, 10957.0);
}

TEST(StatisticsSectionTest, SaysWhatIsWrongWithAQuestion) {
  const auto one = [](const Json& question) { return said_of_questions(Json::array({question})); };
  section_finds(one({{"kind", "count"}, {"column", "nobody"}, {"value", "x"}}),
                "/statistics/questions/0/column: expected a feature or the label of data, got \"nobody\"");
  section_finds(one({{"kind", "median"}, {"column", "age"}}),
                "/statistics/questions/0/kind: expected one of \"count\", \"mean\", \"missing\"");
  section_finds(one({{"kind", "mean"}, {"column", "sex"}}),
                "/0/column: expected a column of numbers: \"sex\" has listed values");
  section_finds(one({{"kind", "mean"}, {"column", "income"}}),
                "expected a column of numbers: \"income\" has listed values");
  section_finds(one({{"kind", "count"}, {"column", "age"}, {"value", "30"}}),
                "/0/column: expected a column with listed values: \"age\" has numbers");
  section_finds(one({{"kind", "count"}, {"column", "sex"}, {"value", "other"}}),
                "/0/value: expected a value that data lists for \"sex\", got \"other\"");
  section_finds(one({{"kind", "count"}, {"column", "income"}, {"value", "middle"}}),
                "/0/value: expected a value that data lists for \"income\", got \"middle\"");
  EXPECT_EQ(one({{"kind", "count"}, {"column", "sex"}}), "accepted");  // of each value
  section_finds(one({{"kind", "mean"}, {"column", "age"}, {"value", "30"}}), "/0/value: unknown key");
  section_finds(one({{"kind", "mean"}}), "/0/column: missing");
  section_finds(one({{"kind", "missing"}, {"column", "hours"}}),
                "/0/column: expected a feature with a missing indicator, and \"hours\" has none");
  section_finds(one({{"kind", "missing"}, {"column", "sex"}}), "/0/column: expected a column of numbers");
  const Json twice = {{"kind", "mean"}, {"column", "age"}};
  section_finds(said_of_questions({twice, {{"kind", "mean"}, {"column", "hours"}}, twice}),
                "/statistics/questions/2/column: question 0 asks for the same");
  section_finds(said_of_questions(Json::array()),
                "/statistics/questions: expected an array of 1 to 256 objects, got one of 0");
  Json many = Json::array();
  for (int i = 0; i < 257; ++i) many.push_back(twice);
  section_finds(said_of_questions(many),
                "/statistics/questions: expected an array of 1 to 256 objects, got one of 257");
  Json job = statistics_job();
  job["statistics"]["every"] = 1;
  section_finds(said_of_section(job), "/statistics/every: unknown key");
}

TEST(StatisticsSectionTest, ClassesOfALabelHaveNoIndicators) {
  Json job = statistics_job();
  job["data"]["label"] = {{"column", "income"}, {"classes", {"low", "middle", "high"}}};
  section_finds(said_of_section(job),
                "/statistics/questions/3/column: expected a column with an indicator for each value");
}

TEST(StatisticsSectionTest, NothingOfATrainingJobStandsBesideThem) {
  for (const char* key :
       {"model", "domain", "regulariser", "algorithm", "evaluation", "initial", "projection", "aggregation", "wire"}) {
    Json job = statistics_job();
    job[key] = Json::object();
    const std::string said = said_of_section(job);
    section_finds(said, fmt::format("job.json: /{}: expected none beside statistics: ", key));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;  // one problem, no more
  }
  for (const char* key : {"clip_norm", "coordinate_bound", "calibration", "shuffle"}) {
    Json job = statistics_job();
    job["privacy"][key] = 1;
    const std::string said = said_of_section(job);
    section_finds(said, fmt::format("job.json: /privacy/{}: expected none: ", key));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  Json shuffled = statistics_job();
  shuffled["privacy"]["mode"] = "shuffle";
  section_finds(said_of_section(shuffled), "/privacy/mode: expected \"isrl\": no shuffler hides statistics");
  Json neither = statistics_job();
  neither.erase("statistics");
  section_finds(said_of_section(neither), "/model: missing");
  Json person = statistics_job();
  person["privacy"]["unit"] = "person";
  section_finds(said_of_section(person), "/privacy/person: missing, expected an object");
}

TEST(StatisticsSectionTest, NoAlgorithmKindNamesThemAndPoliciesDo) {
  const auto has = [](const std::vector<std::string_view>& names) {
    return std::find(names.begin(), names.end(), "statistics") != names.end();
  };
  EXPECT_FALSE(has(algorithms::algorithm_kinds()));
  EXPECT_TRUE(has(algorithms::method_names()));
}

TEST(StatisticsSectionTest, APureJobIsPlannedWithEqualShares) {
  const Job job = parse_job(statistics_job().dump(), "job.json").value();
  const planning::Schedule schedule = schedule_of(job);
  ASSERT_EQ(schedule.size(), 4U);
  for (const planning::ScheduledRounds& part : schedule) {
    const RoundSpec spec = round_spec(job, part.ask);
    EXPECT_TRUE(spec.statistic);
    EXPECT_EQ(spec.dimension, 1);
    EXPECT_EQ(spec.weight(job.cohort.front()), 1U);
  }
  const auto plans = plans_of(job);
  ASSERT_TRUE(plans) << plans.error().message;
  for (const auto& [silo, plan] : *plans) {
    EXPECT_EQ(plan.rounds(), 4U);
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GT(plan.epsilon().value_rounded_up(), 0.99);
    EXPECT_EQ(plan.delta().units(), 0U);
    EXPECT_TRUE(plan.cost(releases::Block::Training).gaussian.units() == 0);
  }
  const auto algorithm = make_algorithm(job);
  EXPECT_TRUE(std::holds_alternative<queries::Query>(algorithm->start()));
  EXPECT_TRUE(PlausibleCohort::of(job, "job.json"));
}

TEST(StatisticsSectionTest, EveryTargetPlansThem) {
  for (const Json& target : {Json{{"epsilon", 1}, {"delta", 1e-6}}, Json{{"rho", 0.1}, {"delta", 1e-6}}}) {
    Json job = statistics_job();
    for (Json& silo : job["cohort"]) {
      silo.erase("epsilon");
      silo.update(target);
    }
    const Result<Job> parsed = parse_job(job.dump(), "job.json");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto plans = plans_of(*parsed);
    EXPECT_TRUE(plans) << plans.error().message;
  }
}

}  // namespace
}  // namespace undertone::jobs
