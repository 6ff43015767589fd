#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/jobs/statistics_widths.hpp"
#include "shared/releases/choice_time.hpp"

/// Questions of more than one number: what jobs may ask, what noise they have, what is stated of the answers.
namespace undertone::jobs {
namespace {

using Json = nlohmann::json;
using algorithms::StatisticsSettings;

/// Encoded: 0 age, 1 sex=female, 2 sex=male, 3 hours, 4 the label.
Json job_of_question(const Json& questions, double delta = 1e-6) {
  Json job = Json::parse(R"({
    "format": "undertone.job/1", "name": "census",
    "data": {"label": {"column": "pay", "min": 0, "max": 1000},
             "features": [{"column": "age", "min": 20, "max": 80},
                          {"column": "sex", "categories": ["female", "male"]},
                          {"column": "hours", "min": 0, "max": 100}]},
    "statistics": {},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 1},
               {"silo": "b", "records": 500, "holdout_records": 0, "holdout_public": false, "epsilon": 1}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
  for (Json& silo : job["cohort"]) silo["delta"] = delta;
  job["statistics"]["questions"] = questions;
  return job;
}

std::string said_of_question(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}
std::string said_of_one(const Json& question, double delta = 1e-6) {
  return said_of_question(job_of_question(Json::array({question}), delta));
}

const StatisticsSettings& settings_of(const Job& job) { return *job.algorithm.as<StatisticsSettings>(); }

void question_finds(const std::string& said, const std::string& problem) {
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

const Json kReportedMean = {{"kind", "mean"}, {"column", "age"}, {"form", "reports"}};
const Json kReportedShare = {{"kind", "count"}, {"column", "sex"}, {"value", "male"}, {"form", "reports"}};
const Json kHistogram = {{"kind", "histogram"}, {"column", "age"}, {"bins", 6}};
const Json kTable = {{"kind", "table"}, {"columns", {"sex"}}};
const Json kVariance = {{"kind", "variance"}, {"column", "hours"}};
const Json kRegression = {{"kind", "regression"}, {"response", "pay"}, {"columns", {"age", "sex"}}};

TEST(StatisticQuestionsTest, LengthsOfGradientsEndWhereThePublicBoundsLetThem) {
  const Json question = {{"kind", "gradient_norms"}, {"loss", "squared"}};
  const Job job = parse_job(job_of_question(Json::array({question})).dump(), "job.json").value();
  const algorithms::StatisticAsked& asked = settings_of(job).questions[0];
  EXPECT_EQ(algorithms::kind_of(asked), "gradient_norms");
  const auto& histogram = std::get<algorithms::HistogramAsked>(asked.what);
  ASSERT_TRUE(histogram.gradients);
  EXPECT_EQ(histogram.gradients->point, std::vector<double>(5, 0.0));  // four encoded features and the intercept
  ASSERT_EQ(histogram.edges.size(), 25U);
  // At 0 a residual is 1 at most, and (x, 1) no longer than the root of 4: of sex one indicator is 1. A hundredth more,
  // in three digits, so that no exponential function decides.
  EXPECT_EQ(histogram.edges.back(), 2.02);
  EXPECT_EQ(histogram.edges[22], 1.01);
  EXPECT_DOUBLE_EQ(histogram.edges[23], 2.02 / std::sqrt(2.0));
  EXPECT_EQ(histogram.edges.front(), 0.0);
  Json at = question;
  at["intercept"] = false;
  at["point"] = {0.5, 0, 0, -0.5};
  at["bins"] = 4;
  const Job elsewhere = parse_job(job_of_question(Json::array({at})).dump(), "job.json").value();
  const auto& cells = std::get<algorithms::HistogramAsked>(settings_of(elsewhere).questions[0].what);
  EXPECT_EQ(cells.edges.back(), 3.5);  // |s| <= 1, so |s - y| <= 2: 2 sqrt(3) and a hundredth
  at["point"] = {0.5};
  question_finds(said_of_one(at), "/0/point: expected 4 numbers");
  at["point"] = {1e300, 0, 0, 0};
  question_finds(said_of_one(at), "/0/point: expected numbers of 1000000 at most");
  Json logistic = question;
  logistic["loss"] = "logistic";  // of a number
  question_finds(said_of_one(logistic), "/0/loss");
  Json two = job_of_question(Json::array({question, question}));
  question_finds(said_of_question(two), "expected one question of kind gradient_norms");
  Json bins = question;
  bins["bins"] = 65;
  question_finds(said_of_one(bins), "/0/bins");
}

TEST(StatisticQuestionsTest, EdgesAreThoseThatRecordsAreEncodedWith) {
  const Job job = parse_job(job_of_question(Json::array({kHistogram})).dump(), "job.json").value();
  const auto& histogram = std::get<algorithms::HistogramAsked>(settings_of(job).questions[0].what);
  EXPECT_EQ(histogram.edges, (std::vector<double>{20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(histogram.encoded.front(), -1.0);
  EXPECT_EQ(histogram.encoded[3], 0.0);  // 50 is the middle of 20 .. 80
  EXPECT_EQ(histogram.encoded.back(), 1.0);
  EXPECT_EQ(cell_names(settings_of(job).questions[0])[1], "(30, 40]");
}

TEST(StatisticQuestionsTest, ReportsAreOfEveryRecordAtTheWholeOfAQuestionsEpsilon) {
  const Json several = {
      {"kind", "mean"}, {"columns", {"age", "hours"}}, {"form", "reports"}, {"randomiser", "laplace"}};
  const Job job =
      parse_job(job_of_question(Json::array({kReportedMean, kReportedShare, several})).dump(), "job.json").value();
  EXPECT_EQ(settings_of(job).noise, statistics::NoiseKind::Laplace);
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  EXPECT_EQ(plan.rounds(), 3U);
  releases::EpsilonAmount all;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const planning::Release* release = plan.release({round});
    ASSERT_NE(release->ask.reports(), nullptr);
    EXPECT_EQ(release->answer_size(), 1000);
    const auto& reports = std::get<mechanisms::LocalReports>(release->mechanism);
    EXPECT_EQ(reports.kind(), round == 2 ? releases::Randomiser::Laplace : releases::Randomiser::Bit);
    EXPECT_EQ(release->cost().pure, reports.cost().pure);
    all = all.plus(reports.cost().pure).value();
    const RoundSpec spec = round_spec(job, release->ask);
    EXPECT_TRUE(spec.reports.has_value());
    EXPECT_EQ(spec.lattice.type, round == 2 ? queries::ReplyType::I64 : queries::ReplyType::I32);
  }
  EXPECT_EQ(plan.cost(releases::Block::Training).pure, all);
  EXPECT_LE(all.value_rounded_up(), 1.0);
  EXPECT_GT(all.value_rounded_up(), 0.999);
}

TEST(StatisticQuestionsTest, WhatReportsAndOneNoisedTotalWouldTellIsPlanned) {
  const Job job = parse_job(job_of_question(Json::array({kReportedMean}), 0.0).dump(), "job.json").value();
  const std::map<SiloId, planning::Plan> plans = plans_of(job).value();
  const auto widths = planned_widths(job, plans);
  ASSERT_TRUE(widths) << widths.error().message;
  ASSERT_EQ(widths->size(), 1U);
  // 1500 bits at epsilon 1: nearly 1.96 / (2 tanh(1/2) sqrt(1500)) of the range, 60 years.
  EXPECT_NEAR(widths->front().half_width, 60.0 * 1.96 / (2.0 * std::tanh(0.5) * std::sqrt(1500.0)), 0.25);
  // As a total: two Laplace laws of scale 2, on the mean of 1500 numbers in [-1, 1], half the range each.
  ASSERT_TRUE(widths->front().as_sum.has_value());
  EXPECT_NEAR(*widths->front().as_sum, 30.0 * 2.0 * 3.96 / 1500.0, 0.02);
}

TEST(StatisticQuestionsTest, RefusesReportsOfWhatHasNone) {
  Json gaussian = job_of_question(Json::array({kReportedMean}));
  gaussian["statistics"]["noise"] = "gaussian";
  question_finds(said_of_question(gaussian), "from reports of single records");
  Json weighed = job_of_question(Json::array({kReportedMean}));
  weighed["statistics"]["budget"] = "weights";
  question_finds(said_of_question(weighed), "expected the budget \"equal\"");
  question_finds(said_of_question(job_of_question(Json::array({kReportedMean, kRegression}))),
                 "is asked for with Gaussian noise alone");
  Json table = kReportedShare;
  table.erase("value");
  question_finds(said_of_one(table), "/0/form: expected reports on one value");
  Json both = kReportedMean;
  both["columns"] = {"age", "hours"};
  question_finds(said_of_one(both), "/0/column: expected none beside columns");
  question_finds(said_of_one({{"kind", "mean"}, {"columns", {"age"}}}), "/0/columns");
  question_finds(said_of_one({{"kind", "mean"}, {"column", "age"}, {"randomiser", "bit"}}), "/0/randomiser");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}, {"bins", 3}, {"form", "reports"}}), "/0/form");
  question_finds(said_of_one({{"kind", "mean"}, {"columns", {"age", "age"}}, {"form", "reports"}}), "each once");
  question_finds(said_of_one({{"kind", "mean"}, {"column", "age"}, {"form", "reports"}, {"half_width", 1.0}}),
                 "accepted");
}

TEST(StatisticQuestionsTest, RefusesWhatIsNone) {
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "sex"}, {"bins", 3}}),
                 "/0/column: expected a column of numbers");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "nobody"}, {"bins", 3}}),
                 "expected a feature or the label");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}}), "/0/bins: missing");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}, {"bins", 1}}), "/0/bins");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}, {"bins", 4097}}), "/0/bins");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}, {"edges", {20, 50, 50, 80}}}),
                 "/0/edges: expected ascending edges, got 50 after 50");
  question_finds(said_of_one({{"kind", "histogram"}, {"column", "age"}, {"edges", {20, 50, 90}}}),
                 "/0/edges: expected edges from 20 to 80, the bounds of \"age\"");
  question_finds(said_of_one({{"kind", "table"}, {"columns", {"age"}}}),
                 "/0/columns: expected a column with listed values");
  question_finds(said_of_one({{"kind", "table"}, {"columns", {"sex", "sex"}}}),
                 "/0/columns: expected each column once");
  question_finds(said_of_one({{"kind", "covariance"}, {"columns", {"age"}}}), "/0/columns: expected 2 to 64 columns");
  question_finds(said_of_one({{"kind", "covariance"}, {"columns", {"age", "sex"}}}),
                 "/0/columns: expected a column of numbers");
  question_finds(said_of_one({{"kind", "regression"}, {"response", "pay"}, {"columns", {"age", "pay"}}}),
                 "the response not among");
  question_finds(said_of_one({{"kind", "quantiles"}, {"column", "age"}, {"bins", 16}, {"probabilities", {0.5, 1.0}}}),
                 "/0/probabilities: expected 1 to 99 numbers in (0, 1)");
  // Covariances and regressions have Gaussian noise, which a delta of 0 does not keep.
  question_finds(said_of_one(kRegression, 0.0), "the regression of pay is asked for with Gaussian noise alone");
  Json laplace = job_of_question(Json::array({kRegression}));
  laplace["statistics"]["noise"] = "laplace";
  question_finds(said_of_question(laplace), "Gaussian noise alone");
  Json gaussian = job_of_question(Json::array({kHistogram}), 0.0);
  gaussian["statistics"]["noise"] = "gaussian";
  question_finds(said_of_question(gaussian), "/statistics: Gaussian noise keeps no promise of delta 0");
}

