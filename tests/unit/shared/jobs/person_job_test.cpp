#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/jobs/joint_promise_of.hpp"
#include "shared/jobs/round_spec.hpp"
#include "shared/jobs/stated_statistics.hpp"
#include "shared/planning/answer_work.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/of_persons.hpp"

namespace undertone::jobs {
namespace {

using Json = nlohmann::json;
using tests::of_persons;

std::string problem_of(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  if (!parsed) return parsed.error().message;
  const Result<planning::Plan> plan = plan_of(*parsed, parsed->cohort.front());
  return plan ? "" : plan.error().message;
}

/// Spec person-unit 3 and PU2: what a person contributes is bounded as a record is, so noise, cost and draws are those
/// of as many records. The plan's digest alone tells the unit, and how many of her records count.
TEST(PersonJobTest, APlanOfPersonsIsThatOfAsManyRecordsButForItsDigest) {
  const tests::SmallFederation federation;
  const Job records = parse_job(federation.job(), "job.json").value();
  const Job persons = parse_job(of_persons(federation).dump(), "job.json").value();
  for (std::size_t i = 0; i < records.cohort.size(); ++i) {
    const planning::Plan one = plan_of(records, records.cohort[i]).value();
    const planning::Plan other = plan_of(persons, persons.cohort[i]).value();
    EXPECT_EQ(one.epsilon(), other.epsilon());
    for (const releases::Block block : releases::kProtectedBlocks) EXPECT_EQ(one.cost(block), other.cost(block));
    EXPECT_NE(planning::plan_digest(one), planning::plan_digest(other));
    for (std::uint64_t round = 0; round < one.rounds(); ++round) {
      EXPECT_EQ(one.release({round})->noise_stddev_of_mean(), other.release({round})->noise_stddev_of_mean());
      EXPECT_EQ(other.release({round})->ask.records.persons->records_max, 8);
    }
    // The work is that of her records, as many as may count, whatever she has.
    EXPECT_GT(planning::products_of_answer(*other.release({0}), 4), planning::products_of_answer(*one.release({0}), 4));
  }
}

TEST(PersonJobTest, AStatisticOfTooManyPersonsIsTooMuchWork) {
  tests::SmallFederation means;
  means.statistics = R"({"noise":"gaussian","questions":[{"kind":"mean","column":"x0"}]})";
  const Job persons = parse_job(of_persons(means).dump(), "job.json").value();
  planning::Release release = *plan_of(persons, persons.cohort.front()).value().release({0});
  const releases::SiloFacts& facts = persons.cohort.front().facts;
  EXPECT_TRUE(planning::check_work(release, facts));
  release.records_drawn = std::int64_t{1} << 40U;  // of each, every one of 8 slots is worked through
  EXPECT_FALSE(planning::check_work(release, facts));
  release.ask.records.persons.reset();
  EXPECT_TRUE(planning::check_work(release, facts));
}

TEST(PersonJobTest, HowManyOfHerRecordsCountIsPartOfThePlan) {
  Json job = of_persons({});
  const Job eight = parse_job(job.dump(), "job.json").value();
  job["privacy"]["person"]["records_max"] = 9;
  const Job nine = parse_job(job.dump(), "job.json").value();
  EXPECT_NE(planning::plan_digest(plan_of(eight, eight.cohort[0]).value()),
            planning::plan_digest(plan_of(nine, nine.cohort[0]).value()));
}

TEST(PersonJobTest, WhatDoesNotGoWithTheUnitIsRefusedInWords) {
  EXPECT_EQ(problem_of(of_persons({})), "");
  Json job = of_persons({});
  job["privacy"].erase("person");
  EXPECT_NE(problem_of(job).find("/privacy/person"), std::string::npos) << problem_of(job);
  job = of_persons({});
  job["cohort"][0]["records"] = 50;
  EXPECT_NE(problem_of(job).find("/cohort/0/records: unknown key"), std::string::npos) << problem_of(job);
  job = of_persons({});
  job["privacy"]["person"]["records_max"] = 65;
  EXPECT_NE(problem_of(job).find("records_max"), std::string::npos);
  job = Json::parse(tests::SmallFederation{}.job());
  job["privacy"]["person"] = {{"contribution", "clipped_mean"}, {"records_max", 8}};
  EXPECT_NE(problem_of(job).find("/privacy/person: expected none"), std::string::npos) << problem_of(job);
  job = Json::parse(tests::SmallFederation{}.job());
  job["cohort"][0]["persons"] = 50;
  EXPECT_NE(problem_of(job).find("unknown key"), std::string::npos);
  job = Json::parse(tests::federation_of_choices().job());
  job["privacy"]["unit"] = "person";
  EXPECT_NE(problem_of(job).find("/privacy/person"), std::string::npos) << problem_of(job);
}

/// Networks write no gradient out, so that nothing of a person is there to be clipped as one.
TEST(PersonJobTest, TheContributionFollowsFromTheModel) {
  Json job = of_persons({});
  job["privacy"]["person"]["contribution"] = "mean_of_clipped";
  EXPECT_NE(problem_of(job).find(
                "/privacy/person/contribution: expected \"clipped_mean\" or \"capped_sum\" of a logistic model"),
            std::string::npos)
      << problem_of(job);
  int networks = 0;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    Json of = of_persons(federation);
    if (!of.contains("model") || of["model"]["kind"] != "network" || !problem_of(of).empty()) continue;
    ++networks;
    of["privacy"]["person"]["contribution"] = "clipped_mean";
    EXPECT_NE(problem_of(of).find("expected \"mean_of_clipped\" or \"capped_sum\" of a network model"),
              std::string::npos)
        << problem_of(of);
  }
  EXPECT_GE(networks, 1);
}

/// What cannot be made of persons is refused, whichever algorithm asks for it: nothing reads them record by record.
/// Noised sums that are mixed as they are count on their silo alone: they compose as those of any job.
TEST(PersonJobTest, OfReportsThatAreMixedTheSilosPromisesCompose) {
  tests::SmallFederation federation;
  federation.equal = true;
  const auto joint_of = [&] {
    Json text = of_persons(federation);
    text["privacy"]["silos_per_person"] = 2;
    return joint_promise_of(parse_job(text.dump(), "job.json").value())->epsilon;
  };
  const double plain = joint_of();
  federation.shuffle = tests::FaultWorlds::shuffle("reports");
  EXPECT_LE(joint_of(), plain * 1.01);
}

/// Whatever is asked, an answer is counted with every slot of every person: by that number the interval is chosen that
/// hides how long a choice took.
TEST(PersonJobTest, AnAnswerOfPersonsIsCountedWithEverySlot) {
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    if (!problem_of(of_persons(federation)).empty()) continue;
    const Job records = parse_job(federation.job(), "job.json").value();
    const Job persons = parse_job(of_persons(federation).dump(), "job.json").value();
    const planning::Plan one = plan_of(records, records.cohort.front()).value();
    const planning::Plan other = plan_of(persons, persons.cohort.front()).value();
    const auto width = static_cast<std::size_t>(records.model->features());
    for (std::uint64_t round = 0; round < one.rounds(); ++round) {
      const planning::Release& release = *one.release({round});
      // Of which the noise, the draw and the scores of candidates are as of records.
      const double rows = 2.0 * static_cast<double>(release.ask.dimension * release.records_drawn) *
                          static_cast<double>(std::max<std::uint64_t>(release.draws(), 1));
      const double more =
          planning::products_of_answer(*other.release({round}), width) - planning::products_of_answer(release, width);
      if (release.ask.kind() != releases::QuestionKind::Scores) {
        EXPECT_GE(more, 0.99 * 7.0 * rows) << round;
      }
    }
  }
}

