#include "shared/jobs/group_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/base/random_source.hpp"
#include "shared/jobs/metric_values.hpp"

namespace undertone::jobs {
namespace {

Job job_of_groups(const std::string& categories, bool is_public = true) {
  nlohmann::json job = nlohmann::json::parse(R"({
    "format": "undertone.job/1",
    "data": {"label": {"column": "hired", "negative": "no", "positive": "yes"},
             "features": [{"column": "age", "min": 0, "max": 120}]},
    "model": {"kind": "logistic"},
    "evaluation": {"metrics": "groups"},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 1},
    "cohort": [{"silo": "a", "records": 400, "holdout_records": 100, "epsilon": 2, "delta": 1e-5}]})");
  job["data"]["sensitive"] = {{{"column", "sex"}, {"categories", nlohmann::json::parse(categories)}}};
  job["cohort"][0]["holdout_public"] = is_public;
  Result<Job> parsed = parse_job(job.dump(), "job");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

/// Of two groups: truth no and yes, said no and yes.
algorithms::MetricsRow row_of(double noise) {
  return {10, 1, {0.5, 0.8, 0.4, 0.30, 0.10, 0.05, 0.15, 0.20, 0.00, 0.12, 0.08}, noise};
}

double value_of(const std::vector<MetricValue>& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.name == name; });
  return found == values.end() ? NAN : found->value;
}

TEST(GroupMetricsTest, ATableByHand) {
  const Job job = job_of_groups(R"(["f", "m"])");
  const GroupTables tables = group_tables(job, row_of(0.0)).value();
  ASSERT_EQ(tables.groups.size(), 2U);
  EXPECT_EQ(tables.groups[0].name, "sex=f");
  EXPECT_NEAR(tables.groups[0].share, 0.6, 1e-12);
  EXPECT_NEAR(tables.groups[0].accuracy->value, 0.75, 1e-12);
  EXPECT_NEAR(tables.groups[0].said[1].value, 0.25 / 0.6, 1e-12);
  EXPECT_NEAR(tables.groups[1].said[1].value, 0.08 / 0.4, 1e-12);
  EXPECT_NEAR(tables.groups[0].said_of[1][1].value, 0.75, 1e-12);
  EXPECT_NEAR(tables.groups[1].said_of[1][1].value, 0.4, 1e-12);
  const std::vector<MetricValue> gaps = group_gaps(tables);
  EXPECT_NEAR(value_of(gaps, "demographic_parity_difference"), 0.25 / 0.6 - 0.2, 1e-12);
  // Of two groups and two classes it is the larger share times the difference.
  EXPECT_NEAR(value_of(gaps, "demographic_parity_from_all"), 0.6 * (0.25 / 0.6 - 0.2), 1e-12);
  EXPECT_NEAR(value_of(gaps, "equal_opportunity_difference"), 0.35, 1e-12);
  EXPECT_NEAR(value_of(gaps, "equalized_odds_difference"), 0.35, 1e-12);
  for (const MetricValue& gap : gaps) EXPECT_FALSE(gap.noise_stddev) << gap.name;
  const std::vector<MetricValue> all = metric_values(job, row_of(0.0));
  EXPECT_NEAR(value_of(all, "demographic_parity_difference"), 0.25 / 0.6 - 0.2, 1e-12);
  EXPECT_TRUE(std::isnan(value_of(all, "auc")));
}

TEST(GroupMetricsTest, TheDeviationOfARateIsThatOfManyDrawsOfTheNoise) {
  const Job job = job_of_groups(R"(["f", "m"])");
  constexpr double kNoise = 0.004;
  const GroupTables tables = group_tables(job, row_of(kNoise)).value();
  RandomSource random(5);
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
  };
  constexpr int kDraws = 20'000;
  double squares = 0.0;
  double of_label = 0.0;
  double from_all = 0.0;
  for (int i = 0; i < kDraws; ++i) {
    algorithms::MetricsRow drawn = row_of(0.0);
    for (std::size_t m = 3; m < drawn.values.size(); ++m) drawn.values[m] += kNoise * normal();
    const GroupTables other = group_tables(job, drawn).value();
    squares += std::pow(other.groups[0].said[1].value - tables.groups[0].said[1].value, 2);
    of_label += std::pow(other.groups[1].said_of[1][1].value - tables.groups[1].said_of[1][1].value, 2);
    from_all += std::pow(value_of(group_gaps(other), "demographic_parity_from_all") -
                             value_of(group_gaps(tables), "demographic_parity_from_all"),
                         2);
  }
  const std::vector<MetricValue> gaps = group_gaps(tables);
  const auto all = std::find_if(gaps.begin(), gaps.end(),
                                [](const MetricValue& gap) { return gap.name == "demographic_parity_from_all"; });
  EXPECT_NEAR(std::sqrt(from_all / kDraws) / all->noise_stddev.value(), 1.0, 0.03);
  EXPECT_NEAR(std::sqrt(squares / kDraws) / tables.groups[0].said[1].stddev, 1.0, 0.03);
  EXPECT_NEAR(std::sqrt(of_label / kDraws) / tables.groups[1].said_of[1][1].stddev, 1.0, 0.03);
}

