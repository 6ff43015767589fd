#include "shared/theorems/regular_parameters.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/mirror/noisy_frank_wolfe.hpp"
#include "shared/algorithms/mirror/noisy_mirror_descent.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::theorems {
namespace {

using algorithms::NoisyFrankWolfeSettings;
using algorithms::NoisyMirrorDescentSettings;
using geometry::Domain;

/// One silo of n = 10000, epsilon 1, delta 1e-6: ln(1/delta) = 13.81551. Over the l1 ball of radius 1 in R^64
/// kappa = 19.683402, D = 2, and d kappa ln(1/delta) = 17403.92, its root 131.9239.
TheoremFacts regular_facts() {
  TheoremFacts out;
  out.silos = out.answering = 1.0;
  out.records = 10'000.0;
  out.epsilon = 1.0;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 0.01;
  out.gap = 2.0;
  out.gradient_variance = 1.0;
  return out;
}

constexpr double kKappa = 19.68340221386786;
constexpr auto kPlanned = PlannedNoise::Accountant;

algorithms::Problem regular_problem(const Result<Domain>& domain, Eigen::Index dimension) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = domain.value();
  return problem;
}

TheoremChoice choose_regular(TheoremName name, const TheoremFacts& facts, PlannedNoise noise,
                             const Result<Domain>& domain = Domain::l1_ball(1.0), Eigen::Index dimension = 64) {
  return choose_by_theorem(name, facts, regular_problem(domain, dimension), noise).value();
}

double regular_reason(const TheoremChoice& choice, const std::string& name) {
  for (const TheoremChoice::Reason& one : choice.reasons)
    if (one.name == name) return one.value;
  ADD_FAILURE() << name;
  return 0.0;
}

