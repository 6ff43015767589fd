#include "silo/agent/group_promises.hpp"

#include <gtest/gtest.h>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/accounting/group_privacy.hpp"

namespace undertone::silo {
namespace {

releases::SiloFacts grouped_facts(std::int64_t records, std::int64_t holdout = 0) {
  return {SiloId::create("one").value(), records, holdout, false,
          releases::ApproximateDp{releases::Epsilon::create(1.0).value(), releases::Delta::create(1e-6).value()}};
}
releases::Ask grouped_gradient(double fraction) {
  return {releases::GradientMap{},
          {releases::Block::Training, fraction},
          releases::L2Bound{releases::ClipNorm::create(1.0).value()},
          4};
}
RunAccount reserved_for(const planning::Plan& plan) {
  RunAccount out;
  out.training_reserved = plan.cost(releases::Block::Training);
  out.holdout_reserved = plan.cost(releases::Block::Holdout);
  return out;
}

/// Spec person-unit 12, rows 15 and 16: epsilon 1 of a record is 5.93 for somebody with five, and 13.5 with ten.
TEST(GroupPromisesTest, WhereAllRecordsAreReadTheyAreTheReferenceRows) {
  const releases::SiloFacts facts = grouped_facts(1000);
  const planning::Plan plan = planning::make_plan({{grouped_gradient(1.0), 4}}, facts).value();
  const std::vector<GroupPromise> said = group_promises(plan, facts, reserved_for(plan), true);
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0].records, 5);
  EXPECT_NEAR(said[0].epsilon.value(), 5.92618, 0.02);
  EXPECT_NEAR(said[1].epsilon.value(), 13.507, 0.05);
  EXPECT_FALSE(said[2].epsilon);  // beyond 30: samplers take all of delta
}

/// Section 3.2: draws help somebody with several records, too, but less than a multiple of epsilon says.
TEST(GroupPromisesTest, DrawsAreTakenByTheLawOfHowManyAreDrawn) {
  const releases::SiloFacts facts = grouped_facts(10'000);
  const planning::Plan plan = planning::make_plan({{grouped_gradient(0.01), 200}}, facts).value();
  const planning::Release& release = plan.segments().front().release;
  const std::vector<GroupPromise> said = group_promises(plan, facts, reserved_for(plan), true);
  const releases::GaussianShift shift =
      releases::GaussianShift::create(std::sqrt(release.cost_of_draw().gaussian.value_rounded_up())).value();
  for (const GroupPromise& group : said) {
    const double alone = accounting::group_epsilon({{shift, 100, 10'000, false, 200}}, group.records,
                                                   releases::Delta::create(1e-6).value())
                             ->upper;
    EXPECT_GE(group.epsilon.value(), alone * 0.999) << group.records;  // samplers take a part of delta
    EXPECT_LE(group.epsilon.value(), alone * 1.01) << group.records;
  }
  EXPECT_GT(said[0].epsilon.value(), 5.0);  // and multiplying by five would be too little
}

/// K draws may take her k records more often than k times, which what was reserved for one occurrence does not say.
TEST(GroupPromisesTest, DrawsWithReplacementAreNeverTakenForOneReadOfAll) {
  const releases::SiloFacts facts = grouped_facts(1000);
  releases::Ask ask = grouped_gradient(1.0);
  ask.records.with_replacement = true;
  const planning::Plan plan = planning::make_plan({{ask, 1}}, facts).value();
  const planning::Release& release = plan.segments().front().release;
  const releases::GaussianShift shift =
      releases::GaussianShift::create(std::sqrt(release.cost_of_draw().gaussian.value_rounded_up())).value();
  const std::vector<GroupPromise> said = group_promises(plan, facts, reserved_for(plan), true);
  const double five =
      accounting::group_epsilon({{shift, 1000, 1000, true, 1}}, 5, releases::Delta::create(1e-6).value())->upper;
  EXPECT_GE(said[0].epsilon.value(), five * 0.999);
  EXPECT_FALSE(group_promises(plan, facts, reserved_for(plan), false)[0].epsilon);
}

// Whoever has five records that report once each, in whatever parts, is promised five times one record's epsilon.
TEST(GroupPromisesTest, RecordsInPartsOfTheirOwnReportOnceEach) {
  const releases::SiloFacts facts = grouped_facts(1000);
  planning::Schedule schedule;
  for (std::uint64_t part = 0; part < 8; ++part) {
    releases::Ask ask = grouped_gradient(1.0);
    ask.form = releases::SumForm{{}, releases::ReportsForm{releases::Randomiser::Direction}};
    ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, part, 8};
    schedule.push_back({ask, 1});
  }
  const planning::Plan plan = planning::make_plan(schedule, facts).value();
  const std::vector<GroupPromise> said = group_promises(plan, facts, reserved_for(plan), true);
  EXPECT_NEAR(said[0].epsilon.value(), 5.0, 1e-4);
  EXPECT_NEAR(said[1].epsilon.value(), 10.0, 1e-4);
  // Two passes over the same parts are twice that.
  planning::Schedule twice = schedule;
  twice.insert(twice.end(), schedule.begin(), schedule.end());
  const planning::Plan again = planning::make_plan(twice, facts).value();
  const double each = again.segments().front().release.cost_of_draw().pure.value_rounded_up();
  EXPECT_NEAR(group_promises(again, facts, reserved_for(again), true)[0].epsilon.value(), 10.0 * each, 1e-4);
}

/// Thesis B.1.3.2: an epsilon of 1/n promises the silo as a whole about 1, and a larger one nothing.
TEST(GroupPromisesTest, OfAWholeSiloAllRecordsAreReplaced) {
  const auto promised = [](double epsilon) {
    const releases::SiloFacts facts{
        SiloId::create("one").value(), 1000, 200, false,
        releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(1e-6).value()}};
    const planning::Plan plan = planning::make_plan({{grouped_gradient(1.0), 4}}, facts).value();
    return silo_promise(plan, facts, reserved_for(plan), true);
  };
  const GroupPromise whole = promised(1e-3);
  EXPECT_EQ(whole.records, 1200);
  // One Gaussian release of a thousand times the shift that (1e-3, 1e-6) has.
  const double shift = 1000.0 * accounting::gaussian_shift_for(releases::Epsilon::create(1e-3).value(),
                                                               releases::Delta::create(1e-6).value())
                                    .value();
  const double alone = accounting::epsilon_of_gaussian(releases::GaussianShift::create(shift).value(),
                                                       releases::Delta::create(1e-6).value());
  EXPECT_NEAR(whole.epsilon.value(), alone, 0.05 * alone);
  EXPECT_FALSE(promised(1.0).epsilon);
}

/// Of few records everybody's are all that there are: one line.
TEST(GroupPromisesTest, NobodyHasMoreThanThereAre) {
  const releases::SiloFacts facts = grouped_facts(3, 2);
  const planning::Plan plan = planning::make_plan({{grouped_gradient(1.0), 1}}, facts).value();
  const std::vector<GroupPromise> said = group_promises(plan, facts, reserved_for(plan), true);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].records, 5);
  EXPECT_LT(said[0].epsilon.value(), 3.4);  // three of them are in training, and nothing reads the others
}

}  // namespace
}  // namespace undertone::silo
