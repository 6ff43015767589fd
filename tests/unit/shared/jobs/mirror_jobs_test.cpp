#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "shared/jobs/job.hpp"
#include "shared/jobs/planner.hpp"
#include "shared/jobs/vertex_choices.hpp"
#include "tests/support/measured_page.hpp"

/// Jobs whose gradients are bounded in the dual of their algorithm's norm.
namespace undertone::jobs {
namespace {

using Json = nlohmann::json;

Json mirror_job() {
  return Json::parse(R"({
    "format": "undertone.job/1", "name": "small",
    "data": {"label": {"column": "y", "negative": "no", "positive": "yes"},
             "features": [{"column": "x", "min": -1, "max": 1}, {"column": "z", "min": -1, "max": 1},
                          {"column": "v", "min": -1, "max": 1}]},
    "model": {"kind": "logistic", "intercept": true},
    "domain": {"kind": "l1_ball", "radius": 2},
    "regulariser": {"kind": "none"},
    "algorithm": {"kind": "mirror_descent", "rounds": 4, "step_size": 0.5, "draw_fraction": 1,
                  "geometry": {"potential": "p_norm", "norm": 1}},
    "privacy": {"mode": "isrl", "unit": "record", "noise": "secure", "clip_norm": 0.25},
    "cohort": [{"silo": "a", "records": 400, "holdout_records": 10, "holdout_public": true, "epsilon": 1,
                "delta": 1e-6},
               {"silo": "b", "records": 400, "holdout_records": 10, "holdout_public": true, "epsilon": 1,
                "delta": 1e-6}],
    "participation": {"quorum": 2, "join_deadline_ms": 1000, "round_deadline_ms": 1000, "resend_ms": 500},
    "evaluation": {"every": 0},
    "wire": {"points": "f64", "replies": "i64", "reply_step_log2": -40}})");
}

Json frank_wolfe_job(double smoothness) {
  Json job = mirror_job();
  job["algorithm"] = {{"kind", "noisy_frank_wolfe"},
                      {"rounds", 4},
                      {"step_size", 0.25},
                      {"smoothness", smoothness},
                      {"set", {{"norm", 1}}}};
  return job;
}

std::string said_of_mirror(const Json& job) {
  const Result<Job> parsed = parse_job(job.dump(), "job.json");
  return parsed ? "accepted" : parsed.error().message;
}

void mirror_finds(const Json& job, const std::string& problem) {
  const std::string said = said_of_mirror(job);
  EXPECT_NE(said.find(problem), std::string::npos) << said;
}

TEST(MirrorJobsTest, TheClipNormIsOfTheDualNorm) {
  const Job job = parse_job(mirror_job().dump(), "job.json").value();
  const auto& bound = std::get<releases::DualBound>(job.bound);
  EXPECT_TRUE(std::isinf(bound.exponent()));
  EXPECT_EQ(bound.clip().value(), 0.25);
  EXPECT_NEAR(job.clip().value(), 0.5, 1e-11);  // sqrt 4
  Json other = mirror_job();
  other["algorithm"]["geometry"]["norm"] = 1.5;
  EXPECT_DOUBLE_EQ(std::get<releases::DualBound>(parse_job(other.dump(), "job.json").value().bound).exponent(), 3.0);
  other["algorithm"]["geometry"] = {{"potential", "euclidean"}};
  EXPECT_TRUE(std::holds_alternative<releases::L2Bound>(parse_job(other.dump(), "job.json").value().bound));
}

TEST(MirrorJobsTest, PlansMeetTheirPromise) {
  for (const Json& written : {mirror_job(), frank_wolfe_job(0.25)}) {
    const Job job = parse_job(written.dump(), "job.json").value();
    const auto plans = plans_of(job).value();
    const planning::Plan& plan = plans.begin()->second;
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
  }
}

TEST(MirrorJobsTest, RefusesOtherModelsShufflersAndNoClip) {
  Json job = mirror_job();
  job["privacy"].erase("clip_norm");
  mirror_finds(job, "/privacy/clip_norm: missing");
  job = mirror_job();
  job["privacy"]["coordinate_bound"] = 0.5;
  mirror_finds(job, "/privacy/coordinate_bound: expected none: mirror_descent bounds a record's gradient by clip_norm");
  job = mirror_job();
  job["model"] = {{"kind", "softmax"}};
  job["data"]["label"] = {{"column", "y"}, {"classes", {"low", "middle", "high"}}};
  mirror_finds(job, "/model/kind: expected a linear model: mirror_descent has no form for softmax");
  job["algorithm"]["geometry"] = {{"potential", "euclidean"}};
  EXPECT_EQ(said_of_mirror(job), "accepted");
  job = mirror_job();
  job["regulariser"] = {{"kind", "l1"}, {"strength", 0.1}};
  mirror_finds(job, "is not smooth");
}

TEST(MirrorJobsTest, APotentialThatIsNoneIsOneProblem) {
  Json job = mirror_job();
  job["domain"] = {{"kind", "box"}, {"lower", -1}, {"upper", 1}};
  const std::string said = said_of_mirror(job);
  EXPECT_NE(said.find("/algorithm/geometry/potential"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
}

TEST(MirrorJobsTest, RefusesASmoothnessBelowWhatIsProven) {
  // Logistic: 1/4 times ||x||_inf^2 <= 1; of l_2, times the 4 numbers of a record.
  EXPECT_EQ(said_of_mirror(frank_wolfe_job(0.25)), "accepted");
  mirror_finds(frank_wolfe_job(0.2),
               "/algorithm/smoothness: expected at least 0.25, which is what holds for every record");
  Json euclidean = frank_wolfe_job(0.9);
  euclidean["algorithm"]["set"] = {{"norm", 2}};
  mirror_finds(euclidean, "/algorithm/smoothness: expected at least 1,");
  euclidean["algorithm"]["smoothness"] = 1.0;
  EXPECT_EQ(said_of_mirror(euclidean), "accepted");
}

TEST(MirrorJobsTest, ReadsEveryRecordOfNoisyFrankWolfeOnce) {
  const Job job = parse_job(frank_wolfe_job(0.25).dump(), "job.json").value();
  const planning::Plan plan = plans_of(job).value().begin()->second;
  // Of 400 records 200, then 50 four times; and the public evaluation. Each costs what the only release of all would.
  ASSERT_EQ(plan.rounds(), 6U);
  EXPECT_EQ(plan.release({0})->records_drawn, 200);
  for (std::uint64_t t = 1; t <= 4; ++t) {
    EXPECT_EQ(plan.release({t})->records_drawn, 50);
    EXPECT_EQ(plan.release({t})->positions.from, static_cast<std::int64_t>(150 + 50 * t));
    const double once = plan.release({0})->cost().gaussian.value_rounded_up();
    EXPECT_NEAR(plan.release({t})->cost().gaussian.value_rounded_up(), once, 1e-3 * once);
  }
}

Json one_pass_job(const Json& algorithm) {
  Json job = mirror_job();
  job["algorithm"] = algorithm;
  return job;
}

TEST(MirrorJobsTest, EveryOnePassMethodCostsWhatOneReleaseDoes) {
  const Json set = {{"norm", 1}};
  const Json methods[] = {
      {{"kind", "tree_frank_wolfe"}, {"depth", 3}, {"smoothness", 0.25}, {"set", set}},
      {{"kind", "poly_frank_wolfe"}, {"rounds", 4}, {"step_size", 0.3}, {"smoothness", 0.25}, {"set", set}}};
  for (const Json& method : methods) {
    const Job job = parse_job(one_pass_job(method).dump(), "job.json").value();
    const planning::Plan plan = plans_of(job).value().begin()->second;
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
    // Every release has the whole promise: its own shift is that of (1, 1e-6), whatever the rounds.
    const double once = plan.release({0})->cost().gaussian.value_rounded_up();
    EXPECT_NEAR(std::sqrt(once), 0.2367, 1e-3);
    std::int64_t read = 0;
    for (std::uint64_t t = 0; t < job.algorithm->extent().rounds; ++t) {
      EXPECT_EQ(plan.release({t})->positions.from, read);
      read = plan.release({t})->positions.to;
      EXPECT_NEAR(plan.release({t})->cost().gaussian.value_rounded_up(), once, 1e-3 * once);
    }
    EXPECT_LE(read, 400);
  }
  // 2^T (T + T(T+1)/4) parts at least: with too few records for a leaf nothing is spent.
  Json deep = one_pass_job({{"kind", "tree_frank_wolfe"}, {"depth", 6}, {"smoothness", 0.25}, {"set", set}});
  const auto plans = plans_of(parse_job(deep.dump(), "job.json").value());
  ASSERT_FALSE(plans);
  EXPECT_NE(plans.error().message.find("1056 rounds read disjoint parts of its n = 400 training records, which leaves"),
            std::string::npos)
      << plans.error().message;
  // A smoothness below what is proven would cut differences short.
  deep["algorithm"]["depth"] = 2;
  deep["algorithm"]["smoothness"] = 0.1;
  mirror_finds(deep, "/algorithm/smoothness: expected at least 0.25");
}

Json vertex_job(const char* choice) {
  Json job = mirror_job();
  job["algorithm"] = {{"kind", "private_frank_wolfe"},
                      {"iterates", 6},
                      {"choice", choice},
                      {"vertices", {{"kind", "l1_ball"}, {"radius", 2}}}};
  if (std::string(choice) != "vector") {
    job["privacy"]["coordinate_bound"] = job["privacy"]["clip_norm"];
    job["privacy"].erase("clip_norm");
  }
  return job;
}

TEST(MirrorJobsTest, PlansCompareTheChoicesOfAVertexWhicheverTheJobHas) {
  const Job by_vote = parse_job(vertex_job("vote").dump(), "job.json").value();
  const Job by_vector = parse_job(vertex_job("vector").dump(), "job.json").value();
  EXPECT_TRUE(std::isinf(std::get<releases::DualBound>(by_vector.bound).exponent()));
  const auto votes = compare_vertex_choices(by_vote);
  const auto vectors = compare_vertex_choices(by_vector);
  ASSERT_EQ(votes.size(), 4U);
  ASSERT_EQ(vectors.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(votes[i].choice, vectors[i].choice);
    EXPECT_EQ(votes[i].step_error, vectors[i].step_error);
    EXPECT_EQ(votes[i].of_job, votes[i].choice == "vote");
    EXPECT_EQ(vectors[i].of_job, vectors[i].choice == "vector");
    if (i > 0) {
      EXPECT_LE(votes[i - 1].step_error, votes[i].step_error);
    }
  }
  EXPECT_TRUE(compare_vertex_choices(parse_job(mirror_job().dump(), "job.json").value()).empty());
  Json other = vertex_job("vector");
  other["algorithm"]["choice"] = "lot";
  mirror_finds(other, "/algorithm/choice: expected one of \"vote\", \"vector\", \"scores\", \"nominate\"");
  other = vertex_job("vector");
  other["privacy"] = vertex_job("vote")["privacy"];
  mirror_finds(other, "/privacy/clip_norm: missing");
}

Json path_job(const Json& algorithm) {
  Json job = mirror_job();
  job["algorithm"] = algorithm;
  job["algorithm"]["vertices"] = {{"kind", "l1_ball"}, {"radius", 2}};
  job["privacy"]["coordinate_bound"] = 1;
  job["privacy"].erase("clip_norm");
  return job;
}

TEST(MirrorJobsTest, MethodsThatSelectAlongPathsArePlannedAndTheirRiskIsBounded) {
  for (const Json& algorithm :
       {Json{{"kind", "private_tree_frank_wolfe"}, {"depth", 3}, {"smoothness", 0.25}},
        Json{{"kind", "private_poly_frank_wolfe"}, {"rounds", 5}, {"step_size", 0.3}, {"smoothness", 0.25}}}) {
    SCOPED_TRACE(algorithm.dump());
    const Job job = parse_job(path_job(algorithm).dump(), "job.json").value();
    const planning::Plan plan = plan_of(job, job.cohort.front()).value();
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    const std::vector<algorithms::WeighedPlan> silos{{&plan, 0.5}, {&plan, 0.5}};
    const std::optional<algorithms::RiskBound> risk = job.algorithm->planned_risk(silos);
    ASSERT_TRUE(risk);
    EXPECT_GT(risk->bound, 0.0);
    EXPECT_TRUE(std::isfinite(risk->bound));
  }
}

TEST(MirrorJobsTest, TheRiskOfAChainCountsBothOfARecordsTermsTogether) {
  // W = 1, eta = 0.3, beta = 1/4, L = 1, D = 4: a difference is at most c = 0.25 x 0.3 x 4 = 0.3 of L, and what a
  // record of the part adds 0.7 x 0.3 + 0.3 = 0.51, of W/b: P_1 = 0.49 P_0 + 0.2601/b with P_0 = 1/b.
  const Job job =
      parse_job(
          path_job({{"kind", "private_poly_frank_wolfe"}, {"rounds", 1}, {"step_size", 0.3}, {"smoothness", 0.25}})
              .dump(),
          "job.json")
          .value();
  const planning::Plan plan = plan_of(job, job.cohort.front()).value();
  const double half = 0.5 * static_cast<double>(job.cohort.front().facts.records);
  const double log_count = 2.0 * std::log(2.0 * static_cast<double>(job.model->dimension()));
  const auto of_selection = [&](std::uint64_t round) {
    const auto& selection = std::get<mechanisms::PathSelection>(plan.release({round})->mechanism);
    return selection.draw.expected_loss_max(static_cast<std::size_t>(2 * job.model->dimension())) *
           selection.lattice.unit() * 2.0;
  };
  const double first = 0.7 * 4.0 + 0.3 * (of_selection(0) + 4.0 * std::sqrt(log_count / half)) + 0.045 * 4.0;
  const double second =
      0.7 * first + 0.3 * (of_selection(1) + 4.0 * std::sqrt(log_count * 0.7501 / half)) + 0.045 * 4.0;
  const std::vector<algorithms::WeighedPlan> silos{{&plan, 1.0}};
  EXPECT_NEAR(job.algorithm->planned_risk(silos)->bound, second, 1e-9 * second);
}

TEST(MirrorJobsTest, NumbersThatVanishAreRefusedBeforeAnythingIsPlanned) {
  // A coordinator's offer is parsed before any policy is asked.
  for (const double tiny : {5e-324, 1e-300}) {
    mirror_finds(
        path_job({{"kind", "private_poly_frank_wolfe"}, {"rounds", 5}, {"step_size", tiny}, {"smoothness", 0.25}}),
        "bounds differences by less than");
    Json unproven = path_job({{"kind", "private_tree_frank_wolfe"}, {"depth", 2}, {"smoothness", tiny}});
    EXPECT_NE(said_of_mirror(unproven), "accepted");
    Json bound = path_job({{"kind", "private_tree_frank_wolfe"}, {"depth", 2}, {"smoothness", 0.25}});
    bound["privacy"]["coordinate_bound"] = tiny;
    (void)said_of_mirror(bound);  // whatever is said, it is said
    for (const char* choice : {"scores", "nominate"}) {
      Json scores = vertex_job(choice);
      scores["privacy"]["coordinate_bound"] = tiny;
      (void)said_of_mirror(scores);
    }
  }
  mirror_finds(path_job({{"kind", "private_tree_frank_wolfe"}, {"depth", 2}, {"smoothness", 0.1}}),
               "/algorithm/smoothness");
  mirror_finds(path_job({{"kind", "private_tree_frank_wolfe"}, {"depth", 9}, {"smoothness", 0.25}}), "in 1 to 8");
  const Job deep =
      parse_job(path_job({{"kind", "private_tree_frank_wolfe"}, {"depth", 6}, {"smoothness", 0.25}}).dump(), "job.json")
          .value();
  const Result<planning::Plan> plan = plan_of(deep, deep.cohort.front());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("leaves none for"), std::string::npos) << plan.error().message;
}

TEST(MirrorJobsTest, WhatWouldKeepASiloBusyForHoursIsRefused) {
  Json busy = mirror_job();
  busy["algorithm"] = {
      {"kind", "one_shot_frank_wolfe"}, {"iterates", 100'000}, {"vertices", {{"kind", "l1_ball"}, {"radius", 2}}}};
  busy["privacy"]["coordinate_bound"] = 1;
  busy["privacy"].erase("clip_norm");
  EXPECT_EQ(said_of_mirror(busy), "accepted");
  for (Json& silo : busy["cohort"]) silo["records"] = 1'000'000'000;
  const Job job = parse_job(busy.dump(), "job.json").value();
  const Result<planning::Plan> plan = plan_of(job, job.cohort.front());
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("products"), std::string::npos) << plan.error().message;
}

Json theorem_job(const char* name) {
  Json job = one_pass_job({{"theorem", name}});
  if (std::string(name) == "staged_mirror_strongly_convex") job["algorithm"]["strong_convexity"] = 0.1;
  if (std::string(name) == "lp_sgd_convex") job["domain"] = {{"kind", "box"}, {"lower", -1}, {"upper", 1}};
  if (std::string(name) == "staged_tree_frank_wolfe_strongly_convex") job["algorithm"]["strong_convexity"] = 0.1;
  if (std::string(name).find("tree_frank_wolfe_") != std::string::npos && name[0] != 't') {
    job["privacy"]["coordinate_bound"] = job["privacy"]["clip_norm"];
    job["privacy"].erase("clip_norm");
  }
  return job;
}

constexpr std::pair<const char*, const char*> kTheoremsOfMethods[] = {
    {"localized_mirror_convex", "localized_mirror_descent"},
    {"staged_mirror_strongly_convex", "staged_mirror_descent"},
    {"tree_frank_wolfe_convex", "tree_frank_wolfe"},
    {"poly_frank_wolfe_convex", "poly_frank_wolfe"},
    {"private_tree_frank_wolfe_convex", "private_tree_frank_wolfe"},
    {"staged_tree_frank_wolfe_strongly_convex", "staged_tree_frank_wolfe"},
    {"lp_sgd_convex", "lp_sgd"}};

TEST(MirrorJobsTest, TheoremsChooseTheirMethodsAndThesePlansMeetTheirPromise) {
  for (const auto& [name, method] : kTheoremsOfMethods) {
    SCOPED_TRACE(name);
    const Result<Job> job = parse_job(theorem_job(name).dump(), "job.json");
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->algorithm->name(), method);
    ASSERT_TRUE(job->theorem);
    EXPECT_EQ(job->theorem->facts.lipschitz, 0.25);
    EXPECT_GT(job->theorem->rate, 0.0);
    const planning::Plan plan = plan_of(*job, job->cohort.front()).value();
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.98);
    const bool votes = std::string(method).find("tree_frank_wolfe") != std::string::npos && method[0] != 't';
    EXPECT_EQ(std::holds_alternative<releases::MaxBound>(job->bound), votes);
    // Full jobs say what was chosen, and are jobs.
    EXPECT_TRUE(full_job(theorem_job(name).dump(), "job.json"));
  }
}

TEST(MirrorJobsTest, TheoremsOfL1TakeTheSmoothnessThatIsProvenInIt) {
  // Logistic, of four numbers within [-1, 1]: 1/4 from l_1 to l_inf, 1 in l2.
  const Job job = parse_job(theorem_job("tree_frank_wolfe_convex").dump(), "job.json").value();
  EXPECT_EQ(job.algorithm->traits().smoothness, 0.25);
  EXPECT_EQ(job.theorem->facts.smoothness, 1.0);
  Json typed = theorem_job("tree_frank_wolfe_convex");
  typed["algorithm"]["smoothness"] = 2.0;  // an assumption that is larger than what holds
  EXPECT_EQ(parse_job(typed.dump(), "job.json").value().algorithm->traits().smoothness, 0.25);
  typed["algorithm"]["smoothness"] = 0.5;
  mirror_finds(typed, "/algorithm/smoothness: expected at least 1");
}

TEST(MirrorJobsTest, LossesWithKinksAreTakenByTheTheoremsThatAreOfThem) {
  for (const auto& [name, method] : kTheoremsOfMethods) {
    SCOPED_TRACE(name);
    Json job = theorem_job(name);
    job["model"]["kind"] = "hinge";
    const bool taken = std::string(method) == "localized_mirror_descent" ||
                       std::string(method) == "staged_mirror_descent" || std::string(method) == "lp_sgd";
    if (!taken) {
      mirror_finds(job, "has no form for losses that are not smooth");
      continue;
    }
    const Job parsed = parse_job(job.dump(), "job.json").value();
    EXPECT_FALSE(parsed.theorem->envelope);
    EXPECT_FALSE(parsed.model->is_smooth());
    job["algorithm"]["smoothness"] = 1.0;
    mirror_finds(job, "/algorithm/smoothness: expected none: the loss has a kink, and the theorem takes it as it is");
  }
}

TEST(MirrorJobsTest, TheoremsRefuseWhatTheirMethodsDo) {
  // A bound on every coordinate is for the theorem whose silos select, and a clip for the others.
  for (const auto& [name, method] : kTheoremsOfMethods) {
    SCOPED_TRACE(name);
    Json job = theorem_job(name);
    const bool votes = job["privacy"].contains("coordinate_bound");
    job["privacy"].erase(votes ? "coordinate_bound" : "clip_norm");
    job["privacy"][votes ? "clip_norm" : "coordinate_bound"] = 0.25;
    mirror_finds(job,
                 votes ? "/privacy/coordinate_bound: missing"
                       : "/algorithm/theorem: theorems are of gradients that are clipped: expected privacy.clip_norm");
    Json none = theorem_job(name);
    none["privacy"].erase("coordinate_bound");
    none["privacy"].erase("clip_norm");
    mirror_finds(none, "/algorithm/theorem: theorems are of gradients that are clipped");
    Json printed = theorem_job(name);
    printed["privacy"]["calibration"] = {{"by", "theorem"}};
    if (std::string(method) == "lp_sgd") {
      EXPECT_EQ(parse_job(printed.dump(), "job.json").value().algorithm->extent().rounds, 640'000U);  // (400 2)^2
      const Job whole = parse_job(printed.dump(), "job.json").value();
      tests::expect_on_page("geometry.md", "keeps what it promises (# where 1 was, 400 records)",
                            {plan_of(whole, whole.cohort.front()).value().epsilon().value_rounded_up()}, 2);
      for (Json& silo : printed["cohort"]) silo["records"] = 501;
      mirror_finds(printed, "T = (n N)^2 = 1004004 rounds for n = 501 records of each of N = 2 silos");
    } else {
      mirror_finds(printed, "expected the accountant's noise");
    }
    Json unbounded = theorem_job(name);
    unbounded["domain"] = {{"kind", "whole_space"}};
    unbounded["algorithm"]["gap"] = 1;
    mirror_finds(unbounded, "which no diameter bounds");
    Json multiset = theorem_job(name);
    multiset["algorithm"]["sampling"] = "with_replacement";
    const bool draws = std::string(method) == "localized_mirror_descent" || std::string(method) == "lp_sgd";
    EXPECT_EQ(said_of_mirror(multiset) == "accepted", draws) << said_of_mirror(multiset);
    if (!draws) mirror_finds(multiset, "/algorithm/sampling: expected without_replacement");
  }
  Json few = theorem_job("tree_frank_wolfe_convex");
  for (Json& silo : few["cohort"]) silo["records"] = 2;
  mirror_finds(few, "n = 2 records, expected at least 3");
}

TEST(MirrorJobsTest, VotesOfATheoremsJobAreOfThoseThatAnswer) {
  const Job job = parse_job(theorem_job("private_tree_frank_wolfe_convex").dump(), "job.json").value();
  EXPECT_FALSE(job.aggregation.scaled_to);
  Json unequal = theorem_job("private_tree_frank_wolfe_convex");
  unequal["cohort"][0]["weight"] = 3;
  EXPECT_FALSE(parse_job(unequal.dump(), "job.json").value().aggregation.scaled_to);
  unequal = theorem_job("tree_frank_wolfe_convex");
  unequal["cohort"][0]["weight"] = 3;
  EXPECT_TRUE(parse_job(unequal.dump(), "job.json").value().aggregation.scaled_to);
}

TEST(MirrorJobsTest, PerturbedObjectivesAreOfLogisticLossesAlone) {
  Json job = mirror_job();
  job["algorithm"] = {{"kind", "objective_perturbation"}};
  job["domain"] = {{"kind", "l2_ball"}, {"radius", 2}};
  job["privacy"]["clip_norm"] = 1;
  EXPECT_EQ(said_of_mirror(job), "accepted");
  Json pure = job;
  for (Json& silo : pure["cohort"]) silo["delta"] = 0;
  const Job promised = parse_job(pure.dump(), "job.json").value();
  EXPECT_FALSE(plan_of(promised, promised.cohort.front()));
  Json squares = job;
  squares["model"]["kind"] = "least_squares";
  squares["data"]["label"] = {{"column", "y"}, {"min", -1}, {"max", 1}};
  mirror_finds(squares, "second derivatives");
}

}  // namespace
}  // namespace undertone::jobs