/// Its records are truncated by themselves, so that its lattice is finer; noise and cost are those of a mean.
TEST(PersonJobTest, ACappedSumHasTheNoiseOfAMeanOnAFinerLattice) {
  Json text = of_persons({});
  const Job mean = parse_job(text.dump(), "job.json").value();
  text["privacy"]["person"]["contribution"] = "capped_sum";
  const Job capped = parse_job(text.dump(), "job.json").value();
  const planning::Plan one = plan_of(mean, mean.cohort.front()).value();
  const planning::Plan other = plan_of(capped, capped.cohort.front()).value();
  EXPECT_NEAR(other.release({0})->noise_stddev_of_mean(), one.release({0})->noise_stddev_of_mean(),
              1e-3 * one.release({0})->noise_stddev_of_mean());
  EXPECT_GE(other.release({0})->lattice().clip / 8, 1024);
  EXPECT_NE(planning::plan_digest(one), planning::plan_digest(other));
  text["privacy"]["mode"] = "shuffle";
  EXPECT_NE(problem_of(text), "");
  Json pure = of_persons({});
  pure["privacy"]["person"]["contribution"] = "capped_sum";
  for (Json& member : pure["cohort"]) member["delta"] = 0;
  EXPECT_NE(problem_of(pure).find("capped_sum"), std::string::npos) << problem_of(pure);
}

