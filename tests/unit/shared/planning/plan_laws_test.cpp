#include <cmath>
#include <gtest/gtest.h>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/planning/plan.hpp"
#include "shared/planning/plan_digest.hpp"
#include "tests/support/rounds_made.hpp"

/// Plans of laws other than the Gaussian's: pure and zCDP targets, selections, statistics.
namespace undertone::planning {
namespace {

using releases::Block;

releases::SiloFacts silo_with(const releases::Target& target, bool holdout_public = false) {
  return {SiloId::create("one").value(), 100, 20, holdout_public, target};
}
releases::Target pure(double epsilon) { return releases::PureDp{releases::Epsilon::create(epsilon).value()}; }
releases::Target approximate(double epsilon, double delta) {
  return releases::ApproximateDp{releases::Epsilon::create(epsilon).value(), releases::Delta::create(delta).value()};
}
releases::Target concentrated(double rho_value, double delta_value) {
  const auto rho = releases::Rho::create(rho_value).value();
  const auto delta = releases::Delta::create(delta_value).value();
  return releases::ConcentratedDp{
      rho, delta, releases::Epsilon::create(accounting::epsilon_of_zcdp(rho, delta) * (1.0 + 1e-9)).value()};
}

releases::Ask gradient_sum(double fraction = 1.0) {
  return {releases::GradientMap{},
          {Block::Training, fraction},
          releases::L2Bound{releases::ClipNorm::create(2.0).value()},
          5};
}
releases::Ask vertex(double fraction = 1.0) {
  return {releases::GradientMap{},
          {Block::Training, fraction},
          releases::MaxBound{releases::CoordinateBound::create(1.5).value()},
          8,
          releases::SelectionForm{geometry::Vertices::of_l1_ball(8, 3.0).value()}};
}
releases::Ask count() { return {releases::StatisticMap{{3}, true}, {}, releases::RangeBound{0.0, 1.0}, 1}; }
releases::Ask mean() { return {releases::StatisticMap{{2}, false}, {}, releases::RangeBound{-1.0, 1.0}, 1}; }

TEST(PlanLawsTest, ASelectionsShareOfAPureTargetIsItsPart) {
  const Plan plan = make_plan({{vertex(), 8}}, silo_with(pure(1.0))).value();
  const auto& selection = std::get<mechanisms::Selection>(plan.release({0})->mechanism);
  EXPECT_NEAR(selection.draw.epsilon().value_rounded_up(), 1.0 / 8.0, 1e-11);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 1.0 - 1e-10);
  EXPECT_EQ(plan.delta().units(), releases::UInt128{0});
  EXPECT_FALSE(plan.mechanism_delta());
  // 4 levels of the l1 ball: how far one record moves the difference of two scores.
  EXPECT_EQ(selection.draw.range().value(), 4 * selection.lattice.levels());
  EXPECT_EQ(plan.cost(Block::Training).to_string(), "ranged:1099511627776");  // 8 x 2^37: all of 2^40
}

TEST(PlanLawsTest, OfAConcentratedTargetEachSelectionHasItsShareOfRho) {
  const Plan plan = make_plan({{vertex(), 50}}, silo_with(concentrated(0.1, 1e-6))).value();
  const double each = std::get<mechanisms::Selection>(plan.release({0})->mechanism).draw.epsilon().value_rounded_up();
  // epsilon^2/8 of zCDP each, 50 of them: 0.1 at most, and nearly so.
  EXPECT_LE(50.0 * each * each / 8.0, 0.1 * (1.0 + 1e-12));
  EXPECT_GE(50.0 * each * each / 8.0, 0.1 * (1.0 - 1e-6));
  EXPECT_LE(plan.epsilon().value_rounded_up(),
            accounting::epsilon_of_zcdp(releases::Rho::create(0.1).value(), releases::Delta::create(1e-6).value()) *
                (1.0 + 1e-8));
}

TEST(PlanLawsTest, OfAnApproximateTargetManySelectionsAreLouderThanTheirSum) {
  const Plan plan = make_plan({{vertex(), 200}}, silo_with(approximate(1.0, 1e-6))).value();
  const double each = std::get<mechanisms::Selection>(plan.release({0})->mechanism).draw.epsilon().value_rounded_up();
  EXPECT_GT(each, 2.0 / 200.0);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
  const auto events = plan.events(Block::Training);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<accounting::ExponentialEvent>(events.front().event));
}

