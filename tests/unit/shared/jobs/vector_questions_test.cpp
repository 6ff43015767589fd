#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/crypto/test_bits.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/jobs/stated_vectors.hpp"
#include "shared/jobs/statistics_widths.hpp"

/// Questions about records as vectors: what jobs may ask, what it costs, what is stated of the answers.
namespace undertone::jobs {
namespace {

using Json = nlohmann::json;
using algorithms::LinearModelAsked;
using algorithms::StatisticsSettings;
using algorithms::VectorMeanAsked;

Json job_of_vectors(const Json& questions, double delta = 1e-6, std::int64_t public_records = 20) {
  Json job = Json::parse(R"({
    "format": "undertone.job/1", "name": "vectors",
    "data": {"label": {"column": "sick", "negative": "no", "positive": "yes"},
             "features": [{"column": "age", "min": 20, "max": 80},
                          {"column": "sex", "categories": ["female", "male"]},
                          {"column": "hours", "min": 0, "max": 100}]},
    "statistics": {},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 1},
               {"silo": "b", "records": 500, "holdout_records": 0, "holdout_public": false, "epsilon": 1}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
  for (Json& silo : job["cohort"]) {
    silo["delta"] = delta;
    if (public_records > 0) silo["public_records"] = public_records;
  }
  job["statistics"]["questions"] = questions;
  return job;
}

Result<Job> parsed(const Json& job) { return parse_job(job.dump(), "job.json"); }
std::string said_of_vectors(const Json& question, double delta = 1e-6) {
  const Result<Job> job = parsed(job_of_vectors(Json::array({question}), delta));
  return job ? "accepted" : job.error().message;
}
const StatisticsSettings& settings_of_vectors(const Job& job) { return *job.algorithm.as<StatisticsSettings>(); }
void vectors_find(const std::string& said, const std::string& problem) {
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

const Json kMean = {{"kind", "vector_mean"}, {"columns", {"age", "hours"}}, {"norm", 1}};
const Json kModel = {{"kind", "linear_model"}, {"columns", {"age", "sex"}}, {"response", "sick"}};
Json with(Json question, const Json& more) {
  question.update(more);
  return question;
}

TEST(VectorQuestionsTest, PublicRecordsAreAskedForFirstAndCostNothing) {
  const Job job = parsed(job_of_vectors(Json::array({with(kMean, {{"public_records", "weighted"}})}))).value();
  ASSERT_EQ(settings_of_vectors(job).questions.size(), 2U);
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  const planning::Release& open = *plan.release({0});
  EXPECT_TRUE(open.is_public());
  EXPECT_EQ(open.ask.records.block, releases::Block::Public);
  EXPECT_EQ(open.records_drawn, 20);
  EXPECT_TRUE(open.cost().is_zero());
  EXPECT_EQ(open.ask.dimension, 3);  // and the squared length
  const planning::Release& own = *plan.release({1});
  EXPECT_FALSE(own.is_public());
  EXPECT_EQ(own.records_drawn, 1000);
  // The protected question has all of the promise.
  EXPECT_GT(plan.epsilon().value_rounded_up(), 0.99);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_TRUE(round_spec(job, open.ask).exact(job.cohort.front()));
  EXPECT_EQ(round_spec(job, open.ask).records(job.cohort.front()), 20);
  EXPECT_FALSE(round_spec(job, own.ask).exact(job.cohort.front()));
}

TEST(VectorQuestionsTest, ThrowingAwayReadsNoProtectedRecord) {
  const Job job = parsed(job_of_vectors(Json::array({with(kMean, {{"public_records", "throw_away"}})}))).value();
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  EXPECT_EQ(plan.rounds(), 1U);
  EXPECT_FALSE(plan.protects(releases::Block::Training));
  EXPECT_EQ(plan.epsilon().units(), 0U);
}

TEST(VectorQuestionsTest, ReportsHaveTheLawOfTheirRandomiser) {
  const Job directions = parsed(job_of_vectors(Json::array({with(kMean, {{"form", "reports"}})}))).value();
  EXPECT_EQ(settings_of_vectors(directions).noise, statistics::NoiseKind::Laplace);
  const planning::Plan plan = plan_of(directions, directions.cohort.front()).value();
  EXPECT_EQ(plan.release({0})->answer_size(), 2000);
  EXPECT_GT(plan.release({0})->cost().pure.value_rounded_up(), 0.999);
  EXPECT_LE(plan.release({0})->cost().pure.value_rounded_up(), 1.0);
  const Job models = parsed(job_of_vectors(Json::array({with(kModel, {{"form", "reports"}})}))).value();
  EXPECT_EQ(settings_of_vectors(models).noise, statistics::NoiseKind::Gaussian);
  const planning::Plan noised = plan_of(models, models.cohort.front()).value();
  EXPECT_TRUE(noised.release({0})->cost().is_gaussian());
  EXPECT_LE(noised.epsilon().value_rounded_up(), 1.0);
  const auto& model = std::get<LinearModelAsked>(settings_of_vectors(models).questions[0].what);
  EXPECT_EQ(model.degree, 1U);  // sigma = 9: no more is taken
  EXPECT_EQ(model.columns.size(), 3U);
  // Copies share what is promised: five of two numbers, and their releases cost what one does.
  const Json copies = with(kModel, {{"form", "reports"}, {"copies", true}, {"degree", 2}});
  const Job seven = parsed(job_of_vectors(Json::array({copies}))).value();
  const planning::Plan of_copies = plan_of(seven, seven.cohort.front()).value();
  EXPECT_EQ(of_copies.release({0})->answer_size(), 1000 * 7 * 3);
  EXPECT_LE(of_copies.epsilon().value_rounded_up(), 1.0);
}

TEST(VectorQuestionsTest, RefusesWhatIsNone) {
  vectors_find(said_of_vectors(with(kMean, {{"norm", 1e-310}})), "/0/norm");
  vectors_find(said_of_vectors(with(kMean, {{"norm", 0}})), "/0/norm");
  vectors_find(said_of_vectors(with(kMean, {{"columns", {"age", "age"}}})), "each column once");
  vectors_find(said_of_vectors(with(kMean, {{"columns", {"nobody"}}})), "expected a feature or the label");
  vectors_find(said_of_vectors(with(kMean, {{"columns", {"sick"}}})), "/0/columns");
  vectors_find(said_of_vectors(with(kMean, {{"public_records", "weighted"}, {"spread", 2}})), "/0/spread");
  vectors_find(said_of_vectors(with(kMean, {{"spread", 0.5}})), "/0/spread");
  vectors_find(said_of_vectors(with(kMean, {{"columns", {"age"}}, {"form", "reports"}})), "two or more");
  vectors_find(
      said_of_vectors(with(kMean, {{"form", "reports"}, {"adapter", "normalise"}, {"public_records", "empirical"}})),
      "normalised reports");
  vectors_find(said_of_vectors(with(kMean, {{"adapter", "lift"}})), "/0/adapter");
  vectors_find(said_of_vectors(with(kMean, {{"form", "reports"}, {"randomiser", "gaussian"}}), 0.0), "delta above 0");
  vectors_find(said_of_vectors(with(kModel, {{"response", "age"}})), "a label of two values");
  vectors_find(said_of_vectors(with(kModel, {{"degree", 3}})), "/0/degree: expected 1");
  vectors_find(said_of_vectors(with(kModel, {{"copies", true}})), "/0/copies");
  vectors_find(said_of_vectors(kModel, 0.0), "every silo needs a delta above 0");
  vectors_find(said_of_vectors(with(kModel, {{"form", "reports"}}), 0.0), "delta above 0");
  vectors_find(said_of_vectors(with(kModel, {{"degree", 6}, {"form", "reports"}})), "/0/degree");
  Json mixed = job_of_vectors(Json::array({with(kModel, {{"form", "reports"}}), with(kMean, {{"form", "reports"}})}));
  const Result<Job> both = parsed(mixed);
  ASSERT_FALSE(both);
  // A silo that has no public records has no plan for a question of them.
  const Job none =
      parsed(job_of_vectors(Json::array({with(kMean, {{"public_records", "weighted"}})}), 1e-6, 0)).value();
  EXPECT_FALSE(plan_of(none, none.cohort.front()));
}

const Json kHours = {{"kind", "linear_model"}, {"columns", {"age", "sex"}}, {"response", "hours"}};

TEST(VectorQuestionsTest, ResidualsAreOfTheResponseBesideItsColumns) {
  const Job job =
      parsed(
          job_of_vectors(Json::array({with(
              kHours, {{"loss", "quantile"}, {"probability", 0.75}, {"intercept", true}, {"parameter_bound", 0.75}})})))
          .value();
  const auto& model = std::get<LinearModelAsked>(settings_of_vectors(job).questions[0].what);
  EXPECT_TRUE(model.of_residual);
  EXPECT_EQ(model.columns.size(), 3U);
  EXPECT_DOUBLE_EQ(model.radius, std::sqrt(5.0));  // (x, y, 1)
  EXPECT_DOUBLE_EQ(model.smoothing, 0.25 / std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(model.reach(), 1.25);
  const releases::Ask ask = algorithms::ask_of(settings_of_vectors(job).questions[0], statistics::NoiseKind::Gaussian);
  EXPECT_EQ(ask.dimension, 5 + 15);
  vectors_find(planned_widths(job, plans_of(job).value()).value().front().of, "mean of (x, y) over the norm");
  // A label of two values is a number, too.
  EXPECT_EQ(said_of_vectors(with(kModel, {{"loss", "absolute"}})), "accepted");
  EXPECT_EQ(said_of_vectors(with(kModel, {{"loss", "piecewise"}, {"kinks", {0.0, 0.5}}, {"slopes", {-1, -0.5, 0}}})),
            "accepted");
}

TEST(VectorQuestionsTest, RefusesLossesThatAreNone) {
  vectors_find(said_of_vectors(with(kHours, {{"loss", "logistic"}})), "of numbers there are the losses absolute");
  vectors_find(said_of_vectors(with(kHours, {{"loss", "quantile"}})), "/0/probability");
  vectors_find(said_of_vectors(with(kHours, {{"loss", "quantile"}, {"probability", 0}})), "/0/probability");
  vectors_find(said_of_vectors(with(kHours, {{"loss", "absolute"}, {"probability", 0.5}})), "/0/probability");
  vectors_find(said_of_vectors(with(kHours, {{"loss", "absolute"}, {"columns", {"age", "hours"}}})),
               "which is the response");
  const Json piecewise = with(kHours, {{"loss", "piecewise"}, {"kinks", {0.0}}, {"slopes", {-1, 1}}});
  EXPECT_EQ(said_of_vectors(piecewise), "accepted");
  vectors_find(said_of_vectors(with(piecewise, {{"slopes", {1, -1}}})), "no other loss is convex");
  vectors_find(said_of_vectors(with(piecewise, {{"slopes", {-1}}})), "one slope more than there are kinks, 2, got 1");
  vectors_find(said_of_vectors(with(piecewise, {{"kinks", {1e300}}})), "/0/kinks");
  vectors_find(said_of_vectors(with(piecewise, {{"slopes", {-2, 1}}})), "in [-1, 1]");
}

TEST(StatedVectorsTest, AResidualsModelIsInTheUnitsOfItsColumns) {
  // y = 0.5 x + 0.1 of all records, in half ranges, x as far as 0.9: totals of (x, y, 1) have the line as their least
  // point whatever the slope's polynomial is, since it is 0 at 0.
  Json question = with(kHours, {{"loss", "absolute"}, {"columns", {"age"}}, {"intercept", true}});
  const Job job = parsed(job_of_vectors(Json::array({question}))).value();
  const auto& what = std::get<LinearModelAsked>(settings_of_vectors(job).questions[0].what);
  const std::map<SiloId, planning::Plan> plans = plans_of(job).value();
  std::vector<std::vector<std::int64_t>> numbers;
  for (const CohortMember& member : job.cohort) {
    std::vector<double> totals(9, 0.0);
    for (std::int64_t i = 0; i < member.facts.records; ++i) {
      const double x = i % 2 == 0 ? 0.9 : -0.5;
      const Eigen::Vector3d u = Eigen::Vector3d(x, 0.5 * x + 0.1, 1.0) / what.radius;
      std::size_t place = 0;
      for (int j = 0; j < 3; ++j) totals[place++] += u[j];
      for (int j = 0; j < 3; ++j) {
        totals[place++] += u[j] * u[j] / std::sqrt(2.0);
        for (int k = j + 1; k < 3; ++k) totals[place++] += u[j] * u[k];
      }
    }
    std::vector<std::int64_t>& said = numbers.emplace_back();
    for (const double total : totals) said.push_back(std::llround(total * 0x1p20));
  }
  std::vector<SiloTotals> totals;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    totals.push_back({job.cohort[i].facts.records, plans.at(job.cohort[i].facts.silo).release({0}), &numbers[i]});
  const StatedQuestion stated = state_linear_model(what, totals).value();
  ASSERT_EQ(stated.estimates.size(), 2U);
  // Ages are 20 .. 80, hours 0 .. 100: hours = 50 + 50 (0.5 (age - 50) / 30 + 0.1).
  EXPECT_EQ(stated.estimates[0].name, "age");
  EXPECT_NEAR(*stated.estimates[0].stated.value, 25.0 / 30.0, 1e-3);
  EXPECT_EQ(stated.estimates[1].name, "(intercept)");
  EXPECT_NEAR(*stated.estimates[1].stated.value, 55.0 - 50.0 * 25.0 / 30.0, 0.05);
  for (const NamedEstimate& estimate : stated.estimates)
    EXPECT_TRUE(estimate.stated.noise.holds(*estimate.stated.value));
}

TEST(VectorQuestionsTest, PlansSayWhatEveryEstimateIsExpectedToBeOff) {
  const Job job =
      parsed(job_of_vectors(Json::array({with(kMean, {{"public_records", "weighted"}, {"spread", 0.6}})}))).value();
  const auto widths = planned_widths(job, plans_of(job).value()).value();
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_EQ(widths[0].half_width, 0.0);
  // V / sqrt(n_pub) = 0.6 / sqrt(40) by public records alone.
  vectors_find(widths[1].of, "by the 40 public records alone 0.09487");
  const Job model = parsed(job_of_vectors(Json::array({kModel}))).value();
  const PlannedWidth width = planned_widths(model, plans_of(model).value()).value().front();
  // N17: reports of single records against totals: sqrt of the records, weighed by both silos'.
  ASSERT_TRUE(width.as_reports.has_value());
  EXPECT_NEAR(*width.as_reports / width.half_width, std::sqrt(1500.0 / 2.0), 1.0);
}

TEST(StatedVectorsTest, WithoutNoiseEveryEstimateIsTheMeanItIsOf) {
  // 1000 and 500 protected records with mean vectors (0.2, -0.1) and (0.5, 0.3), 40 public ones with (0.1, 0.1) and
  // squared lengths of 0.06 on average; the norm is 1.
  const double unit = 0x1p20;
  for (const char* how : {"weighted", "empirical"}) {
    SCOPED_TRACE(how);
    const Job job = parsed(job_of_vectors(Json::array({with(kMean, {{"public_records", how}})}))).value();
    const auto& what = std::get<VectorMeanAsked>(settings_of_vectors(job).questions[1].what);
    const std::map<SiloId, planning::Plan> plans = plans_of(job).value();
    const std::vector<std::vector<double>> own = {{200.0, -100.0}, {250.0, 150.0}};
    const std::vector<std::vector<double>> open = {{2.0, 2.0, 1.2}, {2.0, 2.0, 1.2}};
    std::vector<std::vector<std::int64_t>> numbers;
    for (const auto& totals : {own[0], own[1], open[0], open[1]}) {
      std::vector<std::int64_t>& said = numbers.emplace_back();
      for (const double total : totals) said.push_back(std::llround(total * unit));
    }
    std::vector<SiloTotals> protected_totals;
    std::vector<SiloTotals> public_totals;
    for (std::size_t i = 0; i < 2; ++i) {
      const planning::Plan& plan = plans.at(job.cohort[i].facts.silo);
      protected_totals.push_back({job.cohort[i].facts.records, plan.release({1}), &numbers[i]});
      public_totals.push_back({20, plan.release({0}), &numbers[2 + i]});
    }
    const statistics::Confidence confidence = statistics::Confidence::create(0.95).value();
    const StatedQuestion stated = state_with_public(what, protected_totals, public_totals, confidence).value();
    ASSERT_EQ(stated.estimates.size(), 4U);
    // Encoded 0.3 of ages 20 .. 80: 50 + 30 x 0.3.
    EXPECT_NEAR(*stated.estimates[0].stated.value, 50.0 + 30.0 * 0.3, 1e-6);
    EXPECT_NEAR(*stated.estimates[1].stated.value, 50.0 + 50.0 * (50.0 / 1500.0), 1e-6);
    ASSERT_TRUE(stated.combined.has_value());
    EXPECT_EQ(stated.combined->public_records, 40);
    // V^2 = (0.06 - 0.02) 40 / 39.
    EXPECT_NEAR(stated.combined->spread, std::sqrt(0.04 * 40.0 / 39.0), 1e-5);
    if (std::string(how) == "empirical") {
      EXPECT_NEAR(*stated.estimates[2].stated.value, 50.0 + 30.0 * (454.0 / 1540.0), 1e-5);
      EXPECT_NEAR(stated.combined->weight_of_public, 40.0 / 1540.0, 1e-12);
    } else {
      EXPECT_GT(stated.combined->weight_of_public, 40.0 / 1540.0);
      EXPECT_LT(stated.combined->expected_error, stated.combined->error_of_public);
      const double value = (*stated.estimates[2].stated.value - 50.0) / 30.0;
      EXPECT_GT(value, 0.1);
      EXPECT_LT(value, 0.5);
    }
    for (const NamedEstimate& estimate : stated.estimates)
      EXPECT_TRUE(estimate.stated.noise.holds(*estimate.stated.value));
  }
}

TEST(StatedVectorsTest, IntervalsOfDirectionsHoldTheMeanOftenEnough) {
  // 400 runs at 95 %: below 0.92 with probability 3e-3 were it exact; Bernstein's is wider, by Hoeffding's kind of
  // margin.
  const Job job = parsed(job_of_vectors(Json::array({with(kMean, {{"form", "reports"}})}), 0.0)).value();
  const auto& what = std::get<VectorMeanAsked>(settings_of_vectors(job).questions[0].what);
  const planning::Plan plan = plan_of(job, job.cohort[1]).value();
  const planning::Release& release = *plan.release({0});
  const auto& reports = std::get<mechanisms::LocalReports>(release.mechanism);
  const statistics::Confidence confidence = statistics::Confidence::create(0.95).value();
  crypto::TestBits bits(3, "directions", crypto::InsecureForTestsOnly{});
  Eigen::Vector2d vector(0.6, -0.3);
  int held = 0;
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::int64_t> totals(2);
    std::vector<std::int64_t> report(2);
    for (int i = 0; i < 500; ++i) {
      reports.randomise_vector(vector, report, bits);
      totals[0] += report[0];
      totals[1] += report[1];
    }
    const StatedQuestion stated = state_vector_mean(what, {{500, &release, &totals}}, confidence).value();
    held += stated.estimates[0].stated.noise.holds(50.0 + 30.0 * 0.6) ? 1 : 0;
  }
  EXPECT_GE(held, static_cast<int>(0.95 * kRuns));
}

}  // namespace
}  // namespace undertone::jobs
