#include "shared/preview/starting_point.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/jobs/planner.hpp"
#include "shared/preview/predicted_excess.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::preview {
namespace {

/// A theorem's job of the logistic loss over a ball of radius 1.
std::string small_theorem_job(int records, double epsilon) {
  tests::SmallFederation federation;
  federation.regulariser = R"({"kind":"l2","strength":0.5})";
  federation.domain = R"({"kind":"l2_ball","radius":5})";
  federation.equal = true;
  nlohmann::ordered_json job = nlohmann::ordered_json::parse(federation.job());
  job["algorithm"] = {{"theorem", "proximal_sgd"}, {"smoothness", 3.0}, {"strong_convexity", 0.5}, {"gap", 0.7}};
  for (auto& member : job["cohort"]) {
    member["records"] = records;
    member["epsilon"] = epsilon;
  }
  job.erase("evaluation");
  return job.dump();
}

struct Warned {
  jobs::Job job;
  algorithms::RiskBound bound;
  std::string warning;
};
Warned warned(const std::string& text) {
  const jobs::Job job = jobs::parse_job(text, "job.json").value();
  const algorithms::RiskBound bound = predicted_excess(job, jobs::plans_of(job).value()).value();
  return {job, bound, idle_bound_warning(text, "job.json", job, bound)};
}

TEST(StartingPointTest, OfALogisticModelItIsTheZeroModelsLoss) {
  const jobs::Job job = jobs::parse_job(small_theorem_job(1024, 2.0), "job.json").value();
  const StartingPoint start = starting_point(job, theorems::kExcessRisk).value();
  EXPECT_DOUBLE_EQ(start.most, std::log(2.0));
  EXPECT_EQ(start.why, "the zero model's loss");
  EXPECT_FALSE(starting_point(jobs::parse_job(tests::SmallFederation().job(), "job.json").value(), "something else"));
}

// 1,024 records a silo at epsilon 2, whose bound is above what the zero model has.
TEST(StartingPointTest, ABoundThatPromisesNothingIsNamedWithWhatWouldMakeItBetter) {
  const std::string text = small_theorem_job(1024, 2.0);
  const Warned found = warned(text);
  ASSERT_GT(found.bound.bound, std::log(2.0));
  EXPECT_NE(found.warning.find("it promises nothing"), std::string::npos) << found.warning;
  const std::size_t at = found.warning.find(" times as many records");
  ASSERT_NE(at, std::string::npos) << found.warning;
  const int times = std::stoi(found.warning.substr(found.warning.rfind(' ', at - 1)));
  EXPECT_GT(times, 1);
  // What it says is true of that job, and of one with a quarter of the records it is not.
  EXPECT_LT(warned(small_theorem_job(1024 * times, 2.0)).bound.bound, std::log(2.0));
  EXPECT_EQ(warned(small_theorem_job(1024 * times, 2.0)).warning, "");
  EXPECT_NE(warned(small_theorem_job(1024 * times / 4, 2.0)).warning, "");
}

}  // namespace
}  // namespace undertone::preview