TEST(PersonJobTest, AnEvaluationMayReadOneRecordAPerson) {
  Json text = of_persons({});
  text["evaluation"]["persons"] = "one_record";
  const Job job = parse_job(text.dump(), "job.json").value();
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  int evaluations = 0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const bool evaluation = segment.release.ask.kind() == releases::QuestionKind::Metrics;
    evaluations += evaluation ? 1 : 0;
    EXPECT_EQ(segment.release.ask.records.persons->records_max, evaluation ? 1 : 8);
  }
  EXPECT_GE(evaluations, 1);
  text["evaluation"]["persons"] = "mean";
  EXPECT_NE(planning::plan_digest(plan),
            planning::plan_digest(plan_of(parse_job(text.dump(), "job.json").value(), job.cohort.front()).value()));
  text = Json::parse(tests::SmallFederation{}.job());
  text["evaluation"]["persons"] = "mean";
  EXPECT_NE(problem_of(text).find("/evaluation/persons: expected none"), std::string::npos) << problem_of(text);
}

/// Somebody at several silos of a mixed job is in one total at all of them: the noise of the others, which the plan
/// counts on, hides all of her parts together. Only what each silo's own noise promises adds up.
TEST(PersonJobTest, OfAShuffledJobWhatEachSilosOwnNoisePromisesAddsUp) {
  for (const char* form : {"counts", "shares", "bits"}) {
    SCOPED_TRACE(form);
    tests::SmallFederation federation;
    federation.equal = true;
    federation.shuffle = tests::FaultWorlds::shuffle(form);
    Json text = of_persons(federation);
    const auto joint_at = [&](int silos) {
      text["privacy"]["silos_per_person"] = silos;
      return joint_promise_of(parse_job(text.dump(), "job.json").value());
    };
    const Job job = parse_job(text.dump(), "job.json").value();
    const planning::Plan plan = plan_of(job, job.cohort.front()).value();
    const double own = plan.epsilon_without_shuffler().value();
    ASSERT_GT(own, plan.epsilon().value_rounded_up());
    EXPECT_EQ(joint_at(1)->epsilon, plan.epsilon().value_rounded_up());
    for (const int silos : {2, 5}) {
      EXPECT_NEAR(joint_at(silos)->epsilon, silos * own, 1e-9);
      EXPECT_NEAR(joint_at(silos)->delta, silos * plan.delta().value_rounded_up(), 1e-12);
      // All of them in one round's total: as far as so many persons, against the noise of two honest silos.
      EXPECT_GT(joint_at(silos)->epsilon, plan.epsilon().value_rounded_up() * silos);
    }
  }
}