TEST(GroupMetricsTest, WhereThereIsNoGapOneIsSaidInOneOfTwentyCasesAtMost) {
  const Job job = job_of_groups(R"(["a", "b", "c", "d", "e", "f"])");
  RandomSource random(6);
  const auto normal = [&] {
    return std::sqrt(-2.0 * std::log(1.0 - random.unit())) * std::cos(6.283185307179586 * random.unit());
  };
  constexpr double kNoise = 0.0008;
  constexpr int kDraws = 2'000;
  int parity = 0;
  int odds = 0;
  for (int i = 0; i < kDraws; ++i) {
    algorithms::MetricsRow row{10, 1, {0.5, 0.8, 0.4}, kNoise};
    for (const double share : {0.5, 0.2, 0.1, 0.1, 0.06, 0.04})
      for (const double part : {0.5, 0.1, 0.1, 0.3}) row.values.push_back(share * part + kNoise * normal());
    const std::vector<std::string> said = group_verdicts(group_tables(job, row).value());
    const auto claims = [&](const char* notion) {
      return std::any_of(said.begin(), said.end(), [&](const std::string& sentence) {
        return sentence.starts_with(notion) && sentence.find("no more than") == std::string::npos;
      });
    };
    parity += claims("demographic parity") ? 1 : 0;
    odds += claims("equalised odds") ? 1 : 0;
  }
  EXPECT_LE(parity, kDraws / 20 + 40);
  EXPECT_LE(odds, kDraws / 20 + 40);
  EXPECT_GT(odds, 0);
}

TEST(GroupMetricsTest, AGroupThatIsTooSmallSaysNothing) {
  const Job job = job_of_groups(R"(["f", "m", "x"])", false);
  algorithms::MetricsRow row = row_of(0.002);
  row.values.insert(row.values.end(), {0.004, -0.001, 0.002, 0.005});
  const GroupTables tables = group_tables(job, row).value();
  EXPECT_FALSE(tables.groups[2].accuracy);
  EXPECT_TRUE(tables.groups[2].said.empty());
  const std::vector<std::string> said = group_verdicts(tables);
  EXPECT_EQ(said.back(), "1 group is too small to say: sex=x");
  EXPECT_NE(said[said.size() - 2].find("the largest of noised differences"), std::string::npos);
  for (const MetricValue& gap : group_gaps(tables)) EXPECT_GT(gap.noise_stddev.value(), 0.0) << gap.name;
  // Without noise, and without a record.
  row.noise_stddev = 0.0;
  std::fill(row.values.end() - 4, row.values.end(), 0.0);
  EXPECT_FALSE(group_tables(job, row)->groups[2].accuracy);
}

