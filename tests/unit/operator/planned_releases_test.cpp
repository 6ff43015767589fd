#include "operator/planned_releases.hpp"

#include <gtest/gtest.h>

#include "shared/jobs/job.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::operators {
namespace {

TEST(PlannedReleasesTest, OfEveryAlgorithmAreListedAndSaidInALine) {
  for (const auto& [name, federation] : tests::federations_of_every_algorithm()) {
    SCOPED_TRACE(name);
    const jobs::Job job = jobs::parse_job(federation.job(), "small").value();
    const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
    const nlohmann::ordered_json releases = releases_of(plan);
    std::uint64_t times = 0;
    for (const nlohmann::ordered_json& release : releases) {
      times += release.at("times").get<std::uint64_t>();
      EXPECT_FALSE(describe_release(release).empty());
    }
    EXPECT_EQ(times, plan.rounds());
  }
}

}  // namespace
}  // namespace undertone::operators
