#include "shared/theorems/mirror_parameters.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/mirror/localized_mirror_descent.hpp"
#include "shared/algorithms/mirror/staged_mirror_theorem.hpp"
#include "shared/algorithms/sgd/lp_sgd.hpp"
#include "shared/releases/rounds_max.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::theorems {
namespace {

using algorithms::LocalizedMirrorDescentSettings;
using algorithms::LpSgdSettings;
using algorithms::StagedMirrorDescentSettings;
using geometry::Domain;

constexpr auto kByAccountant = PlannedNoise::Accountant;

/// M = 4 silos of n = 1024, epsilon 1, delta 1e-6: l1 = ln(1/delta) = 13.815511. Over the l1 ball of radius 1 in R^16
/// D = 2 and f = log2 16 = 4; over the box of radius 1/4 D = 2 as well, in l2.
TheoremFacts mirror_facts() {
  TheoremFacts out;
  out.silos = out.answering = 4.0;
  out.records = 1024.0;
  out.epsilon = 1.0;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 10.0;
  out.strong_convexity = 1.6;
  out.gap = 2.0;
  out.gradient_variance = 1.0;
  return out;
}

algorithms::Problem mirror_problem(const Result<Domain>& domain, Eigen::Index dimension = 16) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = domain.value();
  return problem;
}

TheoremChoice choose_mirror(TheoremName name, const TheoremFacts& facts, PlannedNoise noise = kByAccountant) {
  const Result<Domain> domain = name == TheoremName::LpSgdConvex ? Domain::box(-0.25, 0.25) : Domain::l1_ball(1.0);
  return choose_by_theorem(name, facts, mirror_problem(domain), noise).value();
}

double mirror_reason(const TheoremChoice& choice, const std::string& name) {
  for (const TheoremChoice::Reason& one : choice.reasons)
    if (one.name == name) return one.value;
  ADD_FAILURE() << name;
  return 0.0;
}

/// The same as the method's own theorem takes it.
algorithms::MirrorStageFacts stage_facts(const TheoremFacts& facts) {
  return {1.0,
          16,
          2.0,
          static_cast<std::uint64_t>(facts.records),
          static_cast<std::uint64_t>(facts.answering),
          facts.epsilon,
          facts.delta,
          facts.lipschitz,
          facts.strong_convexity / 16.0,
          releases::kRoundsMax};
}

/// Plans what a silo of so many records is asked: with gradients bounded by 1 in l_q.
planning::Plan planned(const TheoremChoice& choice, const TheoremFacts& facts, double exponent) {
  const releases::ClipNorm clip = releases::ClipNorm::create(facts.lipschitz).value();
  const releases::Bound bound = exponent > 2.0
                                    ? releases::Bound(releases::DualBound::create(clip, exponent, 16).value())
                                    : releases::Bound(releases::L2Bound{clip});
  return planning::make_plan(choice.method->schedule({bound, choice.draw_fraction}),
                             {SiloId::create("silo").value(), static_cast<std::int64_t>(facts.records), 0, true,
                              releases::ApproximateDp{releases::Epsilon::create(facts.epsilon).value(),
                                                      releases::Delta::create(facts.delta).value()}})
      .value();
}

