// Questions for survival: what jobs may ask, and what is stated of the answers.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/stated_survival.hpp"
#include "shared/jobs/stated_tables.hpp"
#include "shared/statistics/survival/expected_table.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;
using algorithms::SurvivalAsked;

const Json kSurvival = {{"kind", "survival"},
                        {"time", "months"},
                        {"event", "status"},
                        {"events", {"relapse", "death"}},
                        {"grid", {0, 6, 12, 18, 24}}};

Json job_of_survival(const Json& question, const char* unit = "record") {
  Json job = Json::parse(R"({
    "format": "undertone.job/1", "name": "trial",
    "data": {"label": {"column": "status", "classes": ["alive", "relapse", "death"]},
             "features": [{"column": "months", "min": 0, "max": 60, "missing": {"texts": [""], "value": 0, "indicator": true}},
                          {"column": "arm", "categories": ["old", "new"]},
                          {"column": "sex", "categories": ["f", "m"]}]},
    "statistics": {"sampling_intervals": true},
    "privacy": {"mode": "isrl", "noise": "secure"},
    "cohort": [{"silo": "a", "records": 1000, "holdout_records": 0, "holdout_public": false, "epsilon": 1, "delta": 1e-6}],
    "participation": {"quorum": 1, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500}})");
  job["privacy"]["unit"] = unit;
  job["statistics"]["questions"] = Json::array({question});
  return job;
}
Json with(const Json& changes) {
  Json out = kSurvival;
  out.update(changes);
  return out;
}
std::string said_of_survival(const Json& changes) {
  const Result<Job> parsed = parse_job(job_of_survival(with(changes)).dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}
SurvivalAsked asked_of(const Json& changes) {
  const Job job = parse_job(job_of_survival(with(changes)).dump(), "job.json").value();
  return std::get<SurvivalAsked>(job.algorithm.as<algorithms::StatisticsSettings>()->questions[0].what);
}
void survival_finds(const Json& changes, const std::string& problem) {
  const std::string said = said_of_survival(changes);
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

/// Tables that are expected, with noise that is small beside them.
std::vector<ToldExits> told(const SurvivalAsked& asked, const std::vector<double>& records, double scale = 2.0) {
  std::vector<ToldExits> out;
  double survival = 0.3;
  for (const double n : records) {
    Eigen::VectorXd cells =
        statistics::expected_cells(layout_of(asked), asked.edges, n, {survival += 0.1, 0.2}).array().round();
    out.push_back({static_cast<std::int64_t>(n), std::move(cells),
                   *statistics::NoiseLaw::create({{statistics::LaplaceNoise{scale, 1.0}, 1.0}})});
  }
  return out;
}
const statistics::Stated& find(const StatedQuestion& stated, const std::string& name) {
  const auto found = std::find_if(stated.estimates.begin(), stated.estimates.end(),
                                  [&](const NamedEstimate& one) { return one.name == name; });
  if (found == stated.estimates.end()) throw std::runtime_error("no estimate " + name);
  return found->stated;
}
const statistics::Confidence kConfidence95 = statistics::Confidence::create(0.95).value();

TEST(SurvivalQuestionTest, OneReleaseOfTheExitsOfEveryGroup) {
  const SurvivalAsked asked = asked_of({{"by", {"arm", "sex"}}});
  EXPECT_EQ(asked.groups(), 4U);
  EXPECT_EQ(asked.cells.cause_of, (std::vector<std::size_t>{1, 0, 0}));
  EXPECT_EQ(asked.cells.time_missing, 1U);
  EXPECT_EQ(asked.at, (std::vector<std::size_t>{1, 2, 3, 4}));
  const GroupDesigns designs = group_designs(asked.by);
  EXPECT_EQ(designs.names, (std::vector<std::string>{"arm=new", "sex=m"}));
  Eigen::MatrixXd rows(4, 2);
  rows << 0, 0, 0, 1, 1, 0, 1, 1;
  EXPECT_EQ(designs.rows, rows);
  EXPECT_EQ(group_names(asked)[2], "arm=new, sex=f");
  const SurvivalAsked competing = asked_of({{"competing", true}});
  EXPECT_EQ(competing.cells.cause_of, (std::vector<std::size_t>{2, 0, 1}));
  EXPECT_EQ(competing.causes, (std::vector<std::string>{"relapse", "death"}));
}

TEST(SurvivalQuestionTest, WhatCannotBeAskedIsSaid) {
  EXPECT_EQ(said_of_survival(Json::object()), "accepted");
  survival_finds({{"grid", {0, 60}}}, "below 60");
  survival_finds({{"grid", {0, 12, 12}}}, "expected ascending edges");
  survival_finds({{"grid", {6, 12}}}, "expected edges from 0");
  survival_finds({{"grid", {5}}}, "expected 2 to 513 edges");
  survival_finds({{"events", {"alive", "relapse", "death"}}}, "that is no event");
  survival_finds({{"events", {"relapse", "relapse"}}}, "expected each value once");
  survival_finds({{"events", {"cured"}}}, "got \"cured\"");
  survival_finds({{"event", "months"}}, "listed values");
  survival_finds({{"time", "arm"}}, "expected a column of numbers");
  survival_finds({{"by", {"status"}}}, "not that of the event");
  survival_finds({{"by", {"arm", "arm"}}}, "expected each column once");
  survival_finds({{"at", {7}}}, "expected edges of the grid");
  survival_finds({{"probabilities", {1.0}}}, "in (0, 1)");
  survival_finds({{"persons", "any"}}, "nobody leaves twice");
  survival_finds({{"entry", "months"}}, "delayed entry is not supported");
  survival_finds({{"guess", {{"survival", 0}}}}, "/guess/survival");
  survival_finds({{"grid", Json::array()}}, "/0/grid: expected 2 to 513 edges, got 0");
  Json unmarked = job_of_survival(kSurvival);
  unmarked["data"]["features"][0]["missing"].erase("indicator");
  const Result<Job> parsed = parse_job(unmarked.dump(), "job.json");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("would count as the time 0"), std::string::npos) << parsed.error().message;
}

TEST(SurvivalQuestionTest, TablesAreAskedForInferenceOnlyWhereNobodyIsInTwoCells) {
  const auto said = [](const Json& question) {
    const Result<Job> parsed = parse_job(job_of_survival(question).dump(), "job.json");
    return parsed ? "accepted" : parsed.error().message;
  };
  Json question = {{"kind", "table"}, {"columns", {"arm", "sex"}}, {"tests", true}};
  EXPECT_EQ(said(question), "accepted");
  question["persons"] = "any";
  EXPECT_NE(said(question).find("expected one_record"), std::string::npos) << said(question);
  question.erase("persons");
  question["columns"] = Json::array({"arm"});
  EXPECT_NE(said(question).find("expected two columns"), std::string::npos) << said(question);
  question = {{"kind", "table"}, {"columns", {"arm"}}, {"response", "sex"}};
  EXPECT_EQ(said(question), "accepted");
  question["response"] = "status";
  EXPECT_NE(said(question).find("a column of two values"), std::string::npos) << said(question);
  const Json width = with({{"half_width", 0.05}});
  Json job = job_of_survival(width);
  job["statistics"]["budget"] = "half_widths";
  EXPECT_FALSE(parse_job(job.dump(), "job.json"));  // of several numbers in several units
}

TEST(SurvivalQuestionTest, WhatIsOneCellHasItsExactInterval) {
  const SurvivalAsked asked = asked_of({{"by", {"arm"}}});
  for (const double scale : {0.1, 0.4, 1.0}) {  // epsilon 20, 5, 2
    const StatedQuestion stated = state_survival(asked, told(asked, {4000}, scale), kConfidence95, true, true);
    const statistics::NoiseLaw law = *statistics::NoiseLaw::create({{statistics::LaplaceNoise{scale, 1.0}, 1.0}});
    const statistics::Stated& last = find(stated, "arm=old: at risk after 24");
    EXPECT_DOUBLE_EQ(last.noise.half_width(), law.half_width(0.05));
    for (const NamedEstimate& estimate : stated.estimates)
      EXPECT_LE(estimate.stated.noise.low, estimate.stated.noise.high) << estimate.name;
  }
}

/// A model solves for a constant of every silo, and a test draws a table of every silo: both are bounded.
TEST(SurvivalQuestionTest, TablesOfTooManySilosAreRefusedInWords) {
  algorithms::TableAsked asked;
  for (const char* column : {"arm", "sex"})
    asked.axes.push_back({column, {"a", "b"}, statistics::IndicatorCells{0, 2}});
  const statistics::NoiseLaw law = *statistics::NoiseLaw::create({{statistics::LaplaceNoise{2.0, 1.0}, 1.0}});
  const statistics::Stratum one{statistics::noised_table(Eigen::Vector4d(90, 60, 70, 80), 300, law), law};
  for (const bool modelled : {true, false}) {
    asked.modelled = modelled;
    asked.tested = !modelled;
    StatedQuestion few;
    put_table_inference(asked, "a table", std::vector(20, one), kConfidence95, true, few);
    StatedQuestion many;
    put_table_inference(asked, "a table", std::vector(10'000, one), kConfidence95, true, many);
    const std::string note = modelled ? many.estimates.front().stated.note : many.tests.front().note;
    EXPECT_NE(note.find("got 10000"), std::string::npos) << note;
    EXPECT_TRUE(modelled ? few.estimates.front().stated.value.has_value() : few.tests.front().p_value.has_value());
  }
}

TEST(SurvivalQuestionTest, APersonIsInOneCell) {
  Json job = job_of_survival(kSurvival, "person");
  job["privacy"]["person"] = {{"records_max", 5}};
  job["privacy"]["silos_per_person"] = 1;
  job["cohort"][0].erase("records");
  job["cohort"][0].erase("holdout_records");
  job["cohort"][0]["persons"] = 1000;
  job["cohort"][0]["holdout_persons"] = 0;
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto* settings = parsed->algorithm.as<algorithms::StatisticsSettings>();
  EXPECT_TRUE(algorithms::takes_one_record(settings->questions[0]));
  const std::map<SiloId, planning::Plan> plans = plans_of(*parsed).value();
  const planning::Release* release = plans.begin()->second.release({0});
  ASSERT_TRUE(release->ask.records.persons);
  EXPECT_EQ(release->ask.records.persons->records_max, 1);
}

TEST(SurvivalQuestionTest, OneTableHasTheCurveAndAllThatFollows) {
  const SurvivalAsked asked = asked_of({{"competing", true}, {"probabilities", {0.25, 0.5}}});
  const StatedQuestion stated = state_survival(asked, told(asked, {2000}), kConfidence95, true, true);
  const statistics::Stated& last = find(stated, "S(24)");
  EXPECT_NEAR(*last.value, 0.4, 0.01);
  EXPECT_TRUE(last.population->holds(0.4));
  EXPECT_LT(last.noise.half_width(), last.population->half_width());
  // Either something happened or nothing did.
  EXPECT_NEAR(*find(stated, "incidence of relapse(24)").value + *find(stated, "incidence of death(24)").value,
              1.0 - *last.value, 1e-12);
  EXPECT_NEAR(*find(stated, "cumulative hazard(24)").value, -std::log(0.4), 0.01);
  EXPECT_EQ(find(stated, "quantile 0.25 of the time").value, 12.0);  // S(6) = .80, S(12) = .63
  EXPECT_NEAR(*find(stated, "at risk after 24").value, 2000 * 0.4 * 0.8, 5.0);
  EXPECT_TRUE(stated.tests.empty());
}

TEST(SurvivalQuestionTest, GroupsAreComparedWithTheFirst) {
  const SurvivalAsked asked = asked_of({{"by", {"arm"}}});
  std::vector<ToldExits> silos = told(asked, {4000});
  // The second arm's times are worse: cells of a smaller survival.
  const Eigen::Index half = silos[0].cells.size() / 2;
  silos[0].cells.tail(half) =
      statistics::expected_cells({1, 1, 4, true}, asked.edges, 2000, {0.2, 0.2}).array().round();
  const StatedQuestion stated = state_survival(asked, silos, kConfidence95, true, true);
  const statistics::Stated& difference = find(stated, "arm=new less arm=old: S(24)");
  EXPECT_NEAR(*difference.value, -0.2, 0.01);
  EXPECT_LT(difference.population->high, 0.0);
  const double ratio = std::log(0.2) / std::log(0.4);
  EXPECT_TRUE(find(stated, "hazard ratio of arm=new").population->holds(ratio));
  ASSERT_EQ(stated.tests.size(), 1U);
  EXPECT_EQ(stated.tests[0].degrees, 1U);
  EXPECT_LT(*stated.tests[0].p_value, 1e-6);
}

TEST(SurvivalQuestionTest, WhatNoiseDrownsIsRefusedWithWhatWouldCarryIt) {
  const SurvivalAsked asked = asked_of({{"by", {"arm"}}});
  const StatedQuestion stated = state_survival(asked, told(asked, {60}, 20.0), kConfidence95, true, true);
  const statistics::Stated& last = find(stated, "arm=old: S(24)");
  EXPECT_FALSE(last.value);
  EXPECT_NE(last.note.find("beyond"), std::string::npos) << last.note;
  EXPECT_EQ(last.population->low, 0.0);
  EXPECT_FALSE(find(stated, "hazard ratio of arm=new").value);
  ASSERT_EQ(stated.tests.size(), 1U);
  EXPECT_FALSE(stated.tests[0].p_value);
  // A gate reads what was released alone: the same numbers, the same words.
  const StatedQuestion again = state_survival(asked, told(asked, {60}, 20.0), kConfidence95, true, true);
  EXPECT_EQ(again.estimates.size(), stated.estimates.size());
  for (std::size_t i = 0; i < stated.estimates.size(); ++i)
    EXPECT_EQ(again.estimates[i].stated.note, stated.estimates[i].stated.note);
}

/// Two silos that differ in hazard and in censoring have no common curve that tables added up would show.
TEST(SurvivalQuestionTest, SilosThatDifferCountByThemselves) {
  const SurvivalAsked apart = asked_of(Json::object());
  const SurvivalAsked pooled = asked_of({{"silos", "alike"}});
  std::vector<ToldExits> silos = told(apart, {5000, 5000});
  silos[0].cells =
      statistics::expected_cells(layout_of(apart), apart.edges, 5000, {std::exp(-0.4), 0.2}).array().round();
  silos[1].cells =
      statistics::expected_cells(layout_of(apart), apart.edges, 5000, {std::exp(-2.0), 0.86}).array().round();
  const double truth = 0.5 * (std::exp(-0.4) + std::exp(-2.0));
  EXPECT_NEAR(*find(state_survival(apart, silos, kConfidence95, true, true), "S(24)").value, truth, 0.02);
  EXPECT_GT(*find(state_survival(pooled, silos, kConfidence95, true, true), "S(24)").value, truth + 0.05);
}

TEST(SurvivalQuestionTest, ACoarseGridIsSaidOfSeveralSilosToo) {
  const SurvivalAsked asked = asked_of({{"by", {"arm"}}});
  const StatedQuestion stated = state_survival(asked, told(asked, {4000, 5000}, 0.5), kConfidence95, true, true);
  for (const char* name : {"arm=old: S(24)", "arm=old: cumulative hazard(24)", "arm=old: restricted mean(24)",
                           "arm=new less arm=old: S(24)"})
    EXPECT_FALSE(find(stated, name).note.empty()) << name;
}

TEST(SurvivalQuestionTest, TheOrderOfSilosChangesNoBit) {
  for (const char* silos : {"standardised", "alike"}) {
    const SurvivalAsked asked = asked_of({{"by", {"arm"}}, {"silos", silos}});
    std::vector<ToldExits> cohort = told(asked, {1000, 1700, 700, 1700});
    const StatedQuestion first = state_survival(asked, cohort, kConfidence95, true, true);
    std::swap(cohort[0], cohort[3]);
    std::swap(cohort[1], cohort[2]);
    const StatedQuestion other = state_survival(asked, cohort, kConfidence95, true, true);
    ASSERT_EQ(first.estimates.size(), other.estimates.size());
    for (std::size_t i = 0; i < first.estimates.size(); ++i) {
      EXPECT_EQ(first.estimates[i].stated.value, other.estimates[i].stated.value) << first.estimates[i].name;
      EXPECT_EQ(first.estimates[i].stated.noise.low, other.estimates[i].stated.noise.low);
    }
    EXPECT_EQ(first.tests[0].p_value, other.tests[0].p_value);
  }
}

}  // namespace
}  // namespace undertone::jobs