/// A loss of mean records is refused, and so are ends of intervals for the law that records are drawn from.
TEST(PersonJobTest, EveryStatisticIsPlannedForPersonsOrRefusedInWords) {
  const auto problem_with = [](const char* questions) {
    tests::SmallFederation federation;
    federation.statistics = questions;
    Json job = of_persons(federation);
    for (Json& member : job["cohort"]) member["persons"] = 100'000;  // enough for whatever is asked
    return problem_of(job);
  };
  for (const char* taken : {R"({"noise":"laplace","questions":[{"kind":"marginals","columns":["y"],"width":1},
        {"kind":"kernels","columns":["x0","x1"],"terms":3},
        {"kind":"loss","columns":["x2"],"response":"y","degree":3,"order":2}]})",
                            R"({"noise":"gaussian","questions":[{"kind":"vector_mean","columns":["x0","x1"],"norm":1},
        {"kind":"linear_model","columns":["x0","x1"],"response":"y","intercept":true}]})",
                            R"({"questions":[{"kind":"least_loss","columns":["x1"],"response":"y","degree":6},
        {"kind":"selected_quantile","column":"x0","bins":8,"probabilities":[0.5],"ends":false}]})",
                            R"({"questions":[{"kind":"mean","column":"x1","form":"reports"},
        {"kind":"count","column":"y","value":"yes","form":"reports"},
        {"kind":"vector_mean","columns":["x0","x1","x2"],"form":"reports"}]})",
                            R"({"noise":"laplace","questions":[{"kind":"marginals","columns":["y"],"width":1,
        "form":"reports","randomiser":"string_bit"}]})"})
    EXPECT_EQ(problem_with(taken), "") << taken;
  for (const char* refused :
       {R"({"questions":[{"kind":"linear_model","columns":["x0","x1"],"response":"y","form":"reports"}]})",
        R"({"questions":[{"kind":"selected_quantile","column":"x0","bins":8,"probabilities":[0.5],"ends":true}]})"})
    EXPECT_NE(problem_with(refused).find("of persons"), std::string::npos) << refused << problem_with(refused);
}

/// This is a job of one question to persons, what its silos say without noise, and the statement of it.
StatedQuestion stated_of_persons(const Json& question, const std::vector<std::vector<double>>& real) {
  tests::SmallFederation federation;
  federation.statistics = Json{{"sampling_intervals", true}, {"questions", Json::array({question})}}.dump();
  Json text = of_persons(federation);
  for (Json& member : text["cohort"]) member["persons"] = 100'000;
  const Job job = parse_job(text.dump(), "job.json").value();
  std::vector<planning::Plan> plans;
  std::vector<std::vector<std::int64_t>> totals;
  for (std::size_t i = 0; i < real.size(); ++i) {
    plans.push_back(plan_of(job, job.cohort[i]).value());
    const int step = round_spec(job, plans.back().release({0})->ask).lattice.step_log2;
    std::vector<std::int64_t>& own = totals.emplace_back();
    for (const double value : real[i]) own.push_back(std::llround(std::ldexp(value, -step)));
  }
  std::vector<SiloTotals> silos;
  for (std::size_t i = 0; i < real.size(); ++i)
    silos.push_back({job.cohort[i].facts.records, plans[i].release({0}), &totals[i]});
  const auto* settings = job.algorithm.as<algorithms::StatisticsSettings>();
  return state_question(settings->questions[0], *settings, silos).value();
}