TEST(StatisticQuestionsTest, TablesHaveALimitOfCells) {
  Json job = job_of_question({{{"kind", "table"}, {"columns", {"c0", "c1", "c2", "c3", "c4"}}}});
  std::vector<std::string> values;
  values.reserve(10);
  for (int v = 0; v < 10; ++v) values.push_back(fmt::format("v{}", v));
  for (int c = 0; c < 5; ++c)
    job["data"]["features"].push_back({{"column", fmt::format("c{}", c)}, {"categories", values}});
  question_finds(said_of_question(job),
                 "/statistics/questions/0/columns: expected at most 12 columns and 65536 combinations");
  job["statistics"]["questions"][0]["columns"] = {"c0", "c1", "c2", "c3"};
  EXPECT_EQ(said_of_question(job), "accepted");
  // What all silos say is held: 10^4 cells of two silos three times are, of a thousand silos are not.
  Json silos = Json::array();
  for (int s = 0; s < 1000; ++s) {
    Json silo = job["cohort"][0];
    silo["silo"] = fmt::format("s{}", s);
    silos.push_back(silo);
  }
  job["cohort"] = silos;
  question_finds(said_of_question(job), "a coordinator holds at most");
}

TEST(StatisticQuestionsTest, TheCheaperNoiseIsChosen) {
  const auto noise_of_job = [](const Json& questions, double delta) {
    return settings_of(parse_job(job_of_question(questions, delta).dump(), "job.json").value()).noise;
  };
  // One histogram: Laplace at any delta (spec statistics 3). Without a delta everything is.
  EXPECT_EQ(noise_of_job(Json::array({kHistogram}), 1e-6), statistics::NoiseKind::Laplace);
  EXPECT_EQ(noise_of_job({kHistogram, kTable, kVariance}, 0.0), statistics::NoiseKind::Laplace);
  EXPECT_EQ(noise_of_job({kHistogram, kRegression}, 1e-6), statistics::NoiseKind::Gaussian);
  // Twenty questions of one weight: epsilon falls as 1/20, mu as 1/sqrt(20).
  Json many = Json::array();
  for (int i = 0; i < 20; ++i) many.push_back({{"kind", "histogram"}, {"column", "age"}, {"bins", 2 + i}});
  EXPECT_EQ(noise_of_job(many, 1e-6), statistics::NoiseKind::Gaussian);
}

