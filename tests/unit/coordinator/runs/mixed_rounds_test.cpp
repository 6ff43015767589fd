#include "coordinator/runs/mixed_rounds.hpp"

#include <gtest/gtest.h>

#include "shared/jobs/planner.hpp"
#include "shared/jobs/round_spec.hpp"
#include "tests/support/fault_world.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::coordinator {
namespace {

jobs::Job job_of(const std::string& form, int rounds = 6) {
  tests::SmallFederation federation;
  federation.equal = true;
  federation.rounds = rounds;
  if (!form.empty()) federation.shuffle = tests::FaultWorlds::shuffle(form);
  return jobs::parse_job(federation.job(), "job").value();
}

MixedRounds rounds_of(const jobs::Job& job) {
  return MixedRounds::of(job, jobs::plan_of(job, job.cohort.front()).value()).value();
}

class MixedRoundsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MixedRoundsTest, KeptRoundsLookAsThePlanSays) {
  const jobs::Job job = job_of(GetParam());
  const planning::Plan plan = jobs::plan_of(job, job.cohort.front()).value();
  const MixedRounds kept = MixedRounds::read(rounds_of(job).save(), job).value();
  const planning::Schedule schedule = jobs::schedule_of(job);
  int mixed = 0;
  int direct = 0;
  for (RoundIndex round{0}; plan.release(round) != nullptr; round = round.next()) {
    const planning::Release& release = *plan.release(round);
    const Result<sealed::RoundLayout> layout = kept.layout(job, *planning::ask_of(schedule, round), round);
    ASSERT_EQ(layout.has_value(), !release.is_public()) << round.value;
    ++(layout ? mixed : direct);
    if (!layout) continue;
    const auto planned =
        sealed::RoundLayout::create(*job.shuffle, release, job.reply_lattice, job.cohort.size()).value();
    EXPECT_EQ(layout->message_bytes(), planned.message_bytes());
    EXPECT_EQ(layout->unit_bytes(), planned.unit_bytes());
    EXPECT_EQ(layout->word_bytes(), planned.word_bytes());
    EXPECT_EQ(layout->dimension(), planned.dimension());
    EXPECT_EQ(layout->vectors(), planned.vectors());
    if (layout->form() == sealed::RoundLayout::Form::Reports) continue;
    EXPECT_EQ(layout->parameters().grid(), planned.parameters().grid());
    EXPECT_EQ(layout->parameters().coins(), planned.parameters().coins());
    EXPECT_EQ(layout->parameters().heads().numerator, planned.parameters().heads().numerator);
    EXPECT_EQ(layout->parameters().heads().denominator, planned.parameters().heads().denominator);
  }
  EXPECT_EQ(mixed, 6);
  EXPECT_GT(direct, 0);  // evaluations
  EXPECT_FALSE(kept.layout(job, *planning::ask_of(schedule, {0}), {1000}));
}

TEST_P(MixedRoundsTest, DamagedOnesAndThoseOfAnotherJobAreAnError) {
  const jobs::Job job = job_of(GetParam());
  const std::string bytes = rounds_of(job).save();
  EXPECT_FALSE(MixedRounds::read(bytes, job_of(GetParam(), 7)));
  EXPECT_FALSE(MixedRounds::read(bytes, job_of("")));
  EXPECT_FALSE(MixedRounds::read(bytes + "x", job));
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(MixedRounds::read(bytes.substr(0, size), job));
  const releases::Ask ask = *planning::ask_of(jobs::schedule_of(job), {0});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char other : {'\x00', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[at] = other;
      const Result<MixedRounds> read = MixedRounds::read(changed, job);
      if (read) (void)read->layout(job, ask, {0});  // a layout or an error, and no broken invariant
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, MixedRoundsTest, ::testing::Values("reports", "bits", "counts", "shares"));

}  // namespace
}  // namespace undertone::coordinator
