#include "shared/jobs/metric_values.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace undertone::jobs {
namespace {

using algorithms::MetricsRow;

Job job_of(const std::string& label, const std::string& model, const std::string& detail, bool is_public = true) {
  nlohmann::json job = nlohmann::json::parse(R"({
    "format": "undertone.job/1",
    "data": {"features": [{"column": "age", "min": 0, "max": 120}]},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 1},
    "cohort": [{"silo": "a", "records": 400, "holdout_records": 100, "epsilon": 2, "delta": 1e-5},
               {"silo": "b", "records": 300, "holdout_records": 100, "epsilon": 2, "delta": 1e-5}]})");
  job["data"]["label"] = nlohmann::json::parse(label);
  job["model"]["kind"] = model;
  job["evaluation"]["metrics"] = detail;
  for (nlohmann::json& member : job["cohort"]) member["holdout_public"] = is_public;
  Result<Job> parsed = parse_job(job.dump(), "job");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

Job two_classes(const std::string& detail) {
  return job_of(R"({"column": "sick", "negative": "no", "positive": "yes"})", "logistic", detail);
}

Job number(const std::string& detail) {
  return job_of(R"({"column": "charge", "min": 100, "max": 300})", "least_squares", detail);
}

Job three_classes(const std::string& detail) {
  return job_of(R"({"column": "kind", "classes": ["x", "y", "z"]})", "softmax", detail);
}

std::map<std::string, MetricValue> by_name(const Job& job, const MetricsRow& row) {
  std::map<std::string, MetricValue> out;
  for (MetricValue& one : metric_values(job, row)) out.emplace(one.name, one);
  return out;
}

/// loss, accuracy, share of positives, of predicted ones; bins 8 and 12 of either class.
MetricsRow detailed_row(double accuracy, double positive, double said) {
  MetricsRow row{10, 2, {0.5, accuracy, positive, said}, 0.0};
  row.values.resize(4 + 40, 0.0);
  return row;
}

TEST(MetricValuesTest, ABasicRowOfTwoClassesSaysItsMetricsAndTheLargerClass) {
  const Job job = two_classes("basic");
  const MetricsRow row{10, 2, {0.5, 0.875, 0.25}, 0.0};
  const auto values = by_name(job, row);
  EXPECT_EQ(values.size(), 4U);
  EXPECT_EQ(values.at("majority_class_accuracy").value, 0.75);
  EXPECT_FALSE(values.at("accuracy").noise_stddev);
  EXPECT_FALSE(confusion_table(job, row));
  EXPECT_EQ(verdicts(job, row),
            (std::vector<std::string>{"accuracy 0.875: better than always saying the largest class, 0.75"}));
}

// Of 16 records 4 are positive; 3 are said to be, 2 of them rightly. So 2 are missed and 1 is wrongly said: 11 + 2 are
// right.
TEST(MetricValuesTest, TheConfusionTableFollowsFromThreeShares) {
  const MetricsRow row = detailed_row(13.0 / 16.0, 4.0 / 16.0, 3.0 / 16.0);
  const std::optional<ConfusionTable> table = confusion_table(two_classes("detailed"), row);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(table->shares, (std::vector<std::vector<double>>{{11.0 / 16.0, 1.0 / 16.0}, {2.0 / 16.0, 2.0 / 16.0}}));
  EXPECT_FALSE(table->noise_stddev);
}

// Negatives: 6/16 in bin 8, 2/16 in bin 12. Positives: 2/16 in bin 8, 6/16 in bin 12. Of 64 pairs 6 * 6 are in order,
// 6 * 2 + 2 * 6 tie: (36 + 12) / 64.
TEST(MetricValuesTest, TheAucCountsTiesInABinHalf) {
  MetricsRow row = detailed_row(0.75, 0.5, 0.5);
  row.values[4 + 8] = 6.0 / 16.0;
  row.values[4 + 12] = 2.0 / 16.0;
  row.values[4 + 20 + 8] = 2.0 / 16.0;
  row.values[4 + 20 + 12] = 6.0 / 16.0;
  const auto values = by_name(two_classes("detailed"), row);
  EXPECT_DOUBLE_EQ(values.at("auc").value, 0.75);
  // Without positives there are no pairs.
  for (std::size_t b = 0; b < 20; ++b) row.values[4 + 20 + b] = 0.0;
  EXPECT_FALSE(by_name(two_classes("detailed"), row).contains("auc"));
}

TEST(MetricValuesTest, AConstantPredictionIsSaid) {
  const std::vector<std::string> said = verdicts(two_classes("detailed"), detailed_row(0.75, 0.25, 0.0));
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "accuracy 0.75: exactly as good as always saying the largest class, 0.75");
  EXPECT_EQ(said[1], "it says \"no\" of every record: a constant prediction");
}