TEST(MirrorParametersTest, LocalizedByHand) {
  // eta = 2 min{sqrt(4/4096) = 1/32, 1/sqrt(4 16 4 13.815511) = 0.0168149} = 0.0336299. Phases of 512, 256, .. 2
  // records, T_i = min{16 n_i, n_i^2/4}: 8192, 4096, 2048, 1024, 256, 64, 16, 4 and 1.
  const TheoremChoice choice = choose_mirror(TheoremName::LocalizedMirrorConvex, mirror_facts());
  const auto& settings = *choice.method.as<LocalizedMirrorDescentSettings>();
  EXPECT_EQ(settings.norm, 1.0);
  ASSERT_EQ(settings.phases.size(), 9U);
  const std::uint64_t rounds[] = {8192, 4096, 2048, 1024, 256, 64, 16, 4, 1};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(settings.phases[i].rounds, rounds[i]) << i;
  EXPECT_EQ(settings.extent().rounds, 15'701U);
  const double eta = 2.0 / std::sqrt(256.0 * std::log(1e6));
  EXPECT_NEAR(mirror_reason(choice, "step_size"), eta, 1e-15);
  // eta_1 n_1 M = 0.0336299/16 2048 = 4.304626; lambda = 2/that, R = 2 that/4; each phase after has a 32nd of that.
  EXPECT_NEAR(settings.phases[0].relative_convexity, 2.0 / (128.0 * eta), 1e-12);
  EXPECT_NEAR(settings.phases[0].radius, 64.0 * eta, 1e-12);
  EXPECT_NEAR(settings.phases[2].relative_convexity, 2048.0 / (128.0 * eta), 1e-9);
  // 2 (1/32 + 4 sqrt(16 4 13.815511)/(1024 2)) = 2 (0.03125 + 0.0580769).
  EXPECT_NEAR(choice.rate, 0.178653818, 1e-9);
  EXPECT_EQ(choice.measure, "excess risk over the population");
  EXPECT_EQ(choice.losses, TheoremLosses::ConvexWithKinks);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  EXPECT_FALSE(choice.bound);  // which is L D
}

TEST(MirrorParametersTest, LocalizedBoundsAreStatedWhereTheySayMoreThanTheDiameter) {
  TheoremFacts facts = mirror_facts();
  facts.records = 1 << 20;
  facts.epsilon = 8.0;
  facts.silos = facts.answering = 1.0;
  const TheoremChoice choice = choose_mirror(TheoremName::LocalizedMirrorConvex, facts);
  ASSERT_TRUE(choice.bound);
  EXPECT_LT(*choice.bound, 2.0);
  EXPECT_GT(*choice.bound, choice.rate);
  EXPECT_FALSE(choice.bound_at);  // phases have noise of their own
  EXPECT_EQ(*choice.bound, algorithms::choose_mirror_phases(stage_facts(facts)).value().bound);
  // Silos that differ, or some that do not answer, are in no proof.
  facts.heterogeneity = 0.1;
  EXPECT_FALSE(choose_mirror(TheoremName::LocalizedMirrorConvex, facts).bound);
  facts = mirror_facts();
  facts.records = 1 << 20;
  facts.epsilon = 8.0;
  facts.silos = 4.0;
  facts.answering = 1.5;  // one silo's worth of averaging is certain
  const TheoremChoice fewer = choose_mirror(TheoremName::LocalizedMirrorConvex, facts);
  EXPECT_FALSE(fewer.bound);
  EXPECT_EQ(fewer.method.as<LocalizedMirrorDescentSettings>()->phases[0].rounds,
            choice.method.as<LocalizedMirrorDescentSettings>()->phases[0].rounds);
}

TEST(MirrorParametersTest, LocalizedRoundsAreCutWhereThereAreTooMany) {
  // f n_1 = 4 2^19 rounds of the first phase alone.
  TheoremFacts facts = mirror_facts();
  facts.records = 1 << 20;
  facts.silos = facts.answering = 1.0;
  const TheoremChoice choice = choose_mirror(TheoremName::LocalizedMirrorConvex, facts);
  const auto& settings = *choice.method.as<LocalizedMirrorDescentSettings>();
  EXPECT_LE(settings.extent().rounds, releases::kRoundsMax);
  EXPECT_GE(settings.extent().rounds, releases::kRoundsMax - settings.phases.size());
  const double first = static_cast<double>(settings.phases[0].rounds);
  EXPECT_EQ(settings.phases[0].rounds, settings.phases[1].rounds);
  EXPECT_NEAR(mirror_reason(choice, "step_size"), 2.0 * std::sqrt(first) / 0x1p20, 1e-15);
  const double uncut = std::sqrt(4.0 / 0x1p20) + 4.0 * std::sqrt(64.0 * std::log(1e6)) / 0x1p20;
  EXPECT_NEAR(choice.rate, 2.0 * (uncut + 4.0 / std::sqrt(first)), 1e-12);
}

TEST(MirrorParametersTest, StagedByHand) {
  // n = 65536: log2 n = 16, so 4 stages of 10, 11, 12 and 13 phases, the first of 2048 records. m = 4 4096 = 16384: eta
  // = 2 min{sqrt(4/m) = 1/64, 0.0168149} = 1/32; eta_1 2048 4 = 16: lambda_1 = 1/8, R_1 = 2 16/4; T_1 = 4 2048 4.
  TheoremFacts facts = mirror_facts();
  facts.records = 65'536.0;
  const TheoremChoice choice = choose_mirror(TheoremName::StagedMirrorStronglyConvex, facts);
  const auto& settings = *choice.method.as<StagedMirrorDescentSettings>();
  ASSERT_EQ(settings.stages.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(settings.stages[i].phases.size(), 10 + i);
  EXPECT_DOUBLE_EQ(settings.stages[0].phases[0].relative_convexity, 0.125);
  EXPECT_DOUBLE_EQ(settings.stages[0].phases[0].radius, 8.0);
  EXPECT_EQ(settings.stages[0].phases[0].rounds, 32'768U);
  EXPECT_DOUBLE_EQ(mirror_reason(choice, "step_size"), 1.0 / 32.0);
  EXPECT_DOUBLE_EQ(mirror_reason(choice, "lambda"), 0.1);
  EXPECT_EQ(mirror_reason(choice, "stages"), 4.0);
  // lambda is so small that the next stage begins within sqrt(2 B/0.1) > D, whatever B is.
  EXPECT_EQ(mirror_reason(choice, "D of the last stage"), 2.0);
  EXPECT_EQ(choice.bound.value(), algorithms::choose_mirror_stages(stage_facts(facts)).value().stages.back().bound);
  EXPECT_GT(*choice.bound, choice.rate);
  // 10 (4/262144 + 16 64 13.815511/(65536^2 4)) = 10 (1.5258789e-5 + 8.234654e-7).
  EXPECT_NEAR(choice.rate, 1.6082254e-4, 1e-10);
}

TEST(MirrorParametersTest, StagesBeginNearerWhereTheModulusIsLarge) {
  // lambda = 20 of mu = 320 in R^16: sqrt(2 B/20) is nearer than D even where B is no less than L D = 2.
  TheoremFacts facts = mirror_facts();
  facts.records = 65'536.0;
  facts.strong_convexity = 320.0;
  const TheoremChoice choice = choose_mirror(TheoremName::StagedMirrorStronglyConvex, facts);
  EXPECT_LE(mirror_reason(choice, "D of the last stage"), std::sqrt(0.2));
}

TEST(MirrorParametersTest, PlannedSgdOverTheBoxByHand) {
  // One silo of n = 1000: mu(1, 1e-6) = 0.2367, v = 16 (2/236.7)^2 = 0.0011423 within its digits, T = 1/v = 875; twice
  // the gradients' square: eta = 2/sqrt(2 T), and the bound is 2 sqrt(2/T).
  TheoremFacts facts = mirror_facts();
  facts.silos = facts.answering = 1.0;
  facts.records = 1000.0;
  const TheoremChoice choice = choose_mirror(TheoremName::LpSgdConvex, facts);
  const auto& settings = *choice.method.as<LpSgdSettings>();
  const double rounds = static_cast<double>(settings.rounds);
  EXPECT_NEAR(rounds, 875.0, 3.0);
  EXPECT_TRUE(std::isinf(settings.norm));
  EXPECT_EQ(settings.radius, 0.25);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  EXPECT_NEAR(settings.step_size, std::sqrt(2.0 / rounds), 1e-4);
  EXPECT_NEAR(choice.bound.value(), std::sqrt(8.0 / rounds), 1e-3);
  EXPECT_NEAR(choice.bound_at(0.0), 0.75 * choice.bound.value(), 1e-3);  // one of two equal terms is halved
  EXPECT_NEAR(choice.rate, 2.0 * (1.0 / std::sqrt(rounds) + std::sqrt(16.0 * std::log(1e6)) / 1000.0), 1e-12);
  EXPECT_EQ(choice.measure, "excess risk");
  // The plan has that noise: 16 times the variance of a coordinate is a gradient's square.
  const planning::Plan plan = planned(choice, facts, 2.0);
  EXPECT_NEAR(16.0 * std::pow(plan.release({0})->noise_stddev_of_mean(), 2.0), 1.0, 0.01);
  // Silos average theirs: four times as many rounds.
  facts.silos = facts.answering = 4.0;
  EXPECT_NEAR(static_cast<double>(choose_mirror(TheoremName::LpSgdConvex, facts).method->extent().rounds), 4.0 * rounds,
              4.0);
}

TEST(MirrorParametersTest, PrintedSgdOverTheBoxByHand) {
  // n = 20 of M = 2: T = 40^2; eta = 2/40 min{1/sqrt 40 = 0.158, 1/sqrt(2 16 13.815511) = 0.0475600}; batches of one
  // record. v = 8 1600 13.815511/20^2/2 = 221.04817.
  TheoremFacts facts = mirror_facts();
  facts.silos = facts.answering = 2.0;
  facts.records = 20.0;
  const TheoremChoice choice = choose_mirror(TheoremName::LpSgdConvex, facts, PlannedNoise::Printed);
  const auto& settings = *choice.method.as<LpSgdSettings>();
  EXPECT_EQ(settings.rounds, 1600U);
  EXPECT_NEAR(settings.step_size, 0.05 / std::sqrt(32.0 * std::log(1e6)), 1e-15);
  EXPECT_EQ(std::floor(choice.draw_fraction * 20.0), 1.0);
  const double variance = 16.0 * std::log(1e6);
  EXPECT_NEAR(choice.bound.value(),
              4.0 / (3200.0 * settings.step_size) + settings.step_size * (1.0 + 16.0 * variance) / 2.0, 1e-9);
  EXPECT_NEAR(choice.rate, 2.0 * (1.0 / std::sqrt(40.0) + std::sqrt(16.0 * std::log(1e6)) / (20.0 * std::sqrt(2.0))),
              1e-12);
}

TEST(MirrorParametersTest, ARegulariserLengthensGradientsAndLeavesNoBound) {
  // Strength 2 of weights of length 1 at most: L + 2 = 3 in rounds and steps, 1 in the noise.
  algorithms::Problem problem = mirror_problem(Domain::box(-0.25, 0.25));
  problem.regulariser = geometry::Regulariser::squared_l2(2.0, 16).value();
  const TheoremChoice choice =
      choose_by_theorem(TheoremName::LpSgdConvex, mirror_facts(), problem, kByAccountant).value();
  const auto plain = choose_mirror(TheoremName::LpSgdConvex, mirror_facts()).method->extent().rounds;
  EXPECT_NEAR(static_cast<double>(choice.method->extent().rounds), 9.0 * static_cast<double>(plain), 9.0);
  EXPECT_FALSE(choice.bound);
  EXPECT_FALSE(choice.bound_at);
}

TEST(MirrorParametersTest, ConditionsOfMirrorMethodsAreRefusedWithBothNumbers) {
  const auto says = [](TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                       PlannedNoise noise, const std::string& part) {
    const auto choice = choose_by_theorem(name, facts, problem, noise);
    ASSERT_FALSE(choice) << to_string(name);
    EXPECT_NE(choice.error().message.find(part), std::string::npos) << choice.error().message;
  };
  const algorithms::Problem ball = mirror_problem(Domain::l1_ball(1.0));
  algorithms::Problem regularised = ball;
  regularised.regulariser = geometry::Regulariser::squared_l2(0.1, 16).value();
  for (const TheoremName name : {TheoremName::LocalizedMirrorConvex, TheoremName::StagedMirrorStronglyConvex}) {
    says(name, mirror_facts(), ball, PlannedNoise::Printed, "a job draws one share: expected the accountant's noise");
    says(name, mirror_facts(), mirror_problem(Domain::whole_space()), kByAccountant, "the whole space");
    for (const Result<Domain>& domain : {Domain::l2_ball(1.0), Domain::box(-0.25, 0.25), Domain::simplex(1.0)})
      says(name, mirror_facts(), mirror_problem(domain), kByAccountant,
           "exact over l1_ball alone of the bounded domains");
    says(name, mirror_facts(), mirror_problem(Domain::l1_ball(2.0)), kByAccountant,
         "D = 2 is less than the diameter 4");
    says(name, mirror_facts(), regularised, kByAccountant, "expected no regulariser");
  }
  TheoremFacts facts = mirror_facts();
  facts.records = 3.0;
  says(TheoremName::LocalizedMirrorConvex, facts, ball, kByAccountant, "n/2 of 3 records, at least 2 are needed");
  facts.records = 43.0;
  says(TheoremName::StagedMirrorStronglyConvex, facts, ball, kByAccountant, "of 43 records, at least 4 are needed");
  facts = mirror_facts();
  facts.strong_convexity = 0.0;
  says(TheoremName::StagedMirrorStronglyConvex, facts, ball, kByAccountant, "the strong convexity mu must be > 0");

  const algorithms::Problem box = mirror_problem(Domain::box(-0.25, 0.25));
  for (const PlannedNoise noise : {PlannedNoise::Printed, kByAccountant}) {
    says(TheoremName::LpSgdConvex, mirror_facts(), mirror_problem(Domain::whole_space()), noise, "the whole space");
    says(TheoremName::LpSgdConvex, mirror_facts(), ball, noise,
         "the domain is the l1 ball: expected box, from -R to R");
    says(TheoremName::LpSgdConvex, mirror_facts(), mirror_problem(Domain::box(-0.25, 0.2)), noise,
         "a box from -0.25 to 0.2: expected one from -R to R");
    algorithms::Problem kinked = box;
    kinked.regulariser = geometry::Regulariser::l1(0.1, 16).value();
    TheoremFacts few = mirror_facts();
    few.records = 20.0;
    says(TheoremName::LpSgdConvex, few, kinked, noise, "is not smooth");
  }
  facts = mirror_facts();
  facts.silos = facts.answering = 1.0;
  facts.records = 1001.0;
  says(TheoremName::LpSgdConvex, facts, box, PlannedNoise::Printed, "T = (n N)^2 = 1002001 rounds for n = 1001");
  facts.records = 100.0;
  facts.epsilon = 1.5;
  says(TheoremName::LpSgdConvex, facts, box, PlannedNoise::Printed, "epsilon is 1.5, which must be at most 1");
}

TEST(MirrorParametersTest, EveryChoiceIsMadeAndPlannedAtItsPromise) {
  for (const TheoremName name :
       {TheoremName::LocalizedMirrorConvex, TheoremName::StagedMirrorStronglyConvex, TheoremName::LpSgdConvex}) {
    SCOPED_TRACE(to_string(name));
    const TheoremChoice choice = choose_mirror(name, mirror_facts());
    EXPECT_TRUE(choice.method->make());
    for (const TheoremChoice::Reason& one : choice.reasons) EXPECT_TRUE(std::isfinite(one.value)) << one.name;
    const planning::Plan plan = planned(choice, mirror_facts(), choice.method->traits().clip_exponent);
    EXPECT_LE(plan.epsilon().value_rounded_up(), 1.0);
    EXPECT_GE(plan.epsilon().value_rounded_up(), 0.99);
    EXPECT_EQ(plan.rounds(), choice.method->extent().rounds);
  }
}

TEST(MirrorParametersTest, ConstantsOfAnySizeComeBack) {
  for (const TheoremName name :
       {TheoremName::LocalizedMirrorConvex, TheoremName::StagedMirrorStronglyConvex, TheoremName::LpSgdConvex}) {
    const Result<Domain> domain = name == TheoremName::LpSgdConvex ? Domain::box(-0.25, 0.25) : Domain::l1_ball(1.0);
    for (const double tiny : {5e-324, 1e-300, 1e-30, 1e30}) {
      for (const double records : {1.0, 100.0, 1e15, 1e30}) {
        TheoremFacts facts = mirror_facts();
        facts.records = records;
        facts.lipschitz = facts.smoothness = facts.strong_convexity = facts.gap = tiny;
        for (const PlannedNoise noise : {PlannedNoise::Printed, kByAccountant})
          (void)choose_by_theorem(name, facts, mirror_problem(domain), noise);  // comes back, whatever it says
      }
    }
  }
}

TEST(MirrorParametersTest, TheirNamesAreThoseOfJobs) {
  EXPECT_EQ(to_string(TheoremName::LocalizedMirrorConvex), "localized_mirror_convex");
  EXPECT_EQ(to_string(TheoremName::StagedMirrorStronglyConvex), "staged_mirror_strongly_convex");
  EXPECT_EQ(to_string(TheoremName::LpSgdConvex), "lp_sgd_convex");
}

}  // namespace
}  // namespace undertone::theorems
