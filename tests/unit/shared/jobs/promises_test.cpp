#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/accounting/renyi.hpp"
#include "shared/algorithms/frank_wolfe/private_frank_wolfe.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"

/// What a job promises its silos, and what bounds a record: by clip norm, or coordinate by coordinate.
namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

Json clipped_job() {
  return Json::parse(R"({
    "format": "undertone.job/1", "name": "small",
    "data": {"label": {"column": "y", "min": -1, "max": 1},
             "features": [{"column": "x", "min": -1, "max": 1}, {"column": "z", "min": -1, "max": 1}]},
    "model": {"kind": "least_squares", "intercept": true},
    "domain": {"kind": "l1_ball", "radius": 2},
    "regulariser": {"kind": "none"},
    "algorithm": {"kind": "noisy_minibatch_sgd", "rounds": 4, "step_size": 0.5, "averaging": "last",
                  "draw_fraction": 1},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 1},
    "cohort": [{"silo": "a", "records": 400, "holdout_records": 10, "holdout_public": true, "epsilon": 1,
                "delta": 1e-6},
               {"silo": "b", "records": 400, "holdout_records": 10, "holdout_public": true, "epsilon": 1,
                "delta": 1e-6}],
    "participation": {"quorum": 2, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500},
    "evaluation": {"every": 0},
    "wire": {"points": "f64", "replies": "i64", "reply_step_log2": -40}})");
}

Json selecting_job() {
  Json job = clipped_job();
  job["algorithm"] = {
      {"kind", "private_frank_wolfe"}, {"iterates", 6}, {"vertices", {{"kind", "l1_ball"}, {"radius", 2}}}};
  job["privacy"].erase("clip_norm");
  job["privacy"]["coordinate_bound"] = 0.5;
  return job;
}

void promise(Json& job, const Json& target) {
  for (Json& silo : job["cohort"]) {
    silo.erase("epsilon");
    silo.erase("delta");
    silo.update(target);
  }
}

std::string said_of(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}

void finds(const Json& job, const std::string& problem) {
  const std::string said = said_of(job);
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

releases::Target target_of(const Json& target) {
  Json job = clipped_job();
  promise(job, target);
  return parse_job(job.dump(), "job.json").value().cohort.front().facts.target;
}

TEST(PromisesTest, DeltaZeroIsPureAndRhoIsConcentrated) {
  const releases::Target approximate = target_of({{"epsilon", 2}, {"delta", 1e-5}});
  EXPECT_EQ(std::get<releases::ApproximateDp>(approximate).delta.value(), 1e-5);
  EXPECT_EQ(std::get<releases::PureDp>(target_of({{"epsilon", 2}, {"delta", 0}})).epsilon.value(), 2.0);
  const auto concentrated = std::get<releases::ConcentratedDp>(target_of({{"rho", 0.5}, {"delta", 1e-6}}));
  EXPECT_EQ(concentrated.rho.value(), 0.5);
  EXPECT_EQ(concentrated.delta.value(), 1e-6);
  const double exact = accounting::epsilon_of_zcdp(concentrated.rho, concentrated.delta);
  EXPECT_GE(concentrated.epsilon.value(), exact);
  EXPECT_LE(concentrated.epsilon.value(), exact + 0x1p-40);
  EXPECT_EQ(std::ldexp(concentrated.epsilon.value(), 40), std::floor(std::ldexp(concentrated.epsilon.value(), 40)));
}

TEST(PromisesTest, AreOneOfThreeKinds) {
  const auto said = [](const Json& target, const std::string& problem) {
    Json job = clipped_job();
    promise(job, target);
    finds(job, problem);
  };
  said({{"epsilon", 1}, {"rho", 0.5}, {"delta", 1e-6}}, "/cohort/0/rho: expected none beside epsilon");
  said({{"delta", 1e-6}}, "/cohort/0/epsilon: missing");
  said({{"epsilon", 1}}, "/cohort/0/delta: missing");
  said({{"epsilon", 1}, {"delta", -1e-9}}, "/cohort/0/delta: expected a finite number from 0 to 0.5");
  said({{"rho", 0.5}, {"delta", 0}}, "/cohort/0/delta: expected more than 0 beside rho");
  said({{"rho", 0}, {"delta", 1e-6}}, "/cohort/0/rho: expected a finite number from 1e-09");
  said({{"rho", 20}, {"delta", 1e-6}}, "/cohort/0/rho: expected an epsilon of at most 30 at delta 1e-06, got ");
  EXPECT_TRUE(std::holds_alternative<releases::ConcentratedDp>(target_of({{"rho", 1e-9}, {"delta", 0.4}})));
}

TEST(PromisesTest, EveryKindPlansClippedSums) {
  for (const Json& target : {Json{{"epsilon", 1}, {"delta", 0}}, Json{{"rho", 0.05}, {"delta", 1e-6}}}) {
    Json job = clipped_job();
    promise(job, target);
    const Job parsed = parse_job(job.dump(), "job.json").value();
    const auto plans = plans_of(parsed);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const auto& [silo, plan] : *plans)
      EXPECT_LE(plan.epsilon().value_rounded_up(), parsed.cohort.front().facts.epsilon().value());
  }
}