TEST(MetricValuesTest, ALossAtItsCapHasDiverged) {
  const std::vector<std::string> said = verdicts(two_classes("basic"), {10, 2, {3.99, 0.5, 0.75}, 0.0});
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "accuracy 0.5: worse than always saying the largest class, 0.75");
  EXPECT_EQ(said[1].substr(0, 62), "its loss is 3.99, and losses are counted up to 4: it has diver");
}

// Labels from 100 to 300: a share of 0.2 is 40. squared 0.01 is an RMSE of 0.1 * 200; the labels' variance is
// 0.34 - 0.25 = 0.09, their deviation 0.3 * 200; R^2 = 1 - 0.01 / 0.09. Predictions: 0.29 - 0.25 = 0.04, 0.2 * 200.
TEST(MetricValuesTest, ANumberIsJudgedInItsOwnUnit) {
  const Job job = number("detailed");
  const MetricsRow row{10, 2, {0.02, 0.18, 0.01, 0.08, 0.5, 0.34, 0.5, 0.29}, 0.0};
  const auto values = by_name(job, row);
  EXPECT_NEAR(values.at("rmse").value, 20.0, 1e-9);
  EXPECT_NEAR(values.at("mae").value, 16.0, 1e-9);
  EXPECT_NEAR(values.at("r_squared").value, 8.0 / 9.0, 1e-12);
  EXPECT_NEAR(values.at("label_mean").value, 200.0, 1e-9);
  EXPECT_NEAR(values.at("label_stddev").value, 60.0, 1e-9);
  EXPECT_NEAR(values.at("prediction_stddev").value, 40.0, 1e-9);
  EXPECT_EQ(verdicts(job, row),
            (std::vector<std::string>{"RMSE 20: better than always saying the mean, 60 (R^2 0.8889)"}));
  // The same of every record: its variance is 0.
  const MetricsRow constant{10, 2, {0.02, 0.18, 0.09, 0.25, 0.5, 0.34, 0.5, 0.25}, 0.0};
  const std::vector<std::string> said = verdicts(job, constant);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1], "it says nearly the same of every record: a constant prediction");
}

TEST(MetricValuesTest, ABasicNumberIsComparedWithTheMiddleOfItsBounds) {
  EXPECT_EQ(verdicts(number("basic"), {10, 2, {0.2, 0.1}, 0.0}),
            (std::vector<std::string>{"loss 0.2: worse than always saying the middle of the label's bounds, 0.1"}));
}

TEST(MetricValuesTest, SeveralClassesHaveATableAndTheLargestOfThem) {
  const Job job = three_classes("detailed");
  MetricsRow row{10, 2, {0.5, 0.5, /*x*/ 0.25, 0.25, 0.0, /*y*/ 0.0, 0.25, 0.0, /*z*/ 0.125, 0.125, 0.0}, 0.0};
  const std::optional<ConfusionTable> table = confusion_table(job, row);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->shares[2], (std::vector<double>{0.125, 0.125, 0.0}));
  EXPECT_EQ(by_name(job, row).at("majority_class_accuracy").value, 0.5);
  EXPECT_EQ(verdicts(job, row).front(), "accuracy 0.5: exactly as good as always saying the largest class, 0.5");
}

// Deviation s of each metric as a share of its scale: the loss is clipped at 4, so 4 s; the table's shares are half of
// three metrics' sum, s sqrt(3) / 2; an RMSE of range r at squared error q moves by r (sqrt(q) - sqrt(q - s)) at most.
TEST(MetricValuesTest, NoiseIsPassedOnToWhatFollows) {
  MetricsRow row = detailed_row(0.8, 0.25, 0.25);
  row.noise_stddev = 0.01;
  const auto values = by_name(two_classes("detailed"), row);
  EXPECT_NEAR(*values.at("loss").noise_stddev, 0.04, 1e-12);
  EXPECT_NEAR(*values.at("accuracy").noise_stddev, 0.01, 1e-12);
  EXPECT_NEAR(*values.at("majority_class_accuracy").noise_stddev, 0.01, 1e-12);
  EXPECT_NEAR(*confusion_table(two_classes("detailed"), row)->noise_stddev, std::sqrt(3.0) / 200.0, 1e-12);
  const MetricsRow noised{10, 2, {0.02, 0.18, 0.01, 0.08, 0.5, 0.34, 0.5, 0.29}, 0.001};
  EXPECT_NEAR(*by_name(number("detailed"), noised).at("rmse").noise_stddev,
              200.0 * (std::sqrt(0.01) - std::sqrt(0.009)), 1e-9);
  // 0.8 against 0.75 with 1.96 sqrt(2) 0.02 = 0.055 between them.
  row.noise_stddev = 0.02;
  EXPECT_EQ(verdicts(two_classes("detailed"), row).front(),
            "accuracy 0.8 (± 0.039): cannot be told from always saying the largest class, 0.75: noise hides "
            "differences below 0.055; with more held out, or a larger epsilon, smaller ones would show");
}

