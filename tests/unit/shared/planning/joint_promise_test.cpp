#include "shared/planning/joint_promise.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::planning {
namespace {

releases::SiloFacts promising(double epsilon, double delta, std::int64_t records = 1000, std::int64_t holdout = 0) {
  return {SiloId::create("one").value(), records, holdout, false,
          releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(delta).value()}};
}
releases::Ask joint_gradient(double fraction = 1.0) {
  return {releases::GradientMap{},
          {releases::Block::Training, fraction},
          releases::L2Bound{releases::ClipNorm::create(1.0).value()},
          4};
}
releases::Ask joint_metrics() {
  return {releases::MetricsMap{},
          {releases::Block::Holdout, 1.0},
          releases::L2Bound{releases::ClipNorm::create(1.0).value()},
          2};
}

/// Spec person-unit 12, rows 22 to 25: s silos of (1, 1e-6).
TEST(JointPromiseTest, AlikeSilosPromiseWhatTheReferenceRowsSay) {
  const Plan plan = make_plan({{joint_gradient(), 7}}, promising(1.0, 1e-6)).value();
  for (const auto& [silos, expected] : {std::pair(std::size_t{1}, 1.0), std::pair(std::size_t{2}, 1.45467),
                                        std::pair(std::size_t{3}, 1.81378), std::pair(std::size_t{5}, 2.39971)}) {
    const JointPromise joint = joint_promise({{&plan, 8}}, silos).value();
    EXPECT_EQ(joint.silos, silos);
    EXPECT_NEAR(joint.epsilon, expected, 2e-3 * expected) << silos;
    EXPECT_DOUBLE_EQ(joint.delta, plan.delta().value_rounded_up());
  }
  EXPECT_EQ(joint_promise({{&plan, 3}}, 100)->silos, 3U);  // more than there are: all of them
}

/// Row 26: of promises of .5, 1 and 2 the two dearest count; at 2e-6.
TEST(JointPromiseTest, TheDearestSilosCount) {
  const Plan small = make_plan({{joint_gradient(), 3}}, promising(0.5, 1e-6)).value();
  const Plan middle = make_plan({{joint_gradient(), 3}}, promising(1.0, 1e-6)).value();
  const Plan large = make_plan({{joint_gradient(), 3}}, promising(2.0, 1e-6)).value();
  const JointPromise two = joint_promise({{&small, 1}, {&large, 1}, {&middle, 1}}, 2).value();
  EXPECT_GT(two.epsilon, 2.21206);  // which it is at twice the delta
  EXPECT_LT(two.epsilon, 2.35);
  EXPECT_DOUBLE_EQ(two.epsilon, joint_promise({{&large, 1}, {&middle, 1}}, 2)->epsilon);
  const JointPromise all = joint_promise({{&small, 1}, {&large, 1}, {&middle, 1}}, 3).value();
  EXPECT_GT(all.epsilon, two.epsilon);
  EXPECT_LT(all.epsilon, 3.5);
}

/// PU13: the joint figure is the accountant's of both plans' releases together. She may be held out at one of them.
TEST(JointPromiseTest, DrawnReleasesComposeToWhatTheAccountantSaysOfAllOfThem) {
  const Plan plan = make_plan({{joint_gradient(0.05), 40}}, promising(1.0, 1e-6)).value();
  std::vector<accounting::RepeatedEvent> events = plan.events(releases::Block::Training);
  for (accounting::RepeatedEvent& event : events) event.times *= 2;
  const double expected = accounting::charged_epsilon(events, releases::Delta::create(1e-6).value()).value();
  const JointPromise joint = joint_promise({{&plan, 2}}, 2).value();
  EXPECT_NEAR(joint.epsilon, expected, 1e-3 * expected);
  EXPECT_LT(joint.epsilon, 2.0 * plan.epsilon().value_rounded_up());
  const Plan both =
      make_plan({{joint_gradient(0.05), 40}, {joint_metrics(), 2}}, promising(1.0, 1e-6, 1000, 200)).value();
  const double held_out = joint_promise({{&both, 2}}, 2)->epsilon;
  EXPECT_GE(held_out, joint.epsilon * 0.99);
  EXPECT_LT(held_out, 2.0);
}

TEST(JointPromiseTest, SilosOfDifferentDrawsPromiseNoMoreThanTheirSum) {
  const Plan one = make_plan({{joint_gradient(0.05), 40}}, promising(1.0, 1e-6)).value();
  const Plan other = make_plan({{joint_gradient(0.05), 40}}, promising(1.0, 1e-6, 400)).value();
  const JointPromise two = joint_promise({{&one, 1}, {&other, 1}}, 2).value();
  EXPECT_GT(two.epsilon, 1.0);
  EXPECT_LT(two.epsilon, 1.8);
  EXPECT_LE(joint_promise({{&one, 40}, {&other, 40}}, 2)->epsilon, 2.0);
}

TEST(JointPromiseTest, BeyondThirtyThereIsNone) {
  const Plan plan = make_plan({{joint_gradient(), 1}}, promising(8.0, 1e-6)).value();
  EXPECT_FALSE(joint_promise({{&plan, 100}}, 100));
}

}  // namespace
}  // namespace undertone::planning