TEST(PlanLawsTest, NoDrawIsCreditedToASelection) {
  const Plan whole = make_plan({{vertex(), 8}}, silo_with(pure(1.0))).value();
  const Plan drawn = make_plan({{vertex(0.1), 8}}, silo_with(pure(1.0))).value();
  EXPECT_EQ(std::get<mechanisms::Selection>(whole.release({0})->mechanism).draw.epsilon(),
            std::get<mechanisms::Selection>(drawn.release({0})->mechanism).draw.epsilon());
  EXPECT_EQ(whole.epsilon(), drawn.epsilon());
}

TEST(PlanLawsTest, SumsOfAPureTargetAreLaplace) {
  const Plan plan = make_plan({{gradient_sum(), 4}}, silo_with(pure(2.0))).value();
  const auto& laplace = std::get<mechanisms::LaplaceLattice>(plan.release({0})->mechanism);
  EXPECT_NEAR(laplace.noise.epsilon().value_rounded_up(), 0.5, 1e-5);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 2.0);
  // ||x - y||_1 <= sqrt(d) ||x - y||_2 <= sqrt(5) 2 Lambda.
  EXPECT_EQ(laplace.noise.sensitivity().value(),
            static_cast<std::int64_t>(std::floor(std::sqrt(5.0) * 2.0 * static_cast<double>(laplace.lattice.clip))));
  EXPECT_NEAR(static_cast<double>(laplace.lattice.clip) * laplace.lattice.step, 2.0, 1e-12);
}

TEST(PlanLawsTest, AStatisticIsLaplaceOfAnyTarget) {
  for (const releases::Target& target : {pure(1.0), approximate(1.0, 1e-6)}) {
    const Plan plan = make_plan({{count(), 1}, {mean(), 1}}, silo_with(target)).value();
    const auto& counted = std::get<mechanisms::LaplaceLattice>(plan.release({0})->mechanism);
    EXPECT_EQ(counted.lattice.clip, 1);
    EXPECT_EQ(counted.lattice.step, 1.0);
    EXPECT_EQ(counted.noise.sensitivity().value(), 1);  // one record changes a count by one
    const auto& value = std::get<mechanisms::LaplaceLattice>(plan.release({1})->mechanism);
    EXPECT_EQ(value.lattice.clip, std::int64_t{1} << 20);
    EXPECT_EQ(value.noise.sensitivity().value(), std::int64_t{2} << 20);  // from one end to the other
    EXPECT_NEAR(counted.noise.epsilon().value_rounded_up(), 0.5, 1e-5);
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
  }
  const Plan rho = make_plan({{count(), 2}}, silo_with(concentrated(0.5, 1e-6))).value();
  // sqrt(2 rho) = 1 in all.
  EXPECT_NEAR(rho.cost(Block::Training).pure.value_rounded_up(), 1.0, 1e-5);
}

TEST(PlanLawsTest, AConcentratedTargetOfGaussianSumsIsSpentWhole) {
  const Plan plan = make_plan({{gradient_sum(), 10}}, silo_with(concentrated(0.2, 1e-6))).value();
  const double shift_squared = plan.cost(Block::Training).gaussian.value_rounded_up();
  EXPECT_LE(shift_squared / 2.0, 0.2);
  EXPECT_GE(shift_squared / 2.0, 0.2 * 0.999);
}