TEST(MetricValuesTest, WhatNoiseMayHideIsNotSaid) {
  // Nobody is said to be positive, and with noise of .2 on each share nobody knows.
  MetricsRow row = detailed_row(0.75, 0.25, 0.0);
  row.noise_stddev = 0.2;
  EXPECT_EQ(verdicts(two_classes("detailed"), row).size(), 1U);
  row.noise_stddev = 0.001;
  ASSERT_EQ(verdicts(two_classes("detailed"), row).size(), 2U);
  EXPECT_EQ(verdicts(two_classes("detailed"), row).back(),
            "it says \"no\" of nearly every record: a constant prediction");
  // Numbers: an R^2 of .5 with much noise, and with little.
  MetricsRow numbers{10, 2, {0.02, 0.18, 0.045, 0.18, 0.5, 0.34, 0.5, 0.25}, 0.02};
  std::vector<std::string> said = verdicts(number("detailed"), numbers);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.front().find("cannot be told from always saying the mean"), std::string::npos) << said.front();
  EXPECT_NE(said.front().find("noise hides an R^2 below"), std::string::npos) << said.front();
  numbers.noise_stddev = 0.003;
  said = verdicts(number("detailed"), numbers);
  EXPECT_NE(said.front().find("better than always saying the mean"), std::string::npos) << said.front();
  EXPECT_EQ(said.size(), 1U);  // whether it says the same of all is still hidden
}

TEST(MetricValuesTest, ALossAboveThatOfOneHalfIsSaid) {
  MetricsRow row = detailed_row(0.8, 0.25, 0.25);
  const auto says_it = [&] {
    const std::vector<std::string> said = verdicts(two_classes("detailed"), row);
    return std::any_of(said.begin(), said.end(), [](const std::string& one) {
      return one.find("ranks records, and is none") != std::string::npos;
    });
  };
  row.values[0] = 0.7;
  EXPECT_TRUE(says_it());
  row.noise_stddev = 0.01;  // of a loss that is clipped at 4: 0.04
  EXPECT_FALSE(says_it());
  row = detailed_row(0.8, 0.25, 0.25);
  row.values[0] = 0.69;
  EXPECT_FALSE(says_it());
}

TEST(MetricValuesTest, ARowOfAnotherModelSaysNothing) {
  EXPECT_TRUE(metric_values(two_classes("detailed"), {10, 2, {0.5, 0.8, 0.25}, 0.0}).empty());
  EXPECT_TRUE(verdicts(two_classes("detailed"), {10, 2, {0.5, 0.8, 0.25}, 0.0}).empty());
}

TEST(MetricValuesTest, AreShownWithHalfOfTheirInterval) {
  EXPECT_EQ(shown_values({{"accuracy", 0.9381, 0.01}, {"loss", 0.2011, std::nullopt}}),
            "  accuracy 0.9381 ± 0.0196  loss 0.2011");
}

// What enters the clip of an evaluation: named metrics lie in [-1/2, 1/2], and of the bins one is 1.
TEST(MetricValuesTest, ADetailedEvaluationIsAskedWithTheNormOfItsRecords) {
  EXPECT_DOUBLE_EQ(two_classes("basic").model->metric_norm(), std::sqrt(3.0) / 2.0);
  EXPECT_DOUBLE_EQ(two_classes("detailed").model->metric_norm(), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(number("detailed").model->metric_norm(), std::sqrt(8.0) / 2.0);
  EXPECT_DOUBLE_EQ(three_classes("detailed").model->metric_norm(), std::sqrt(1.5));
  const Job job = two_classes("detailed");
  const planning::Schedule schedule = schedule_of(job);
  EXPECT_EQ(schedule.back().ask.dimension, 44);
  EXPECT_DOUBLE_EQ(schedule.back().ask.clip().value(), std::sqrt(2.0));
}

TEST(MetricValuesTest, MoreClassesThanATableHasAreRefused) {
  nlohmann::json label = {{"column", "kind"}, {"classes", nlohmann::json::array()}};
  for (int i = 0; i < 33; ++i) label["classes"].push_back(fmt::format("c{}", i));
  nlohmann::json job = nlohmann::json::parse(R"({
    "format": "undertone.job/1", "data": {"features": [{"column": "age", "min": 0, "max": 120}]},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 1},
    "model": {"kind": "softmax"}, "evaluation": {"metrics": "detailed"},
    "cohort": [{"silo": "a", "records": 400, "holdout_records": 100, "holdout_public": true, "epsilon": 2,
                "delta": 1e-5}]})");
  job["data"]["label"] = label;
  const Result<Job> refused = parse_job(job.dump(), "job");
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "job: /evaluation/metrics: expected \"basic\": a confusion table is of at most 32 classes, the label has 33");
}

}  // namespace
}  // namespace undertone::jobs