TEST(PromisesTest, SilosWithOtherPromisesAreNotAlike) {
  Json job = clipped_job();
  promise(job, {{"rho", 0.05}, {"delta", 1e-6}});
  const Job concentrated = parse_job(job.dump(), "job.json").value();
  const double epsilon = concentrated.cohort.front().facts.epsilon().value();
  job["cohort"][1].erase("rho");
  job["cohort"][1]["epsilon"] = epsilon;
  const Job mixed = parse_job(job.dump(), "job.json").value();
  const releases::SiloFacts& one = mixed.cohort[0].facts;
  const releases::SiloFacts& other = mixed.cohort[1].facts;
  EXPECT_EQ(one.epsilon(), other.epsilon());
  EXPECT_EQ(one.delta(), other.delta());
  EXPECT_NE(planned_facts(one), planned_facts(other));
  EXPECT_EQ(planned_facts(one), planned_facts(concentrated.cohort[1].facts));
}

TEST(PromisesTest, TheoremsAndChosenNoiseNeedAnEpsilonAndADelta) {
  for (const Json& target : {Json{{"epsilon", 1}, {"delta", 0}}, Json{{"rho", 0.05}, {"delta", 1e-6}}}) {
    Json theorem = clipped_job();
    theorem["algorithm"] = {{"theorem", "minibatch_convex"}};
    theorem["domain"] = {{"kind", "l2_ball"}, {"radius", 2}};
    EXPECT_EQ(said_of(theorem), "accepted");
    promise(theorem, target);
    finds(theorem, "/algorithm/theorem: theorems are of an epsilon and a delta above 0, and \"a\" is promised ");
    for (const Json& by : {Json{{"by", "theorem"}}, Json{{"by", "hand"}, {"noise_multiplier", 50}}}) {
      Json chosen = clipped_job();
      chosen["privacy"]["calibration"] = by;
      EXPECT_EQ(said_of(chosen), "accepted");
      promise(chosen, target);
      finds(chosen, "/privacy/calibration/by: expected \"accountant\": chosen noise is for silos with an epsilon");
    }
  }
}

TEST(PromisesTest, ShuffledSilosNeedAnEpsilonAndADelta) {
  Json job = clipped_job();
  job["privacy"]["mode"] = "shuffle";
  job["privacy"]["shuffle"] = {
      {"form", "counts"}, {"shufflers", {{{"name", "mixer"}, {"key", std::string(64, 'a')}}}}, {"honest_min", 2}};
  EXPECT_EQ(said_of(job), "accepted");
  promise(job, {{"epsilon", 1}, {"delta", 0}});
  finds(job, "/cohort: silos of a shuffled job are promised an epsilon and a delta above 0, and \"a\" is promised ");
}

TEST(BoundsTest, AJobGivesTheOneThatItsAlgorithmAsksFor) {
  EXPECT_EQ(said_of(clipped_job()), "accepted");
  EXPECT_EQ(said_of(selecting_job()), "accepted");
  EXPECT_EQ(std::get<releases::L2Bound>(parse_job(clipped_job().dump(), "job").value().bound).clip.value(), 1.0);
  EXPECT_EQ(std::get<releases::MaxBound>(parse_job(selecting_job().dump(), "job").value().bound).bound.value(), 0.5);
  Json both = clipped_job();
  both["privacy"]["coordinate_bound"] = 1;
  finds(both, "/privacy/coordinate_bound: expected none: noisy_minibatch_sgd bounds a record's gradient by clip_norm");
  both = selecting_job();
  both["privacy"]["clip_norm"] = 1;
  finds(both, "/privacy/clip_norm: expected none: private_frank_wolfe bounds a record's gradient by coordinate_bound");
  Json none = clipped_job();
  none["privacy"].erase("clip_norm");
  finds(none, "/privacy/clip_norm: missing, expected a finite number from 1e-09 to 1000000000: noisy_minibatch_sgd");
  none = selecting_job();
  none["privacy"].erase("coordinate_bound");
  finds(none, "/privacy/coordinate_bound: missing, expected a finite number");
  Json theorem = clipped_job();
  theorem["algorithm"] = {{"theorem", "minibatch_convex"}};
  theorem["privacy"].erase("clip_norm");
  finds(theorem, "/privacy/clip_norm: missing, expected a finite number");
  finds(theorem, "/algorithm/theorem: theorems are of gradients that are clipped");
}