TEST(StatisticQuestionsTest, SharesAreSpentWholeAndNoMore) {
  Json job = job_of_question({kHistogram, kTable, kVariance});
  job["statistics"]["budget"] = "weights";
  job["statistics"]["questions"][1]["weight"] = 16.0;
  for (const char* noise : {"laplace", "gaussian"}) {
    SCOPED_TRACE(noise);
    job["statistics"]["noise"] = noise;
    const Job parsed = parse_job(job.dump(), "job.json").value();
    const auto plans = plans_of(parsed);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const auto& [silo, plan] : *plans) {
      EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
      EXPECT_GT(plan.epsilon().value_rounded_up(), 0.999);
      EXPECT_EQ(plan.rounds(), 3U);
    }
  }
}

TEST(StatisticQuestionsTest, HalfWidthsAreMetAndTheRestIsNotSpent) {
  Json job = job_of_question({kHistogram, kTable});
  job["statistics"]["budget"] = "half_widths";
  job["statistics"]["questions"][0]["half_width"] = 40;
  question_finds(said_of_question(job), "/statistics: the counts of sex: expected half_width");
  job["statistics"]["questions"][1]["half_width"] = 25;
  for (const char* noise : {"laplace", "gaussian"}) {
    SCOPED_TRACE(noise);
    job["statistics"]["noise"] = noise;
    const Job parsed = parse_job(job.dump(), "job.json").value();
    const auto plans = plans_of(parsed);
    ASSERT_TRUE(plans) << plans.error().message;
    EXPECT_LT(plans->begin()->second.epsilon().value_rounded_up(), 0.99);
    const auto widths = planned_widths(parsed, *plans);
    ASSERT_TRUE(widths) << widths.error().message;
    EXPECT_LE((*widths)[0].half_width, 40.0 * 1.001);
    EXPECT_GT((*widths)[0].half_width, 38.0);
    EXPECT_LE((*widths)[1].half_width, 25.0 * 1.001);
  }
  job["statistics"]["questions"][1]["half_width"] = 0.5;
  const Job wanted = parse_job(job.dump(), "job.json").value();
  EXPECT_FALSE(plans_of(wanted));  // more than is promised
}

