#include "shared/jobs/released_function.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/config/json_section.hpp"
#include "shared/jobs/function_degrees.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/stated_choices.hpp"
#include "shared/jobs/statistics_widths.hpp"

/// Functions that jobs release: what they may ask, what is chosen, what can be asked later.
namespace undertone::jobs {
namespace {

using Json = nlohmann::json;
using algorithms::FunctionAsked;
using algorithms::StatisticsSettings;
using statistics::Quantifier;

const statistics::Confidence k95 = statistics::Confidence::create(0.95).value();

/// Encoded: 0 age, 1 hours, 2 smoker=no, 3 smoker=yes, 4 .. 6 ward, 7 the label.
Json job_asking(const Json& questions, double delta = 1e-6, std::int64_t records = 1000) {
  Json job = Json::parse(R"({
    "format": "undertone.job/1", "name": "census",
    "data": {"label": {"column": "sick", "negative": "no", "positive": "yes"},
             "features": [{"column": "age", "min": 20, "max": 80},
                          {"column": "hours", "min": 0, "max": 100},
                          {"column": "smoker", "categories": ["no", "yes"]},
                          {"column": "ward", "categories": ["a", "b", "c"]}]},
    "statistics": {},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "holdout_records": 0, "holdout_public": false, "epsilon": 1},
               {"silo": "b", "holdout_records": 0, "holdout_public": false, "epsilon": 1}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
  for (Json& silo : job["cohort"]) {
    silo["delta"] = delta;
    silo["records"] = records;
  }
  job["statistics"]["questions"] = questions;
  return job;
}

std::string said_of_function(const Json& question, double delta = 1e-6, std::int64_t records = 1000) {
  const Result<Job> parsed = parse_job(job_asking(Json::array({question}), delta, records).dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}
Job job_of(const Json& question, double delta = 1e-6, std::int64_t records = 1000) {
  return parse_job(job_asking(Json::array({question}), delta, records).dump(), "job.json").value();
}
const FunctionAsked& function_of(const Job& job) {
  return std::get<FunctionAsked>(job.algorithm.as<StatisticsSettings>()->questions.front().what);
}
void finds(const std::string& said, const std::string& problem) {
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

const Json kMarginals = {{"kind", "marginals"}, {"columns", {"smoker", "ward", "sick"}}, {"width", 3}};
const Json kKernels = {{"kind", "kernels"}, {"columns", {"age", "hours"}}};
const Json kLoss = {{"kind", "loss"}, {"columns", {"age"}}, {"response", "sick"}};

Json with(Json question, const char* key, const Json& value) {
  question[key] = value;
  return question;
}

TEST(FunctionQuestionTest, OfTwoValuesTheSecondSaysWhatTheFirstIs) {
  const Job job = job_of(kMarginals);
  const auto& of = std::get<algorithms::MarginalsOf>(function_of(job).of);
  ASSERT_EQ(of.literals.size(), 5U);
  EXPECT_EQ(of.literals[0].value, "yes");
  EXPECT_EQ(of.literals[0].other, "no");
  EXPECT_EQ(of.literals[1].value, "a");
  EXPECT_EQ(of.literals[1].other, "");
  EXPECT_EQ(of.literals[4].column, "sick");
  EXPECT_EQ(of.literals[4].other, "no");
}

TEST(FunctionQuestionTest, WhatIsLeftOpenIsChosenFromPublicNumbersAlone) {
  EXPECT_EQ(std::get<algorithms::MarginalsOf>(function_of(job_of(kMarginals)).of).degree, 3U);
  const auto terms = [](double delta, std::int64_t records) {
    return std::get<algorithms::KernelsOf>(function_of(job_of(kKernels, delta, records)).of).terms;
  };
  EXPECT_LT(terms(1e-6, 200), terms(1e-6, 20'000));
  const auto degree = [](const Json& question, std::int64_t records) {
    return std::get<algorithms::LossOf>(function_of(job_of(question, 0.0, records)).of).degree;
  };
  const Json reported = with(kLoss, "form", "reports");
  EXPECT_LT(degree(reported, 10'000), degree(reported, 1'000'000));
  EXPECT_GT(degree(kLoss, 10'000), degree(reported, 10'000));
  EXPECT_EQ(degree(with(reported, "degree", 7), 10'000), 7U);
}

TEST(FunctionQuestionTest, EachSiloPaysForTotalsAsMuchAsItPromisesAndARecordForItsReport) {
  for (const Json& question : {kMarginals, kKernels, kLoss}) {
    SCOPED_TRACE(question.dump());
    for (const bool reports : {false, true}) {
      const Job job = job_of(reports ? with(question, "form", "reports") : question, reports ? 0.0 : 1e-6, 4000);
      const planning::Plan plan = plan_of(job, job.cohort.front()).value();
      EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0 + 1e-9);
      EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
      const planning::Release* release = plan.release({0});
      EXPECT_EQ(std::holds_alternative<mechanisms::LocalReports>(release->mechanism), reports);
      std::map<SiloId, planning::Plan> plans;
      for (const CohortMember& member : job.cohort) plans.emplace(member.facts.silo, plan_of(job, member).value());
      const std::vector<PlannedWidth> widths = planned_widths(job, plans).value();
      ASSERT_EQ(widths.size(), 1U);
      EXPECT_EQ(widths[0].as_sum.has_value(), reports);
      EXPECT_EQ(widths[0].as_reports.has_value(), !reports);
      EXPECT_GT(reports ? widths[0].half_width / *widths[0].as_sum : *widths[0].as_reports / widths[0].half_width, 1.5);
    }
  }
}

TEST(FunctionQuestionTest, SaysWhatCannotBeAsked) {
  finds(said_of_function(with(kMarginals, "width", 6)),
        "/width: expected at most the 5 values that are asked about, got 6");
  finds(said_of_function(with(kMarginals, "degree", 4)), "/degree: expected at most the width, 3, got 4");
  finds(said_of_function(with(kMarginals, "columns", {"age"})), "expected a column with listed values");
  finds(said_of_function(with(kKernels, "columns", {"ward"})), "expected a column of numbers");
  finds(said_of_function(with(kKernels, "columns", {"age", "age"})), "expected each column once");
  finds(said_of_function(with(kLoss, "columns", {"age", "hours", "ward"})), "expected 2 columns at most, got 3");
  finds(said_of_function(with(kLoss, "response", "ward")), "expected a column of numbers");
  finds(said_of_function(with(kLoss, "columns", {"hours", "gone"})),
        "expected a feature or the label of data, got \"gone\"");
  finds(said_of_function(with(kLoss, "columns", {"hour"})), "got \"hour\"; do you mean \"hours\"?");
  finds(said_of_function(with(kLoss, "parameter_bound", 0)), "/parameter_bound");
  // Ten records and more for each number.
  finds(said_of_function(with(with(kLoss, "form", "reports"), "degree", 20), 0.0, 1000),
        "silo a has 1000 records that report on 441 numbers, one each: ten times as many as numbers are needed");
  finds(said_of_function(with(with(kLoss, "intercept", false), "degree", 1025)), "/degree");
  finds(said_of_function(with(with(kLoss, "columns", {"age", "hours"}), "degree", 200)),
        "more than 65536 numbers would be released");
  Json many = Json::array();
  for (int i = 0; i < 17; ++i) many.push_back(kLoss);
  finds(parse_job(job_asking(many).dump(), "job.json").error().message, "more than 16 questions of kind marginals");
  Json twice = job_asking(Json::array({with(kLoss, "form", "reports"), kMarginals}), 0.0, 100'000);
  EXPECT_TRUE(parse_job(twice.dump(), "job.json"));
}

/// What a run would have found of some records, without noise.
ReleasedFunction exactly(const FunctionAsked& asked, const std::vector<std::vector<double>>& records) {
  const statistics::FeatureMap map = algorithms::features_of(asked);
  ReleasedFunction out{asked, Eigen::VectorXd::Zero(statistics::dimension(map))};
  for (const std::vector<double>& record : records) {
    Eigen::VectorXd own(out.means.size());
    statistics::contribution(map, {std::span(record).first(7), record[7]}, own);
    out.means += own / static_cast<double>(records.size());
  }
  out.records = static_cast<std::int64_t>(records.size());
  out.noise_stddev = 0.01;
  return out;
}

/// age, hours, smoker no, yes, ward a, b, c, sick: every combination, some more often than others.
std::vector<std::vector<double>> ward_records() {
  std::vector<std::vector<double>> out;
  for (int smoker = 0; smoker < 2; ++smoker)
    for (int ward = 0; ward < 3; ++ward)
      for (int sick = 0; sick < 2; ++sick)
        for (int copies = 0; copies < 1 + smoker + 2 * ward * sick; ++copies)
          out.push_back({-0.5 + 0.3 * ward + 0.1 * copies, 0.2 * sick - 0.1 * smoker, 1.0 - smoker, 1.0 * smoker,
                         ward == 0 ? 1.0 : 0.0, ward == 1 ? 1.0 : 0.0, ward == 2 ? 1.0 : 0.0, sick == 1 ? 1.0 : -1.0});
  return out;
}

double share(const std::vector<std::vector<double>>& records,
             const std::function<bool(const std::vector<double>&)>& holds) {
  double out = 0.0;
  for (const std::vector<double>& record : records) out += holds(record) ? 1.0 : 0.0;
  return out / static_cast<double>(records.size());
}

TEST(ReleasedFunctionTest, MarginalsAreTheSharesOfTheRecords) {
  const std::vector<std::vector<double>> records = ward_records();
  const ReleasedFunction found = exactly(function_of(job_of(with(kMarginals, "degree", 3))), records);
  const auto all = [&](const std::vector<AskedValue>& values) {
    return *marginal(found, Quantifier::All, values, k95)->value;
  };
  const auto any = [&](const std::vector<AskedValue>& values) {
    return *marginal(found, Quantifier::Any, values, k95)->value;
  };
  EXPECT_NEAR(all({{"smoker", "yes"}}), share(records, [](const auto& r) { return r[3] == 1.0; }), 1e-12);
  EXPECT_NEAR(all({{"smoker", "no"}}), share(records, [](const auto& r) { return r[2] == 1.0; }), 1e-12);
  EXPECT_NEAR(all({{"smoker", "no"}, {"ward", "b"}, {"sick", "no"}}),
              share(records, [](const auto& r) { return r[2] == 1.0 && r[5] == 1.0 && r[7] < 0.0; }), 1e-12);
  EXPECT_NEAR(all({{"smoker", "no"}, {"sick", "no"}}),
              share(records, [](const auto& r) { return r[2] == 1.0 && r[7] < 0.0; }), 1e-12);
  EXPECT_NEAR(any({{"smoker", "yes"}, {"ward", "a"}}),
              share(records, [](const auto& r) { return r[3] == 1.0 || r[4] == 1.0; }), 1e-12);
  EXPECT_NEAR(any({{"smoker", "no"}, {"ward", "c"}, {"sick", "yes"}}),
              share(records, [](const auto& r) { return r[2] == 1.0 || r[6] == 1.0 || r[7] > 0.0; }), 1e-12);
  EXPECT_NEAR(all({{"ward", "a"}, {"ward", "b"}}), 0.0, 1e-12);
  // One released share: its own noise; "no" of two values is 1 less the other, of as much noise.
  EXPECT_DOUBLE_EQ(marginal(found, Quantifier::All, {{"smoker", "no"}}, k95)->noise_stddev, 0.01);
}

TEST(ReleasedFunctionTest, WiderMarginalsAreWithinTheErrorThatTheySay) {
  const std::vector<std::vector<double>> records = ward_records();
  ReleasedFunction found = exactly(function_of(job_of(with(kMarginals, "degree", 2))), records);
  found.noise_stddev = 0.0;
  const statistics::Stated all =
      marginal(found, Quantifier::All, {{"smoker", "yes"}, {"ward", "c"}, {"sick", "yes"}}, k95).value();
  const double truth = share(records, [](const auto& r) { return r[3] == 1.0 && r[6] == 1.0 && r[7] > 0.0; });
  EXPECT_LE(std::abs(*all.value - truth), 1.0 / 7.0 + 1e-12);  // gamma of three literals at degree 2
  EXPECT_TRUE(all.noise.holds(truth));
  EXPECT_NE(all.note.find("within 0.143 of what was asked"), std::string::npos) << all.note;
  const statistics::Stated any =
      marginal(found, Quantifier::Any, {{"smoker", "no"}, {"ward", "a"}, {"sick", "no"}}, k95).value();
  EXPECT_TRUE(any.noise.holds(share(records, [](const auto& r) { return r[2] == 1.0 || r[4] == 1.0 || r[7] < 0.0; })));
}

TEST(ReleasedFunctionTest, SaysWhichMarginalItDoesNotKnow) {
  const ReleasedFunction found = exactly(function_of(job_of(kMarginals)), ward_records());
  const auto said = [&](const std::vector<AskedValue>& values) {
    return marginal(found, Quantifier::All, values, k95).error().message;
  };
  finds(said({{"smoker", "maybe"}}), "\"maybe\" is no value of \"smoker\", expected \"yes\", \"no\"");
  finds(said({{"age", "40"}}), "\"age\" is no column that was asked about");
  finds(said({{"smoker", "yes"}, {"smoker", "no"}}), "asked twice, or with its opposite");
  finds(said({}), "expected 1 to 3 values");
  finds(said({{"ward", "a"}, {"ward", "b"}, {"ward", "c"}, {"sick", "no"}}), "expected 1 to 3 values");
  finds(risk_at(found, Eigen::VectorXd::Zero(2), k95).error().message, "this is a function of kind marginals");
  finds(kernel_mean(found, {}, 1.0, k95).error().message, "this is a function of kind marginals");
  EXPECT_FALSE(parse_asked_value("age"));
  EXPECT_FALSE(parse_asked_value("=1"));
  EXPECT_FALSE(parse_asked_value("age="));
  EXPECT_EQ(parse_asked_value("a=b=c")->value, "b=c");
}

/// A draw costs a hair less than its share, whatever the promises are: the ends are chosen for that.
TEST(FunctionQuestionTest, EndsOfSelectedQuantilesAreStatedWhateverThePromisesAre) {
  const Json selected = {{"kind", "selected_quantile"}, {"column", "age"}, {"bins", 16}, {"probabilities", {0.5}}};
  for (const double epsilon : {0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0}) {
    for (const double delta : {0.0, 1e-9, 1e-6, 1e-5, 1e-3}) {
      SCOPED_TRACE(testing::Message() << epsilon << " " << delta);
      Json written = job_asking(Json::array({selected}), delta, 5000);
      written["cohort"].erase(1);
      written["cohort"][0]["epsilon"] = epsilon;
      const Job job = parse_job(written.dump(), "job.json").value();
      const planning::Plan plan = plan_of(job, job.cohort.front()).value();
      const auto& questions = job.algorithm.as<StatisticsSettings>()->questions;
      ASSERT_EQ(questions.size(), 2U);
      for (std::size_t i = 0; i < questions.size(); ++i) {
        const std::vector<std::int64_t> cell{7};
        const StatedQuestion stated =
            state_choice(questions[i], {{5000, &plan.segments()[i].release, &cell}}, k95).value();
        EXPECT_TRUE(stated.estimates.front().stated.value.has_value()) << stated.estimates.front().stated.note;
      }
    }
  }
  // Of several silos each has an answer of its own, and the plan says so.
  const Job two = job_of(selected, 0.0, 5000);
  std::map<SiloId, planning::Plan> plans;
  for (const CohortMember& member : two.cohort) plans.emplace(member.facts.silo, plan_of(two, member).value());
  const std::vector<PlannedWidth> widths = planned_widths(two, plans).value();
  ASSERT_EQ(widths.size(), 2U);
  ASSERT_FALSE(widths[0].warnings.empty());
  finds(widths[0].warnings.back(), "cells that silos choose do not add up");
}

/// Whoever may propose a job may write any of these: none takes time or memory before it is refused.
TEST(ReleasedFunctionTest, WhatNobodyCouldAnswerIsRefusedAtOnce) {
  const Json selected = {{"kind", "selected_quantile"}, {"column", "age"}, {"bins", 4096}};
  finds(said_of_function(with(selected, "probabilities", std::vector<double>(20'000, 0.5))),
        "expected 1 to 8 numbers in (0, 1), got 20000 of them");
  for (const double p : {0.0, 1.0, -0.5, 1.5})
    finds(said_of_function(with(selected, "probabilities", {p})),
          fmt::format("expected 1 to 8 numbers in (0, 1), got {}", p));
  finds(said_of_function(with(kLoss, "degree", 257)), "expected a degree of 256 at most");
  finds(said_of_function(with(with(kLoss, "columns", {"age"}), "degree", 256)),
        "more than 65536 numbers would be released");
  const Json many = {{"kind", "table"}, {"columns", std::vector<std::string>(20'000, "ward")}};
  finds(said_of_function(many), "expected each column once");
  // The largest grid of a loss that is taken has an order without a search.
  const FunctionAsked large = function_of(job_of(with(kLoss, "degree", 255), 1e-6, 1'000'000));
  EXPECT_EQ(std::get<algorithms::LossOf>(large.of).order, 2U);
}

TEST(ReleasedFunctionTest, KernelsAreMeansOverTheRecords) {
  const std::vector<std::vector<double>> records = ward_records();
  ReleasedFunction found = exactly(function_of(job_of(with(kKernels, "terms", 16))), records);
  found.noise_stddev = 0.0;
  double truth = 0.0;
  for (const auto& r : records)
    truth += std::exp(-(std::pow(r[0] - 0.0, 2) + std::pow(r[1] - 0.2, 2)) / (2.0 * 0.25)) /
             static_cast<double>(records.size());
  // age 50 is 0, hours 60 is 0.2.
  const statistics::Stated stated = kernel_mean(found, {{"hours", 60.0}, {"age", 50.0}}, 0.5, k95).value();
  EXPECT_NEAR(*stated.value, truth, 1e-6);
  EXPECT_TRUE(stated.noise.holds(truth));
  // What a series of so few cosines cannot say is said to be unknown.
  for (const double narrow : {0.1, 0.02, 1e-3}) {
    double share = 0.0;
    for (const auto& r : records)
      share += std::exp(-(std::pow(r[0], 2) + std::pow(r[1] - 0.2, 2)) / (2.0 * narrow * narrow)) /
               static_cast<double>(records.size());
    const statistics::Stated said = kernel_mean(found, {{"hours", 60.0}, {"age", 50.0}}, narrow, k95).value();
    EXPECT_TRUE(said.noise.holds(share)) << narrow;
  }
  EXPECT_FALSE(kernel_mean(found, {{"hours", 60.0}, {"age", 50.0}}, 1e-9, k95));
  finds(kernel_mean(found, {{"hours", 60.0}}, 0.5, k95).error().message, "expected a value of \"age\", too");
  finds(kernel_mean(found, {{"hours", 60.0}, {"age", 50.0}, {"size", 1.0}}, 0.5, k95).error().message,
        "\"size\" is none of the columns");
  EXPECT_FALSE(kernel_mean(found, {{"hours", 60.0}, {"hours", 50.0}}, 0.5, k95));
  EXPECT_FALSE(kernel_mean(found, {{"hours", 160.0}, {"age", 50.0}}, 0.5, k95));
  EXPECT_FALSE(kernel_mean(found, {{"hours", 60.0}, {"age", 50.0}}, 0.0, k95));
}

TEST(ReleasedFunctionTest, ARiskIsThatOfTheRecordsAndItsLeastIsFound) {
  const std::vector<std::vector<double>> records = ward_records();
  ReleasedFunction found = exactly(function_of(job_of(with(with(kLoss, "degree", 24), "order", 4))), records);
  found.noise_stddev = 0.0;
  const auto truth = [&](double w, double b) {
    double out = 0.0;
    for (const auto& r : records)
      out += statistics::value_of(statistics::ScalarLoss::Logistic, w * r[0] + b, r[7]) /
             static_cast<double>(records.size());
    return out;
  };
  for (const Eigen::Vector2d& w : {Eigen::Vector2d(0.0, 0.0), Eigen::Vector2d(1.5, -0.5), Eigen::Vector2d(-4.0, 4.0)}) {
    const statistics::Stated stated = risk_at(found, w, k95).value();
    EXPECT_NEAR(*stated.value, truth(w[0], w[1]), 2e-3);
    EXPECT_LE(stated.noise.low, truth(w[0], w[1]) + 1e-12);  // at a corner the polynomial is the risk but for rounding
    EXPECT_GE(stated.noise.high, truth(w[0], w[1]) - 1e-12);
  }
  const ReleasedMinimum least = least_risk(found).value();
  double best = INFINITY;
  for (double w = -4.0; w <= 4.0; w += 0.05)
    for (double b = -4.0; b <= 4.0; b += 0.05) best = std::min(best, truth(w, b));
  EXPECT_LE(truth(least.parameters[0], least.parameters[1]), best + 1e-3);
  EXPECT_FALSE(risk_at(found, Eigen::Vector2d(4.5, 0.0), k95));
  EXPECT_FALSE(risk_at(found, Eigen::Vector3d::Zero(), k95));
  EXPECT_FALSE(risk_at(found, Eigen::Vector2d(NAN, 0.0), k95));
}

TEST(ReleasedFunctionTest, IsReadBackFromAResult) {
  for (const Json& question : {kMarginals, kKernels, kLoss, with(kLoss, "form", "reports")}) {
    SCOPED_TRACE(question.dump());
    const ReleasedFunction found =
        exactly(function_of(job_of(question, question.contains("form") ? 0.0 : 1e-6)), ward_records());
    const std::string text = to_json(found).dump();
    const config::JsonDocument document = config::parse_json(text, "r").value();
    config::Problems problems("r");
    const ReleasedFunction read = parse_released_function(config::Section(document.root, "", problems));
    ASSERT_TRUE(problems.none()) << problems.error().message;
    EXPECT_EQ(to_json(read).dump(), text);
    EXPECT_EQ(read.means, found.means);
  }
}

TEST(ReleasedFunctionTest, OfPersonsItSaysHowEachOfThemCounts) {
  ReleasedFunction found = exactly(function_of(job_of(kLoss)), ward_records());
  EXPECT_EQ(found.of_whom(), fmt::format("of {} records", found.records));
  found.person_records_max = 16;
  EXPECT_EQ(found.of_whom(),
            fmt::format("of {} persons, each by the mean over 16 of her records at most", found.records));
  const config::JsonDocument document = config::parse_json(to_json(found).dump(), "r").value();
  config::Problems problems("r");
  EXPECT_EQ(parse_released_function(config::Section(document.root, "", problems)).person_records_max, 16);
  EXPECT_TRUE(problems.none());
}

TEST(ReleasedFunctionTest, AFileThatLiesIsRefused) {
  const ReleasedFunction found = exactly(function_of(job_of(kLoss)), ward_records());
  const auto said = [&](const char* key, const Json& value) {
    Json changed = Json::parse(to_json(found).dump());
    changed[key] = value;
    const config::JsonDocument document = config::parse_json(changed.dump(), "r").value();
    config::Problems problems("r");
    (void)parse_released_function(config::Section(document.root, "", problems));
    return problems.none() ? std::string("accepted") : problems.error().message;
  };
  EXPECT_EQ(said("records", 5), "accepted");
  EXPECT_NE(said("records", 0), "accepted");
  EXPECT_NE(said("degree", 1000), "accepted");
  EXPECT_NE(said("means", Json::array({1, 2})), "accepted");
  EXPECT_NE(said("noise_stddev", -1), "accepted");
  EXPECT_NE(said("kind", "other"), "accepted");
  EXPECT_NE(said("columns", Json::array()), "accepted");
  EXPECT_NE(said("order", 9), "accepted");
}

}  // namespace
}  // namespace undertone::jobs