TEST(GroupMetricsTest, AreOfJobsThatNameGroupsAndClasses) {
  const auto refusal = [](const char* pointer, const char* value) {
    nlohmann::json job = nlohmann::json::parse(R"({"format":"undertone.job/1",
      "data":{"label":{"column":"hired","negative":"no","positive":"yes"},
              "features":[{"column":"age","min":0,"max":120}],
              "sensitive":[{"column":"sex","categories":["f","m"]}]},
      "model":{"kind":"logistic"},"evaluation":{"metrics":"groups"},
      "privacy":{"mode":"isrl","unit":"record","noise":"secure","clip_norm":1},
      "cohort":[{"silo":"a","records":400,"holdout_records":100,"holdout_public":true,"epsilon":2,"delta":1e-5}]})");
    job[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
    const Result<Job> parsed = parse_job(job.dump(), "job");
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(refusal("/name", "\"fits\""), "");
  EXPECT_NE(refusal("/data", R"({"label":{"column":"hired","negative":"no","positive":"yes"},
                                 "features":[{"column":"age","min":0,"max":120}]})")
                .find("data/sensitive names no column"),
            std::string::npos);
  EXPECT_NE(refusal("/algorithm", R"({"kind":"dp_fermi","rounds":5,"step_size":1,"lambda":-1,"draw_fraction":1})")
                .find("/algorithm/lambda"),
            std::string::npos);
  EXPECT_NE(
      refusal("/algorithm",
              R"({"kind":"dp_fermi","rounds":5,"step_size":1,"lambda":10,"weights_step_size":0.06,"draw_fraction":1})")
          .find("at most 1 / (2 lambda) = 0.05"),
      std::string::npos);
  EXPECT_NE(refusal("/algorithm",
                    R"({"kind":"dp_fermi","rounds":5,"step_size":1,"lambda":1,"shares":[0.5],"draw_fraction":1})")
                .find("/algorithm/shares: expected 2 numbers"),
            std::string::npos);
  EXPECT_EQ(refusal("/algorithm", R"({"kind":"dp_fermi","rounds":5,"step_size":1,"lambda":1,"draw_fraction":1})"), "");
}

/// A job of dp_fermi that protects the attribute alone, with one value changed; why it is refused, or nothing.
std::string refusal_of_attribute(const char* pointer, const char* value) {
  nlohmann::json job = nlohmann::json::parse(R"({"format":"undertone.job/1",
    "data":{"label":{"column":"hired","negative":"no","positive":"yes"},
            "features":[{"column":"age","min":0,"max":120}],
            "sensitive":[{"column":"sex","categories":["f","m"]}]},
    "model":{"kind":"logistic"},"evaluation":{"metrics":"groups"},
    "algorithm":{"kind":"dp_fermi","rounds":500,"step_size":1,"lambda":1,"draw_fraction":1},
    "privacy":{"mode":"isrl","unit":"sensitive_attribute","noise":"secure","clip_norm":1},
    "cohort":[{"silo":"a","records":4000,"holdout_records":100,"holdout_public":true,"epsilon":2,"delta":1e-5}]})");
  job[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
  const Result<Job> parsed = parse_job(job.dump(), "job");
  return parsed ? std::string() : parsed.error().message;
}

bool says(const std::string& message, const char* what) { return message.find(what) != std::string::npos; }

TEST(AttributeAloneTest, WhatWouldTellTheGroupOrWhoWasDrawnIsRefused) {
  EXPECT_EQ(refusal_of_attribute("/name", "\"fits\""), "");
  EXPECT_TRUE(says(refusal_of_attribute("/algorithm/draw_fraction", "0.5"), "drawing protects nobody"));
  EXPECT_TRUE(says(refusal_of_attribute("/data/sensitive/0/also_feature", "true"), "features are not protected"));
  EXPECT_TRUE(says(refusal_of_attribute("/data/sensitive/0/missing", R"(["?"])"), "values that are not known"));
  EXPECT_TRUE(says(refusal_of_attribute("/data/features/0/column", "\"sex\""), "also_feature"));
  EXPECT_TRUE(
      says(refusal_of_attribute(
               "/algorithm",
               R"({"kind":"noisy_minibatch_sgd","rounds":5,"step_size":1,"averaging":"last","draw_fraction":1})"),
           "protects whole records"));
  EXPECT_TRUE(says(refusal_of_attribute("/aggregation", R"({"kind":"mean","missing_silos":"scaled"})"),
                   "answers are relative to a centre"));
}

TEST(AttributeAloneTest, TablesOfGroupsAreBoundedOverAllEvaluations) {
  nlohmann::json many = nlohmann::json::array();
  for (int i = 0; i < 300; ++i) many.push_back(fmt::format("v{}", i));
  EXPECT_TRUE(says(refusal_of_attribute("/data/sensitive/0/categories", many.dump().c_str()),
                   "expected at most 256 groups to compare"));
  many.erase(many.begin() + 200, many.end());
  nlohmann::json sensitive = {{{"column", "sex"}, {"categories", many}}};
  EXPECT_EQ(refusal_of_attribute("/data/sensitive", sensitive.dump().c_str()), "");
  nlohmann::json job = {{"every", 0}, {"metrics", "groups"}};
  EXPECT_EQ(refusal_of_attribute("/evaluation", job.dump().c_str()), "");
}

}  // namespace
}  // namespace undertone::jobs