TEST(StatisticQuestionsTest, PlansWarnWhereIntervalsSayNothing) {
  Json job = job_of_question({{{"kind", "histogram"}, {"column", "age"}, {"bins", 4096}}, kRegression});
  for (Json& silo : job["cohort"]) silo["epsilon"] = 0.01;
  const Job parsed = parse_job(job.dump(), "job.json").value();
  const auto widths = planned_widths(parsed, plans_of(parsed).value());
  ASSERT_TRUE(widths) << widths.error().message;
  ASSERT_FALSE((*widths)[0].warnings.empty());
  question_finds((*widths)[0].warnings[0], "4096 cells for 1500 records: a cell has 0.37 on average");
  ASSERT_FALSE((*widths)[1].warnings.empty());
  question_finds((*widths)[1].warnings[0], "every coefficient will be refused");
}

/// What silos say without any noise, as their plans' releases would have it on the wire.
struct Noiseless {
  Job job;
  std::map<SiloId, planning::Plan> plans;
  std::vector<std::vector<std::int64_t>> totals;  // of each silo

  Noiseless(const Json& question, const std::vector<std::vector<double>>& real)
      : job(parse_job(job_of_question(Json::array({question})).dump(), "job.json").value()),
        plans(plans_of(job).value()) {
    const releases::Ask& ask = plans.begin()->second.segments().front().release.ask;
    const int step = round_spec(job, ask).lattice.step_log2;
    for (const std::vector<double>& silo : real) {
      std::vector<std::int64_t>& own = totals.emplace_back();
      for (const double value : silo) own.push_back(std::llround(std::ldexp(value, -step)));
    }
  }
  [[nodiscard]] StatedQuestion state() const {
    std::vector<SiloTotals> silos;
    for (std::size_t i = 0; i < totals.size(); ++i) {
      const CohortMember& member = job.cohort[i];
      silos.push_back({member.facts.records, plans.at(member.facts.silo).release({0}), &totals[i]});
    }
    return state_question(settings_of(job).questions[0], settings_of(job), silos).value();
  }
};