/// A mean of records is the ratio of two totals of one release, and a sum is made of both.
TEST(PersonJobTest, MeansAndSumsOfRecordsComeWithTheNumberOfRecords) {
  // Column x0 is from -1 to 1. The silos' persons have 300,000 and 200,000 records, whose numbers add up to 60,000 and
  // -10,000.
  const std::vector<std::vector<double>> real = {{300'000.0, 60'000.0}, {200'000.0, -10'000.0}};
  const StatedQuestion mean = stated_of_persons({{"kind", "mean"}, {"column", "x0"}, {"persons", "total"}}, real);
  ASSERT_EQ(mean.estimates.size(), 2U);
  EXPECT_EQ(mean.estimates[0].name, "mean");
  EXPECT_NEAR(*mean.estimates[0].stated.value, 0.1, 1e-9);
  EXPECT_TRUE(mean.estimates[0].stated.noise.holds(0.1));
  EXPECT_EQ(mean.estimates[0].stated.method, statistics::Method::Fieller);
  EXPECT_LT(mean.estimates[0].stated.population->low, mean.estimates[0].stated.noise.low);
  EXPECT_NE(mean.estimates[0].stated.note.find("of records, each by 8"), std::string::npos);
  EXPECT_EQ(mean.estimates[1].name, "records");
  EXPECT_NEAR(*mean.estimates[1].stated.value, 500'000.0, 1e-3);
  EXPECT_TRUE(mean.estimates[1].stated.noise.holds(500'000.0));
  const StatedQuestion sum = stated_of_persons({{"kind", "sum"}, {"column", "x0"}, {"persons", "total"}}, real);
  EXPECT_EQ(sum.estimates[0].name, "sum");
  EXPECT_NEAR(*sum.estimates[0].stated.value, 50'000.0, 1e-3);
  // Where silos may have no records at all, nothing is said.
  const StatedQuestion nothing =
      stated_of_persons({{"kind", "mean"}, {"column", "x0"}, {"persons", "total"}}, {{1.0, 5.0}, {-3.0, 2.0}});
  EXPECT_FALSE(nothing.estimates[0].stated.value);
  EXPECT_EQ(nothing.estimates[0].stated.noise.low, -1.0);
}

TEST(PersonJobTest, AHistogramOfRecordsPerPersonIsOfWholePersons) {
  const StatedQuestion stated =
      stated_of_persons({{"kind", "records_per_person"}, {"edges", {0, 1, 4, 8}}}, {{50'000, 30'000, 20'000}});
  ASSERT_EQ(stated.estimates.size(), 3U);
  EXPECT_EQ(stated.estimates[2].name, "(4, 8]");
  EXPECT_NEAR(*stated.estimates[2].stated.value, 20'000.0, 1e-3);
  EXPECT_EQ(stated.estimates[2].stated.method, statistics::Method::Exact);
  EXPECT_NE(stated.estimates[2].stated.note.find("where more than 8 count as 8"), std::string::npos);
  EXPECT_EQ(stated_of_persons({{"kind", "records_per_person"}}, {std::vector<double>(8, 12'500.0)}).estimates.size(),
            8U);
  const auto problem_with = [](const Json& question, bool persons) {
    tests::SmallFederation federation;
    federation.statistics = Json{{"questions", Json::array({question})}}.dump();
    return persons ? problem_of(of_persons(federation)) : problem_of(Json::parse(federation.job()));
  };
  for (const std::vector<double>& edges : std::vector<std::vector<double>>{
           {0, 4}, {1, 4, 8}, {0, 4, 9}, {0, 4.5, 8}, {0, 4, 4, 8}, {0, 6, 3, 8}, {0, 1e300, 8}})
    EXPECT_NE(problem_with({{"kind", "records_per_person"}, {"edges", edges}}, true).find("whole numbers from 0 to 8"),
              std::string::npos);
  EXPECT_NE(problem_with({{"kind", "records_per_person"}}, false).find("expected unit \"person\""), std::string::npos);
  EXPECT_NE(
      problem_with({{"kind", "mean"}, {"column", "x0"}, {"persons", "total"}}, false).find("the unit is a record"),
      std::string::npos);
  EXPECT_NE(problem_with({{"kind", "mean"}, {"column", "x0"}, {"persons", "any"}}, true).find("total also of means"),
            std::string::npos);
  // A mean and a sum beside the number of records are of the same two totals.
  tests::SmallFederation twice;
  twice.statistics = Json{{"questions", Json::array({Json{{"kind", "mean"}, {"column", "x0"}, {"persons", "total"}},
                                                     Json{{"kind", "sum"}, {"column", "x0"}, {"persons", "total"}}})}}
                         .dump();
  EXPECT_NE(problem_of(of_persons(twice)).find("question 0 asks for the same"), std::string::npos);
}

/// Whatever is asked of persons in whatever way, under whichever noise and budget, is planned or refused in words.
TEST(PersonJobTest, EveryQuestionInEveryWayIsPlannedForPersonsOrRefusedInWords) {
  const std::vector<Json> questions = {
      {{"kind", "count"}, {"column", "y"}, {"value", "yes"}},
      {{"kind", "count"}, {"column", "y"}, {"value", "no"}},
      {{"kind", "mean"}, {"column", "x0"}},
      {{"kind", "sum"}, {"column", "x0"}},
      {{"kind", "variance"}, {"column", "x0"}},
      {{"kind", "histogram"}, {"column", "x0"}, {"bins", 4}},
      {{"kind", "records_per_person"}},
      {{"kind", "quantiles"}, {"column", "x0"}, {"bins", 16}, {"probabilities", {0.5}}},
      {{"kind", "table"}, {"columns", {"y"}}},
      {{"kind", "covariance"}, {"columns", {"x0", "x1"}}},
      {{"kind", "regression"}, {"columns", {"x0"}}, {"response", "x1"}},
      {{"kind", "marginals"}, {"columns", {"y"}}, {"width", 1}},
      {{"kind", "loss"}, {"columns", {"x0"}}, {"response", "y"}, {"degree", 3}, {"order", 2}},
      {{"kind", "selected_quantile"}, {"column", "x0"}, {"bins", 8}, {"probabilities", {0.5}}, {"ends", false}},
      {{"kind", "vector_mean"}, {"columns", {"x0", "x1"}}, {"norm", 1}},
      {{"kind", "mean"}, {"column", "x1"}, {"form", "reports"}}};
  int planned = 0;
  int refused = 0;
  for (const Json& question : questions)
    for (const char* way : {"mean", "one_record", "any", "total"})
      for (const char* noise : {"cheaper", "laplace", "gaussian"})
        for (const char* budget : {"equal", "weights", "half_widths"}) {
          Json asked = question;
          if (question["kind"] != "records_per_person") asked["persons"] = way;
          if (std::string(budget) == "half_widths") asked["half_width"] = 40;
          tests::SmallFederation federation;
          federation.statistics =
              Json{{"noise", noise}, {"budget", budget}, {"questions", Json::array({asked})}}.dump();
          const std::string problem = problem_of(of_persons(federation));
          (problem.empty() ? planned : refused)++;
        }
  EXPECT_GT(planned, 100);
  EXPECT_GT(refused, 100);
}

/// Noise is kept for what is asked alike. One count is asked in four ways, and each way has the same noise wherever it
/// stands: a person moves a total by all of her records that may count.
TEST(PersonJobTest, EachWayToCountPersonsHasItsOwnNoiseInAnyOrder) {
  constexpr double kMost = tests::kOfPersonsMax;
  for (const char* noise : {"gaussian", "laplace"}) {
    std::vector<std::string> ways = {"any", "mean", "one_record", "total"};
    std::map<std::string, double> first;
    do {
      Json questions = Json::array();
      for (const std::string& way : ways)
        questions.push_back({{"kind", "count"}, {"column", "y"}, {"value", "yes"}, {"persons", way}});
      tests::SmallFederation federation;
      federation.statistics = Json{{"noise", noise}, {"questions", std::move(questions)}}.dump();
      const jobs::Job job = parse_job(of_persons(federation).dump(), "job").value();
      const planning::Plan plan = plan_of(job, job.cohort.front()).value();
      for (std::size_t q = 0; q < ways.size(); ++q) {
        const planning::Release& release = *plan.release({q});
        const double stddev = mechanisms::noise_stddev_of_sum(release.mechanism, release.records_drawn);
        EXPECT_DOUBLE_EQ(stddev, first.try_emplace(ways[q], stddev).first->second) << ways[q] << ", " << noise;
        const bool whole = ways[q] != "mean";
        EXPECT_EQ(release.lattice().step == 1.0, whole && std::string(noise) == "laplace") << ways[q];
      }
    } while (std::next_permutation(ways.begin(), ways.end()));
    // A discrete Laplace law on whole records, whose scale is a few of them, is a little narrower than on a fine
    // lattice.
    const double off = std::string(noise) == "laplace" ? 0.06 : 0.01;
    EXPECT_NEAR(first.at("total") / first.at("any"), kMost, off * kMost);
    EXPECT_NEAR(first.at("one_record") / first.at("any"), 1.0, off);
    EXPECT_NEAR(first.at("mean") / first.at("any"), 1.0, off);
  }
}

TEST(PersonJobTest, EveryAlgorithmIsPlannedForPersonsOrRefusedInWords) {
  int planned = 0;
  int refused = 0;
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    const std::string problem = problem_of(of_persons(federation));
    if (!problem.empty()) {
      ++refused;
      EXPECT_NE(problem.find("persons"), std::string::npos) << problem;
      continue;
    }
    ++planned;
    const Job job = parse_job(of_persons(federation).dump(), "job.json").value();
    const planning::Plan plan = plan_of(job, job.cohort.front()).value();
    for (const planning::Plan::Segment& segment : plan.segments()) {
      EXPECT_TRUE(segment.release.ask.records.persons);
      EXPECT_TRUE(releases::takes_persons(segment.release.ask));
    }
  }
  EXPECT_GT(planned, 25);
  EXPECT_GT(refused, 1);
}

}  // namespace
}  // namespace undertone::jobs