TEST(SelectionJobTest, IsPlannedAndAskedRoundByRound) {
  for (const Json& target : {Json{{"epsilon", 1}, {"delta", 1e-6}}, Json{{"epsilon", 1}, {"delta", 0}},
                             Json{{"rho", 0.05}, {"delta", 1e-6}}}) {
    Json json = selecting_job();
    promise(json, target);
    const Job job = parse_job(json.dump(), "job.json").value();
    const planning::Schedule schedule = schedule_of(job);
    ASSERT_EQ(schedule.size(), 2U);  // five selections, and the evaluation
    EXPECT_EQ(schedule.front().rounds, 5U);
    const RoundSpec spec = round_spec(job, schedule.front().ask);
    EXPECT_EQ(spec.candidates, 6);
    EXPECT_EQ(spec.dimension, 1);
    const auto plans = plans_of(job);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const auto& [silo, plan] : *plans) {
      EXPECT_LE(plan.epsilon().value_rounded_up(), job.cohort.front().facts.epsilon().value());
      EXPECT_GT(plan.cost(releases::Block::Training).ranged.units(), 0U);
    }
    EXPECT_TRUE(PlausibleCohort::of(job, "job.json"));
  }
}

TEST(SelectionJobTest, OtherSectionsFitItOrAreRefused) {
  Json job = selecting_job();
  job["model"] = {{"kind", "moments"}};
  finds(job, "/model/kind: expected a linear model: private_frank_wolfe has no form for moments");
  job = selecting_job();
  job["model"] = {{"kind", "absolute"}, {"intercept", true}};
  finds(job, "/model/smoothing: missing: private_frank_wolfe needs a smooth loss");
  job = selecting_job();
  job["domain"] = {{"kind", "whole_space"}};
  finds(job, "/algorithm/kind: private Frank-Wolfe: the vertices say where the model lies");
  job = selecting_job();
  job["regulariser"] = {{"kind", "l1"}, {"strength", 0.1}};
  finds(job, "/algorithm/kind: private Frank-Wolfe: silos choose by their losses alone");
  job = selecting_job();
  job["aggregation"] = {{"kind", "geometric_median"}};
  finds(job, "/aggregation/kind: expected \"mean\": silos vote, and votes are counted");
  job = selecting_job();
  job["aggregation"] = {{"kind", "mean"}, {"missing_silos", "scaled"}};
  finds(job, "/aggregation/missing_silos: expected \"renormalised\": silos vote");
  job = selecting_job();
  job["privacy"]["calibration"] = {{"by", "hand"}, {"noise_multiplier", 5}};
  finds(job, "/privacy/calibration/by: expected \"accountant\": nobody chooses a noise of private_frank_wolfe");
  job = selecting_job();
  job["privacy"]["mode"] = "shuffle";
  job["privacy"]["shuffle"] = {
      {"form", "counts"}, {"shufflers", {{{"name", "mixer"}, {"key", std::string(64, 'a')}}}}, {"honest_min", 2}};
  finds(job, "/algorithm/kind: selections have no shuffled form");
}

TEST(SelectionJobTest, StartsAtAPointOfTheHull) {
  Json job = selecting_job();
  job["initial"] = {{"kind", "random"}, {"seed", 3}, {"scale", 100}};
  const Job parsed = parse_job(job.dump(), "job.json").value();
  const algorithms::Step first = make_algorithm(parsed)->start();
  const Eigen::VectorXd& point = queries::point_of(std::get<queries::Query>(first).question);
  EXPECT_NEAR(point.lpNorm<1>(), 2.0, 1e-9);  // far outside it, so that the projection lies on its boundary
}

}  // namespace
}  // namespace undertone::jobs