TEST(StatedQuestionsTest, CellsAreCountsOfAllSilos) {
  const StatedQuestion stated = Noiseless(kTable, {{600, 400}, {200, 300}}).state();
  ASSERT_EQ(stated.estimates.size(), 2U);
  EXPECT_EQ(stated.estimates[0].name, "sex=female");
  EXPECT_DOUBLE_EQ(*stated.estimates[0].stated.value, 800.0);
  EXPECT_DOUBLE_EQ(*stated.estimates[1].stated.value, 700.0);
  EXPECT_LT(stated.estimates[0].stated.noise.low, 800.0);
  EXPECT_GT(stated.estimates[0].stated.noise.high, 800.0);
  EXPECT_FALSE(stated.estimates[0].stated.population);  // was not asked for
}

TEST(StatedQuestionsTest, VarianceIsInTheUnitOfTheColumn) {
  // Laplace: sum u and sum u^2 / 2. All records of both silos half at u = 0.5, half at -0.5: mean 0, square 1/4.
  const StatedQuestion stated = Noiseless(kVariance, {{0.0, 125.0}, {0.0, 62.5}}).state();
  ASSERT_EQ(stated.estimates.size(), 3U);
  EXPECT_DOUBLE_EQ(*stated.estimates[0].stated.value, 50.0);  // hours 0 .. 100
  // (50 x 0.5)^2 = 625, times n / (n - 1) in each silo, and the noise's own square on top.
  EXPECT_NEAR(*stated.estimates[1].stated.value, 625.0, 3.0);
  EXPECT_NEAR(*stated.estimates[2].stated.value, 25.0, 0.1);
}

/// A mean whose column may reach far beyond most of its numbers.
Json mean_by_moment(double order = 4.0, double bound = 20.0, double about = 30.0) {
  return {{"kind", "mean"},
          {"column", "pay"},
          {"moments", {{"order", order}, {"bound", bound}, {"about", about}, {"source", "the wage survey of 2025"}}}};
}