TEST(PlanLawsTest, PartsOfAPermutationComposeInParallel) {
  const auto part = [](std::uint64_t index) {
    releases::Ask ask = vertex();
    ask.records.slice = releases::Slice{releases::Slice::Cut::Equal, index, 2};
    return ask;
  };
  const Plan plan = make_plan({{part(0), 1}, {part(1), 1}}, silo_with(pure(1.0))).value();
  EXPECT_NEAR(std::get<mechanisms::Selection>(plan.release({0})->mechanism).draw.epsilon().value_rounded_up(), 1.0,
              1e-11);
  EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
}

TEST(PlanLawsTest, TheOdometerFollowsTheReleasesOfALaw) {
  const Plan plan = make_plan({{vertex(), 8}}, silo_with(pure(1.0))).value();
  EXPECT_EQ(plan.epsilon_of({}), 0.0);
  EXPECT_NEAR(plan.epsilon_of(rounds_made(0, 2)), 0.25, 1e-10);
  EXPECT_NEAR(plan.epsilon_of(rounds_made(0, 8)), 1.0, 1e-10);
}

TEST(PlanLawsTest, WhatHasNoAccountIsRefused) {
  const auto refused = [](const Schedule& schedule, const releases::Target& target) {
    const Result<Plan> plan = make_plan(schedule, silo_with(target));
    return plan ? std::string() : plan.error().message;
  };
  releases::Ask twice = vertex(0.5);
  twice.records.with_replacement = true;
  EXPECT_NE(refused({{twice, 2}}, pure(1.0)), "");
  releases::Ask chosen = gradient_sum();
  chosen.shift = releases::GaussianShift::create(0.1).value();
  EXPECT_NE(refused({{chosen, 2}}, pure(1.0)), "");
  releases::Ask local = gradient_sum();
  local.map = releases::LocalRunMap{{3, 0.1}};
  EXPECT_NE(refused({{local, 2}}, pure(1.0)), "");
  releases::Ask near = gradient_sum();
  near.map = releases::GradientDifferenceMap{};
  near.bound = releases::L2Bound{near.clip(), 0.5};
  EXPECT_NE(refused({{near, 2}}, pure(1.0)), "");
  EXPECT_EQ(refused({{gradient_sum(), 1}, {vertex(), 1}}, pure(1.0)), "");
  releases::Ask boxed = gradient_sum();
  boxed.bound = releases::MaxBound{releases::CoordinateBound::create(1.0).value()};
  EXPECT_NE(refused({{boxed, 1}}, approximate(1.0, 1e-6)), "");
  EXPECT_NE(refused({{boxed, 1}}, pure(1.0)), "");
  const Result<Plan> shuffled =
      make_plan({{vertex(), 1}}, silo_with(approximate(1.0, 1e-6)), Shuffling{2, true, std::int64_t{1} << 20U});
  EXPECT_FALSE(shuffled);
}

TEST(PlanLawsTest, EveryNumberOfThemIsInTheDigest) {
  std::vector<Digest> digests;
  const auto add = [&](const releases::Ask& ask, const releases::Target& target) {
    digests.push_back(plan_digest(make_plan({{ask, 4}}, silo_with(target)).value()));
  };
  add(vertex(), pure(1.0));
  add(vertex(), pure(1.001));
  add(vertex(), approximate(1.0, 1e-6));
  add(count(), pure(1.0));
  add(mean(), pure(1.0));
  releases::Ask other = mean();
  other.map = releases::StatisticMap{{1}, false};
  add(other, pure(1.0));
  releases::Ask wider = vertex();
  wider.form = releases::SelectionForm{geometry::Vertices::of_l1_ball(8, 3.5).value()};
  add(wider, pure(1.0));
  releases::Ask simplex = vertex();
  simplex.form = releases::SelectionForm{geometry::Vertices::of_simplex(8, 3.0).value()};
  add(simplex, pure(1.0));
  releases::Ask bounded = vertex();
  bounded.bound = releases::MaxBound{releases::CoordinateBound::create(1.6).value()};
  add(bounded, pure(1.0));
  add(gradient_sum(), pure(1.0));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " " << j;
  }
}

}  // namespace
}  // namespace undertone::planning
