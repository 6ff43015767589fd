#include "shared/preview/planned_releases.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "shared/jobs/job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::preview {
namespace {

TEST(PlannedReleasesTest, OfEveryAlgorithmAreListedAndSaidInALine) {
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
    const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
    std::uint64_t times = 0;
    for (const PlannedRelease& release : releases_of(plan)) {
      times += release.times;
      EXPECT_FALSE(describe(release).empty());
      EXPECT_EQ(to_json(release).at("times"), release.times);
    }
    EXPECT_EQ(times, plan.rounds());
  }
}

TEST(PlannedReleasesTest, OfEveryKindOfStatisticAreSaidInALine) {
  std::vector<tests::SmallFederation> federations = tests::federations_of_vectors();
  federations.push_back(tests::federation_of_reports());
  federations.push_back(tests::federation_of_functions());
  federations.push_back(tests::federation_of_choices());
  std::set<std::string> losses;  // how reports say what they cost
  for (const tests::SmallFederation& federation : federations) {
    SCOPED_TRACE(federation.statistics);
    const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
    const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
    for (const PlannedRelease& planned : releases_of(plan)) {
      EXPECT_FALSE(describe(planned).empty());
      const nlohmann::ordered_json release = to_json(planned);
      for (const char* loss : {"mu", "epsilon"})
        if (release.contains("reports") && release["reports"].contains(loss)) losses.insert(loss);
    }
  }
  EXPECT_EQ(losses, (std::set<std::string>{"mu", "epsilon"}));
}

TEST(PlannedReleasesTest, SelectionsOfSeveralEpsilonsAreSaidAsARange) {
  // The nodes of a path halve the records from one to the next, so that the selections along it cost 2, 1 and 0.5.
  tests::SmallFederation federation;
  for (const auto& [name, each] : tests::federations_of_every_algorithm())
    if (name == "private_tree_frank_wolfe") federation = each;
  federation.algorithm.replace(federation.algorithm.find(R"("depth":1)"), 9, R"("depth":2)");
  const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
  const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
  double least = 1e300;
  double most = 0.0;
  for (const planning::Plan::Segment& segment : plan.segments()) {
    const double epsilon = segment.release.cost_of_draw().ranged.value_rounded_up();
    if (epsilon == 0.0) continue;
    least = std::min(least, epsilon);
    most = std::max(most, epsilon);
  }
  double least_said = 1e300;
  double most_said = 0.0;
  for (const PlannedRelease& planned : releases_of(plan)) {
    const nlohmann::ordered_json release = to_json(planned);
    if (!release.contains("selection")) continue;
    const auto& selection = release["selection"];
    most_said = std::max(most_said, selection["epsilon"].get<double>());
    least_said = std::min(least_said, selection.value("epsilon_min", selection["epsilon"].get<double>()));
  }
  EXPECT_LT(least, most);
  EXPECT_EQ(least_said, least);
  EXPECT_EQ(most_said, most);
}

}  // namespace
}  // namespace undertone::preview