TEST(StatedQuestionsTest, AMeanByAMomentHasRoomForWhatItsCutTakes) {
  const auto cut_of = [](const Json& question) {
    const Job job = parse_job(job_of_question(Json::array({question})).dump(), "job.json").value();
    return std::get<algorithms::CutMeanAsked>(settings_of(job).questions[0].what);
  };
  const algorithms::CutMeanAsked cut = cut_of(mean_by_moment());
  EXPECT_GT(cut.threshold, 20.0);
  EXPECT_LT(cut.threshold, 200.0);
  EXPECT_GT(cut.bias(), 0.0);
  // Where the bound is as wide as the column, nothing is cut and nothing is added.
  EXPECT_EQ(cut_of(mean_by_moment(2.0, 1000.0)).threshold, 970.0);
  EXPECT_EQ(cut_of(mean_by_moment(2.0, 1000.0)).bias(), 0.0);
  // Cut numbers add up to 100 and -50 thresholds over 1500 records.
  const StatedQuestion stated = Noiseless(mean_by_moment(), {{100.0, 10.0}, {-50.0, 10.0}}).state();
  ASSERT_EQ(stated.estimates.size(), 1U);
  const statistics::Stated& mean = stated.estimates[0].stated;
  EXPECT_NEAR(*mean.value, 30.0 + cut.threshold * 50.0 / 1500.0, 1e-3);
  EXPECT_NE(mean.note.find("the wage survey of 2025"), std::string::npos);
  const Job job = parse_job(job_of_question(Json::array({mean_by_moment()})).dump(), "job.json").value();
  const Job plain =
      parse_job(job_of_question(Json::array({Json{{"kind", "mean"}, {"column", "pay"}}})).dump(), "job.json").value();
  const double by_moment = planned_widths(job, plans_of(job).value()).value()[0].half_width;
  EXPECT_NEAR(mean.noise.half_width(), by_moment, 0.01 * by_moment);
  EXPECT_GT(mean.noise.half_width(), cut.bias());
  EXPECT_LT(by_moment, 0.3 * planned_widths(plain, plans_of(plain).value()).value()[0].half_width);
}

TEST(StatedQuestionsTest, AMeanByASmoothInfluenceIsBentAndSaysThatAClipIsCloser) {
  Json smooth = mean_by_moment();
  smooth["moments"]["influence"] = "smooth";
  const Job job = parse_job(job_of_question(Json::array({smooth})).dump(), "job.json").value();
  const auto cut = std::get<algorithms::CutMeanAsked>(settings_of(job).questions[0].what);
  EXPECT_GT(cut.radius(), 0.6 * cut.threshold);
  EXPECT_LT(cut.radius(), 0.65 * cut.threshold);
  // Contributions add up to 100 and -50 radii over 1500 records.
  const statistics::Stated mean = Noiseless(smooth, {{100.0, 10.0}, {-50.0, 10.0}}).state().estimates[0].stated;
  EXPECT_NEAR(*mean.value, 30.0 + cut.radius() * 50.0 / 1500.0, 1e-3);
  const std::vector<PlannedWidth> widths = planned_widths(job, plans_of(job).value()).value();
  EXPECT_NEAR(mean.noise.half_width(), widths[0].half_width, 0.01 * widths[0].half_width);
  ASSERT_FALSE(widths[0].warnings.empty());
  question_finds(widths[0].warnings[0], "a clip in place of the smooth influence");
  // The time that it takes may tell something of a number.
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  EXPECT_TRUE(releases::needs_interval(plan.segments().front().release.ask));
  smooth["moments"]["influence"] = "sharp";
  question_finds(said_of_one(smooth), "moments/influence");
}

TEST(StatedQuestionsTest, AMeanByAMomentSaysWhereARangeServesBetter) {
  const Job job = parse_job(job_of_question(Json::array({mean_by_moment(2.0, 900.0)})).dump(), "job.json").value();
  const std::vector<PlannedWidth> widths = planned_widths(job, plans_of(job).value()).value();
  ASSERT_FALSE(widths[0].warnings.empty());
  question_finds(widths[0].warnings[0], "ask for it without");
}

TEST(StatisticQuestionsTest, AMomentThatIsNoneIsRefused) {
  question_finds(said_of_one(mean_by_moment(1.5)), "moments/order");
  question_finds(said_of_one(mean_by_moment(4.0, 0.0)), "moments/bound");
  question_finds(said_of_one(mean_by_moment(4.0, 1e300)), "moments/bound");
  question_finds(said_of_one(mean_by_moment(4.0, 1e-30)), "moments.bound is so small");
  question_finds(said_of_one(mean_by_moment(4.0, 20.0, 1001.0)), "expected about from 0 to 1000");
  Json unsaid = mean_by_moment();
  unsaid["moments"].erase("source");
  question_finds(said_of_one(unsaid), "moments/source");
  Json other = mean_by_moment();
  other["kind"] = "sum";
  question_finds(said_of_one(other), "moments");
}

