#include "shared/preview/predicted_excess.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/mirror/one_pass_bounds.hpp"
#include "shared/jobs/planner.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::preview {
namespace {

/// One silo of so many records with the recursive method of W = 2: half of them, then four parts of the other half.
jobs::Job recursive_job(int records) {
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    if (name != "poly_frank_wolfe") continue;
    tests::SmallFederation one = federation;
    one.silos = 1;
    one.quorum = 1;
    nlohmann::json job = nlohmann::json::parse(one.job());
    job["cohort"][0]["records"] = records;
    job.erase("evaluation");
    return jobs::parse_job(job.dump(), "job.json").value();
  }
  ADD_FAILURE() << "no federation of the method";
  return jobs::parse_job("", "job.json").value();
}

TEST(PredictedExcessTest, OfPartsThatDoNotDivideTheRecordsItIsThatOfTheSmallestPart) {
  for (const int records : {104, 106, 110}) {
    SCOPED_TRACE(records);
    const jobs::Job job = recursive_job(records);
    const auto plans = jobs::plans_of(job).value();
    const planning::Release& first = plans.begin()->second.segments().front().release;
    ASSERT_EQ(first.records_drawn, records / 2);
    // A part has floor(records/8): 13, so that four of them have 52, whatever the half has.
    const double uneven = static_cast<double>(first.records_drawn) / 52.0;
    const double stddev = uneven * first.noise_stddev_of_mean();
    const auto& settings = *job.algorithm.as<algorithms::PolyFrankWolfeSettings>();
    const double expected =
        algorithms::one_pass_risk(settings,
                                  {std::get<releases::DualBound>(job.bound).clip().value(), stddev * stddev, 52.0})
            ->bound;
    EXPECT_NEAR(predicted_excess(job, plans)->bound, expected, 1e-6 * expected);
  }
}

/// A theorem that chose the clip counts what clipping takes away, for silos that count as it reckons; a clip without a
/// theorem, and a median of groups, have no bound.
TEST(PredictedExcessTest, OfMomentsItIsTheTheoremsOwnAndOfItsOwnWeights) {
  tests::SmallFederation federation;
  federation.loss = models::Loss::LeastSquares;
  federation.evaluation_every = 0;
  federation.equal = true;
  federation.moments = R"({"order":4,"bound":0.5,"source":"a pilot"})";
  const nlohmann::json plain = nlohmann::json::parse(federation.job());
  nlohmann::json by_theorem = plain;
  by_theorem["algorithm"] = {{"theorem", "heavy_tailed_convex"}, {"smoothness", 10}};
  const auto predicted = [](const nlohmann::json& text) {
    const jobs::Job job = jobs::parse_job(text.dump(), "job.json").value();
    return predicted_excess(job, jobs::plans_of(job).value());
  };
  EXPECT_FALSE(predicted(plain));
  const std::optional<algorithms::RiskBound> alike = predicted(by_theorem);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->bound, *jobs::parse_job(by_theorem.dump(), "job.json").value().theorem->bound);
  nlohmann::json heavier = by_theorem;
  heavier["cohort"][0]["weight"] = 100;
  EXPECT_FALSE(predicted(heavier));
  nlohmann::json groups = by_theorem;
  groups["privacy"]["moments"].update({{"of", "coordinates"}, {"groups", 3}});
  EXPECT_FALSE(predicted(groups));
}

jobs::Job theorem_job(const char* name, nlohmann::json constants, double bound) {
  tests::SmallFederation federation;
  federation.regulariser = R"({"kind":"none"})";
  federation.domain = R"({"kind":"l1_ball","radius":1})";
  federation.equal = true;
  nlohmann::json job = nlohmann::json::parse(federation.job());
  constants["theorem"] = name;
  job["algorithm"] = std::move(constants);
  if (bound > 0.0) {
    job["privacy"].erase("clip_norm");
    job["privacy"]["coordinate_bound"] = bound;
  }
  const Result<jobs::Job> parsed = jobs::parse_job(job.dump(), "job.json");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}

bool predicts(const jobs::Job& job) { return predicted_excess(job, jobs::plans_of(job).value()).has_value(); }

TEST(PredictedExcessTest, OfFrankWolfesStepsNothingIsSaidWhereMeansVaryByMoreThanNoise) {
  // A step is no linear function of the mean: what a silo that was not asked would have said does not average out.
  EXPECT_TRUE(predicts(theorem_job("constrained_frank_wolfe", {}, 0.0)));
  EXPECT_FALSE(predicts(theorem_job("constrained_frank_wolfe", {{"answering", 2}, {"heterogeneity", 1}}, 0.0)));
  EXPECT_FALSE(predicts(theorem_job("constrained_frank_wolfe", {{"sampling", "with_replacement"}}, 0.0)));
}

TEST(PredictedExcessTest, OfSilosOwnChoicesNothingIsSaidWhereSilosDiffer) {
  EXPECT_TRUE(predicts(theorem_job("private_tree_frank_wolfe_convex", {}, 1.0)));
  EXPECT_FALSE(predicts(theorem_job("private_tree_frank_wolfe_convex", {{"heterogeneity", 1}}, 1.0)));
}

}  // namespace
}  // namespace undertone::preview