TEST(RegularParametersTest, PrintedMirrorDescentByHand) {
  // T = 1e8/(16 17403.92) = 359.1 -> 359; m = 1e4 sqrt(1/1436) = 263.9 -> 264; eta = 2 sqrt(19.683402/718) = 0.331145.
  const TheoremChoice choice = choose_regular(TheoremName::NoisyMirrorConvex, regular_facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<NoisyMirrorDescentSettings>();
  EXPECT_EQ(settings.rounds, 359U);
  EXPECT_EQ(std::floor(choice.draw_fraction * 10'000.0), 264.0);
  EXPECT_EQ(regular_reason(choice, "batch"), 264.0);
  EXPECT_NEAR(settings.step_size, 0.331144737, 1e-9);
  // V = kappa/2, B^2 = d sigma^2 = 8 17403.92/1e8 = 0.00139231: 9.841701/118.8810 + 0.1655724 1.0373137^2.
  EXPECT_NEAR(choice.bound.value(), 0.260945323, 1e-8);
  // x = kappa sqrt(d ln(1/delta))/n = 19.683402 29.73530/1e4 = 0.0585294: L D sqrt x.
  EXPECT_NEAR(choice.rate, 2.0 * std::sqrt(0.0585293396), 1e-9);
  EXPECT_EQ(choice.measure, "excess risk");
  EXPECT_EQ(choice.rate_measure, "excess risk over the population");
  EXPECT_EQ(choice.losses, TheoremLosses::ConvexWithKinks);
}

TEST(RegularParametersTest, PlannedMirrorDescentByHand) {
  // w = (sqrt 14.81551 - sqrt 13.81551)^2 = 0.0174689; B_1^2 = d kappa (2/1e4)^2/(2w) = 1259.738 4e-8/0.0349378 =
  // 0.00144226; T = floor(1/that) = 693; eta = sqrt(19.683402/693)/(1 + 0.9997441).
  const TheoremChoice choice = choose_regular(TheoremName::NoisyMirrorConvex, regular_facts(), kPlanned);
  const auto& settings = *choice.method.as<NoisyMirrorDescentSettings>();
  EXPECT_EQ(settings.rounds, 693U);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  EXPECT_NEAR(settings.step_size, 0.0842769953, 1e-9);
  // sqrt(2V) (1/sqrt T + B_1) = 4.436598 (0.0379869 + 0.0379772).
  EXPECT_NEAR(choice.bound.value(), 0.337021719, 1e-8);
  EXPECT_EQ(regular_reason(choice, "p"), 1.0);
  EXPECT_NEAR(regular_reason(choice, "kappa"), kKappa, 1e-9);
  EXPECT_NEAR(regular_reason(choice, "r"), 7.155305, 1e-6);
}

TEST(RegularParametersTest, SilosAverageTheirNoise) {
  // M = 25: a = 6.155305 - 5.155305/25 = 5.949093, B_1^2 = 0.00144226 5.949093/25 = 0.000343206, T = 2913.
  TheoremFacts facts = regular_facts();
  facts.silos = facts.answering = 25.0;
  const TheoremChoice choice = choose_regular(TheoremName::NoisyMirrorConvex, facts, kPlanned);
  EXPECT_EQ(choice.method.as<NoisyMirrorDescentSettings>()->rounds, 2913U);
  EXPECT_NEAR(choice.bound.value(), 0.164393163, 1e-8);
  EXPECT_NEAR(choice.rate, 0.337943802, 1e-8);  // 2 sqrt(0.0585293 sqrt(5.949093/25))
}

TEST(RegularParametersTest, OverTheL2BallItIsGaussianNoiseAndSgd) {
  // d = 10, n = 1000: mu(1, 1e-6) = 0.2367, B_1^2 = 10 (2/236.7)^2 = 7.1394e-4, T = 1400 within mu's digits. V = D^2/2,
  // and squares add up: eta = sqrt(4/T)/sqrt 2 but for one round's share.
  TheoremFacts facts = regular_facts();
  facts.records = 1000.0;
  const TheoremChoice choice =
      choose_regular(TheoremName::NoisyMirrorConvex, facts, kPlanned, Domain::l2_ball(1.0), 10);
  const auto& settings = *choice.method.as<NoisyMirrorDescentSettings>();
  const double rounds = static_cast<double>(settings.rounds);
  EXPECT_NEAR(rounds, 1400.0, 3.0);
  EXPECT_NEAR(settings.step_size, std::sqrt(2.0 / rounds), 1e-4);
  EXPECT_NEAR(choice.bound.value(), std::sqrt(8.0 / rounds), 1e-3);
  EXPECT_EQ(settings.traits().clip_exponent, 2.0);
  EXPECT_EQ(settings.noise_norm().exponent, 2.0);
  // Printed: 1e6/(160 13.81551) = 452.4, m = 1000 sqrt(1/1808) = 23.5 -> 24, eta = 2/sqrt(904).
  const TheoremChoice printed =
      choose_regular(TheoremName::NoisyMirrorConvex, facts, PlannedNoise::Printed, Domain::l2_ball(1.0), 10);
  EXPECT_EQ(printed.method.as<NoisyMirrorDescentSettings>()->rounds, 452U);
  EXPECT_EQ(std::floor(printed.draw_fraction * 1000.0), 24.0);
  EXPECT_NEAR(printed.method.as<NoisyMirrorDescentSettings>()->step_size, 2.0 / std::sqrt(904.0), 1e-12);
}

TEST(RegularParametersTest, BoundsGrowWithTheNoiseAndHoldWhateverItsLaw) {
  const TheoremChoice choice = choose_regular(TheoremName::NoisyMirrorConvex, regular_facts(), kPlanned);
  const auto& settings = *choice.method.as<NoisyMirrorDescentSettings>();
  // The planned noise on a coordinate, c B_T^2 with c = 0.1729611: its law is known, which bound_at leaves open.
  const double planned = 0.1729611 * 0.9994882;
  EXPECT_LT(choice.bound_at(0.0), *choice.bound);
  EXPECT_GE(choice.bound_at(planned), *choice.bound);
  EXPECT_NEAR(choice.bound_at(0.01), settings.predicted_risk(*releases::ClipNorm::create(1.0), 0.01, true)->bound,
              1e-12);
}

TEST(RegularParametersTest, PrintedFrankWolfeByHand) {
  // W = 100, eta = ln 1e4/200 = 0.0460517.
  const TheoremChoice choice =
      choose_regular(TheoremName::NoisyFrankWolfeConvex, regular_facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<NoisyFrankWolfeSettings>();
  EXPECT_EQ(settings.rounds, 100U);
  EXPECT_NEAR(settings.step_size, 0.0460517019, 1e-9);
  EXPECT_EQ(settings.smoothness, 0.01);
  EXPECT_EQ(settings.set.norm_exponent(), 1.0);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  // beta D^2 ln n = 0.3684136: 0.003684136 + (2 19.683402 + 0.3684136 4.4366)/100 + (2 + 3.684136) 0.01319239.
  EXPECT_NEAR(choice.rate, 0.003684136 + 0.39366804 + 0.01634503 + 5.684136 * 0.01319239, 1e-6);
  EXPECT_EQ(choice.measure, "excess risk over the population");
  EXPECT_FALSE(choice.bound);
  EXPECT_FALSE(choice.bound_at);
}

TEST(RegularParametersTest, FrankWolfesSmoothnessIsThatOfItsNormWhereItIsProven) {
  TheoremFacts facts = regular_facts();
  facts.smoothness_l1 = 0.004;
  const auto of = [&](const Result<Domain>& domain) {
    return choose_regular(TheoremName::NoisyFrankWolfeConvex, facts, PlannedNoise::Printed, domain);
  };
  const TheoremChoice l1 = of(Domain::l1_ball(1.0));
  EXPECT_EQ(l1.method.as<NoisyFrankWolfeSettings>()->smoothness, 0.004);
  // beta D^2 ln n = 0.1473654 in place of 0.3684136.
  EXPECT_NEAR(l1.rate, 0.001473654 + 0.39366804 + 0.006538012 + (2.0 + 1.473654) * 0.01319239, 1e-6);
  EXPECT_EQ(of(Domain::l2_ball(1.0)).method.as<NoisyFrankWolfeSettings>()->smoothness, 0.01);
}

TEST(RegularParametersTest, PlannedFrankWolfeByHand) {
  // b = 0.01319239: W = (2/b)^(2/3) = 28.43 -> 28, eta = ln 28/28; beta D^2 ln 28 = 0.1332882.
  const TheoremChoice choice = choose_regular(TheoremName::NoisyFrankWolfeConvex, regular_facts(), kPlanned);
  const auto& settings = *choice.method.as<NoisyFrankWolfeSettings>();
  EXPECT_EQ(settings.rounds, 28U);
  EXPECT_NEAR(settings.step_size, std::log(28.0) / 28.0, 1e-15);
  EXPECT_NEAR(choice.rate,
              0.1332882 * (1.0 / 28.0 + 0.0443660) + 0.39366804 + (2.0 + 0.1332882 * std::sqrt(28.0)) * 0.01319239,
              1e-6);
  // With 16 silos b is a fourth of that: 28.43 4^(2/3) = 71.6 -> 72.
  TheoremFacts many = regular_facts();
  many.silos = many.answering = 16.0;
  EXPECT_EQ(
      choose_regular(TheoremName::NoisyFrankWolfeConvex, many, kPlanned).method.as<NoisyFrankWolfeSettings>()->rounds,
      72U);
}

TEST(RegularParametersTest, PlannedDifferencesFitTheRecordsAndTheSchedule) {
  const auto rounds = [](double records, double epsilon) {
    TheoremFacts facts = regular_facts();
    facts.records = records;
    facts.epsilon = epsilon;
    return choose_regular(TheoremName::NoisyFrankWolfeConvex, facts, kPlanned)
        .method.as<NoisyFrankWolfeSettings>()
        ->rounds;
  };
  EXPECT_EQ(rounds(100.0, 0.01), 2U);    // b = 131.9: 0.06
  EXPECT_EQ(rounds(10.0, 1000.0), 5U);   // b = 0.0132 again: 28 of 5 records
  EXPECT_EQ(rounds(1e7, 10.0), 3'999U);  // b = 1.3e-6: 13,161
}

TEST(RegularParametersTest, TheBetterOfBothChangesAsRecordsGrow) {
  // d = 1000, kappa = 1, beta = 0.05, printed noise, delta 1e-7: mirror descent has 2 (d ln(1/delta))^(1/4)/sqrt n =
  // 22.535/sqrt n. At n = 3000 Frank-Wolfe has 2 0.0292 + 0.0365 + (2 + 1.601 7.401) 0.0423 = 0.681 against 0.411; at
  // n = 300000 it has 2 0.0046 + 0.0037 + (2 + 2.522 23.40) 0.000423 = 0.0387 against 0.0411.
  const auto choose = [](double records) {
    TheoremFacts facts = regular_facts();
    facts.records = records;
    facts.delta = 1e-7;
    facts.smoothness = 0.05;
    return choose_regular(TheoremName::RegularConvex, facts, PlannedNoise::Printed, Domain::l2_ball(1.0), 1000);
  };
  const TheoremChoice few = choose(3'000.0);
  EXPECT_EQ(few.method->name(), "noisy_mirror_descent");
  EXPECT_NEAR(few.rate, 0.411432, 1e-6);
  EXPECT_NEAR(regular_reason(few, "rate of noisy_mirror_descent"), 0.411432, 1e-6);
  EXPECT_NEAR(regular_reason(few, "rate of noisy_frank_wolfe"), 0.681135, 1e-6);
  const TheoremChoice many = choose(300'000.0);
  EXPECT_EQ(many.method->name(), "noisy_frank_wolfe");
  EXPECT_NEAR(many.rate, 0.0386893, 1e-7);
  EXPECT_NEAR(regular_reason(many, "rate of noisy_mirror_descent"), 0.0411432, 1e-7);
  // Once it is Frank-Wolfe it stays so.
  bool passed = false;
  for (double records = 1e3; records <= 1e6; records *= 2.0) {
    const bool frank_wolfe = choose(std::floor(records)).method->name() == "noisy_frank_wolfe";
    EXPECT_TRUE(frank_wolfe || !passed) << records;
    passed = frank_wolfe;
  }
  EXPECT_TRUE(passed);
}

TEST(RegularParametersTest, WithTunedDifferencesFewerRecordsAreEnough) {
  // The same at n = 3000: W = (2/0.0423190)^(2/3) = 13.07 -> 13, beta D^2 ln 13 = 0.512990, and the rate is
  // 0.0394608 + 0.0365148 + 0.0093659 + (2 + 0.512990 3.605551) 0.0423190 = 0.248253 against 0.411432.
  TheoremFacts facts = regular_facts();
  facts.records = 3'000.0;
  facts.delta = 1e-7;
  facts.smoothness = 0.05;
  const TheoremChoice choice = choose_regular(TheoremName::RegularConvex, facts, kPlanned, Domain::l2_ball(1.0), 1000);
  EXPECT_EQ(choice.method->name(), "noisy_frank_wolfe");
  EXPECT_NEAR(choice.rate, 0.248253, 1e-6);
  // Of steep losses it is mirror descent: beta = 1 has 2.663.
  facts.smoothness = 1.0;
  EXPECT_EQ(choose_regular(TheoremName::RegularConvex, facts, kPlanned, Domain::l2_ball(1.0), 1000).method->name(),
            "noisy_mirror_descent");
}

TEST(RegularParametersTest, WhereTheBetterOneIsRefusedItIsTheOther) {
  // epsilon above 1, for which the printed noise of mirror descent is not: the reason says so.
  TheoremFacts facts = regular_facts();
  facts.records = 3'000.0;
  facts.delta = 1e-7;
  facts.smoothness = 0.05;
  facts.epsilon = 1.5;
  const TheoremChoice choice =
      choose_regular(TheoremName::RegularConvex, facts, PlannedNoise::Printed, Domain::l2_ball(1.0), 1000);
  EXPECT_EQ(choice.method->name(), "noisy_frank_wolfe");
  bool said = false;
  for (const TheoremChoice::Reason& one : choice.reasons)
    said = said || one.why.find("epsilon is 1.5, which must be at most 1") != std::string::npos;
  EXPECT_TRUE(said);
}

TEST(RegularParametersTest, ConditionsAreRefusedWithBothNumbers) {
  const auto says = [](TheoremName name, const TheoremFacts& facts, const algorithms::Problem& problem,
                       PlannedNoise noise, const std::string& part) {
    const auto choice = choose_by_theorem(name, facts, problem, noise);
    ASSERT_FALSE(choice) << to_string(name);
    EXPECT_NE(choice.error().message.find(part), std::string::npos) << choice.error().message;
  };
  const auto names = {TheoremName::NoisyMirrorConvex, TheoremName::NoisyFrankWolfeConvex, TheoremName::RegularConvex};
  const algorithms::Problem l1 = regular_problem(Domain::l1_ball(1.0), 64);
  algorithms::Problem kinked = l1;
  kinked.regulariser = geometry::Regulariser::l1(0.1, 64).value();
  for (const TheoremName name : names) {
    for (const PlannedNoise noise : {PlannedNoise::Printed, kPlanned}) {
      says(name, regular_facts(), regular_problem(Domain::whole_space(), 64), noise, "the whole space");
      says(name, regular_facts(), regular_problem(Domain::box(-0.1, 0.1), 64), noise,
           "the domain is the box, which names no norm: expected l1_ball or simplex");
      says(name, regular_facts(), regular_problem(Domain::l2_ball(2.0), 64), noise,
           "D = 2 is less than the diameter 4");
      says(name, regular_facts(), kinked, noise,
           name == TheoremName::NoisyFrankWolfeConvex ? "expected no regulariser" : "is not smooth");
    }
  }
  TheoremFacts facts = regular_facts();
  facts.records = 500.0;  // 250000 below 16 17403.92
  says(TheoremName::NoisyMirrorConvex, facts, l1, PlannedNoise::Printed,
       "not one round: (eps n)^2 is 250000, which must be at least 16 d kappa ln(1/delta) = 278463");
  EXPECT_TRUE(choose_by_theorem(TheoremName::NoisyMirrorConvex, facts, l1, kPlanned));
  facts.records = 1e7;  // 1e14/278463
  says(TheoremName::NoisyMirrorConvex, facts, l1, PlannedNoise::Printed, "rounds, more than 1000000");
  facts = regular_facts();
  facts.epsilon = 1.5;
  says(TheoremName::NoisyMirrorConvex, facts, l1, PlannedNoise::Printed, "epsilon is 1.5, which must be at most 1");
  facts = regular_facts();
  facts.delta = 1e-4;
  says(TheoremName::NoisyMirrorConvex, facts, l1, PlannedNoise::Printed,
       "delta is 0.0001, which must be below 1/n = 0.0001");
  facts = regular_facts();
  facts.records = 3.0;
  says(TheoremName::NoisyFrankWolfeConvex, facts, l1, kPlanned, "n = 3 records, expected at least 4");
  facts.records = 1.0;
  says(TheoremName::NoisyFrankWolfeConvex, facts, l1, PlannedNoise::Printed, "n = 1 records, expected at least 2");
}

TEST(RegularParametersTest, EveryDomainOfItsOwnNormHasAChoiceThatRuns) {
  const auto names = {TheoremName::NoisyMirrorConvex, TheoremName::NoisyFrankWolfeConvex, TheoremName::RegularConvex};
  for (const TheoremName name : names) {
    for (const Result<Domain>& domain : {Domain::l1_ball(1.0), Domain::simplex(1.0), Domain::l2_ball(1.0)}) {
      for (const Eigen::Index dimension : {2, 7, 8, 300}) {
        for (const PlannedNoise noise : {PlannedNoise::Printed, kPlanned}) {
          SCOPED_TRACE(testing::Message() << to_string(name) << ' ' << domain->name() << ' ' << dimension);
          const TheoremChoice choice = choose_regular(name, regular_facts(), noise, domain, dimension);
          EXPECT_TRUE(choice.method->make());
          EXPECT_GT(choice.rate, 0.0);
          for (const TheoremChoice::Reason& one : choice.reasons) EXPECT_TRUE(std::isfinite(one.value)) << one.name;
        }
      }
    }
  }
}

TEST(RegularParametersTest, NamesAreThoseOfJobs) {
  EXPECT_EQ(to_string(TheoremName::NoisyMirrorConvex), "noisy_mirror_convex");
  EXPECT_EQ(to_string(TheoremName::NoisyFrankWolfeConvex), "noisy_frank_wolfe_convex");
  EXPECT_EQ(to_string(TheoremName::RegularConvex), "regular_convex");
}

}  // namespace
}  // namespace undertone::theorems