TEST(StatedQuestionsTest, ASumIsTheMeanTimesTheRecords) {
  // u sums to 100 and -50: mean 1/30; pay is 500 + 500 u: sum = 1500 x 500 + 500 x 50.
  const StatedQuestion stated = Noiseless({{"kind", "sum"}, {"column", "pay"}}, {{100.0}, {-50.0}}).state();
  EXPECT_NEAR(*stated.estimates[0].stated.value, 775'000.0, 1e-3);
}

TEST(StatedQuestionsTest, QuantilesAreInterpolatedInTheirCells) {
  // 1000 and 500 records: six cells of ten years.
  const StatedQuestion stated =
      Noiseless({{"kind", "quantiles"}, {"column", "age"}, {"bins", 6}, {"probabilities", {0.5}}},
                {{100, 200, 300, 200, 100, 100}, {100, 100, 100, 100, 50, 50}})
          .state();
  // Prefixes 200, 500, 900 of 1500: half of them is reached before the third inner edge, 50, by 250 of a cell's 400.
  EXPECT_EQ(stated.estimates[0].name, "quantile 0.5");
  EXPECT_DOUBLE_EQ(*stated.estimates[0].stated.value, 46.25);
  EXPECT_GE(stated.estimates[0].stated.noise.high, 50.0);
  EXPECT_LE(stated.estimates[0].stated.noise.low, 50.0);
}

TEST(StatedQuestionsTest, ARegressionIsInTheUnitsOfItsColumns) {
  // (age, sex=male, pay) scaled: x1 = +-1 alike, x2 = 0 or 1 alike, y = 0.5 x1 + 0.2 x2 exactly. With d = 3, R^2 = 3:
  // released are sum x / sqrt(3), then per pair sum x_j x_k / 3, squares over sqrt(2) more.
  Json job = job_of_question(Json::array({kRegression}));
  for (Json& silo : job["cohort"]) {
    silo["records"] = 1'000'000;
    silo["epsilon"] = 8;
  }
  const Job parsed = parse_job(job.dump(), "job.json").value();
  const auto plans = plans_of(parsed).value();
  const double n = 1'000'000.0;
  const double r = std::sqrt(3.0);
  const double q = 3.0 * std::sqrt(2.0);
  // Means: x1 0, x2 1/2, y 0.1; squares: x1 1, x2 1/2, y 0.25 + 0.04 / 2 = 0.27; products: x1 x2 0, x1 y 0.5, x2 y 0.1.
  const std::vector<double> real = {0.0,         n * 0.5 / r, n * 0.1 / r,         n / q,       0.0,
                                    n * 0.5 / 3, n * 0.5 / q, n * 0.2 * 0.5 / 3.0, n * 0.27 / q};
  std::vector<std::int64_t> totals;
  totals.reserve(real.size());
  for (const double value : real) totals.push_back(std::llround(std::ldexp(value, 20)));
  std::vector<SiloTotals> silos;
  for (const CohortMember& member : parsed.cohort)
    silos.push_back({member.facts.records, plans.at(member.facts.silo).release({0}), &totals});
  const StatedQuestion stated = state_question(settings_of(parsed).questions[0], settings_of(parsed), silos).value();
  ASSERT_EQ(stated.estimates.size(), 3U);
  EXPECT_EQ(stated.estimates[2].name, "sex=male");
  // y = (pay - 500) / 500, x1 = (age - 50) / 30: pay = 500 + 250 x1 + 100 x2.
  EXPECT_NEAR(*stated.estimates[1].stated.value, 250.0 / 30.0, 0.01);
  EXPECT_NEAR(*stated.estimates[2].stated.value, 100.0, 0.5);
  EXPECT_NEAR(*stated.estimates[0].stated.value, 500.0 - 250.0 * 50.0 / 30.0, 0.5);
  ASSERT_TRUE(stated.rho);
  EXPECT_GT(*stated.rho, 4.0);
}

}  // namespace
}  // namespace undertone::jobs
