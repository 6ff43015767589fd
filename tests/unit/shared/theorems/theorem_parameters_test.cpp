#include "shared/theorems/theorem_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/algorithms/proximal/proximal_sgd.hpp"
#include "shared/algorithms/proximal/spider.hpp"
#include "shared/algorithms/sgd/minibatch_sgd.hpp"
#include "shared/theorems/accelerated_parameters.hpp"
#include "shared/theorems/proximal_parameters.hpp"

namespace undertone::theorems {
namespace {

/// N = M = 25 silos of n = 1000 records, d = 10, epsilon 1, delta 1e-6: ln(1/delta) = 13.81551, and
/// P = eps^2 n^2 M / (d ln(1/delta)) = 25e6 / 138.1551 = 180956.03, sqrt P = 425.389.
TheoremFacts facts() {
  TheoremFacts out;
  out.silos = out.answering = 25.0;
  out.records = 1000.0;
  out.epsilon = 1.0;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 1.0;
  out.strong_convexity = 0.1;
  out.gap = 2.0;
  out.gradient_variance = 1.0;
  return out;
}

/// The l2 ball of radius 1, diameter 2.
algorithms::Problem in_ball() {
  algorithms::Problem problem;
  problem.dimension = 10;
  problem.domain = geometry::Domain::l2_ball(1.0).value();
  return problem;
}

/// SPIDER's alternate form knows no domain; non-Euclidean methods know those of their own norm.
algorithms::Problem for_theorem(TheoremName name) {
  algorithms::Problem problem = in_ball();
  if (name == TheoremName::SpiderAlternate) problem.domain = geometry::Domain::whole_space();
  if (name >= TheoremName::LocalizedMirrorConvex) problem.domain = geometry::Domain::l1_ball(1.0).value();
  if (name == TheoremName::LpSgdConvex) problem.domain = geometry::Domain::box(-0.3, 0.3).value();
  return problem;
}

/// Whether a theorem has the noise at these facts: of the source's own, of non-Euclidean methods only SGD over the box
/// has a usable one, whose rounds are the square of all records.
bool has_noise(TheoremName name, PlannedNoise noise) {
  return noise == PlannedNoise::Accountant || name < TheoremName::LocalizedMirrorConvex;
}

TheoremChoice choose(TheoremName name, const TheoremFacts& of, PlannedNoise noise = PlannedNoise::Accountant) {
  TheoremFacts own = of;
  if (takes_moments(name)) own.moment = MomentBound{4.0, of.lipschitz};
  return choose_by_theorem(name, own, for_theorem(name), noise).value();
}

void says(TheoremName name, const TheoremFacts& of, const algorithms::Problem& problem,
          const std::vector<std::string>& parts, PlannedNoise noise = PlannedNoise::Printed) {
  const Result<TheoremChoice> choice = choose_by_theorem(name, of, problem, noise);
  ASSERT_FALSE(choice) << to_string(name);
  EXPECT_EQ(choice.error().code, ErrorCode::InvalidArgument);
  for (const std::string& part : parts)
    EXPECT_NE(choice.error().message.find(part), std::string::npos) << part << " in " << choice.error().message;
}

double reason(const TheoremChoice& choice, const std::string& name) {
  for (const TheoremChoice::Reason& one : choice.reasons)
    if (one.name == name) return one.value;
  ADD_FAILURE() << name;
  return 0.0;
}

TEST(TheoremParametersTest, MinibatchConvexByHand) {
  // R = (1 2 5/1) min{31.62, 1000/3.16 = 316.2} + min{25000, 25e6/10} = 316.23 + 25000 -> 25317.
  // Step: (2/sqrt(25317)) min{1, 1000 5/sqrt(253170) = 9.94, sqrt(25000/25317) = 0.99372}.
  const TheoremChoice choice = choose(TheoremName::MinibatchConvex, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::MinibatchSgdSettings>();
  EXPECT_EQ(settings.rounds, 25317U);
  EXPECT_NEAR(settings.step_size, 2.0 / std::sqrt(25317.0) * std::sqrt(25000.0 / 25317.0), 1e-15);
  EXPECT_EQ(settings.averaging.kind, algorithms::Averaging::Kind::Uniform);
  // The least batch, 1000/(4 sqrt(2 25317 14.51)) = 0.29, is one record.
  EXPECT_EQ(choice.draw_fraction, 1e-3);
  // 2/5 (1/sqrt 1000 + sqrt(10 13.81551)/1000) = 0.4 (0.0316228 + 0.0117539).
  EXPECT_NEAR(choice.rate, 0.4 * (std::sqrt(1e-3) + std::sqrt(138.15510557964274) / 1000.0), 1e-14);
  EXPECT_EQ(choice.source, "Theorem 34");
  EXPECT_EQ(choice.measure, "excess risk");
}

TEST(TheoremParametersTest, MinibatchBoundIsThatOfTheAlgorithmAtThePlannedNoise) {
  const TheoremChoice choice = choose(TheoremName::MinibatchConvex, facts(), PlannedNoise::Printed);
  const double shift = choice.method->theorem_noise({1000.0, 1.0, 1.0, 1e-6}).value().gradients.front();
  const double variance = 4.0 / (shift * shift) / 25.0;  // (2L/(K shift))^2 / M
  EXPECT_EQ(choice.bound,
            algorithms::MinibatchSgd::predicted_excess_risk(*choice.method.as<algorithms::MinibatchSgdSettings>(),
                                                            releases::ClipNorm::create(1.0).value(), variance));
  // With the accountant's noise, on full batches, there is less of it.
  const TheoremChoice whole = choose(TheoremName::MinibatchConvex, facts());
  EXPECT_EQ(whole.draw_fraction, 1.0);
  EXPECT_LT(whole.bound.value(), choice.bound.value());
}

TEST(TheoremParametersTest, MinibatchStronglyConvexByHand) {
  // R = max{20 ln(1 4 0.1 25e6/10), min(25000, 2.5e6)} = max{20 ln(1e6) = 276.3, 25000}.
  const TheoremChoice choice = choose(TheoremName::MinibatchStronglyConvex, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::MinibatchSgdSettings>();
  EXPECT_EQ(settings.rounds, 25000U);
  // sigma^2/M = 256 25000 ln(6.25e10) ln(2e6) / 1e6 / 25; step ln(0.01 4 25000^2/(10 that + 1))/(0.1 25000).
  const double noise = 256.0 * 25000.0 * std::log(6.25e10) * std::log(2e6) / 1e6 / 25.0;
  EXPECT_NEAR(settings.step_size, std::log(25e6 / (10.0 * noise + 1.0)) / 2500.0, 1e-15);
  EXPECT_EQ(settings.averaging.kind, algorithms::Averaging::Kind::Geometric);
  EXPECT_EQ(settings.averaging.ratio, 1.0 - 0.1 * settings.step_size);
  // mu D^2 q^R/(2 (1 - q^R)) + eta/2 (L^2 + d sigma^2/M) in the ball of radius 1.
  const double left = std::pow(settings.averaging.ratio, 25000.0);
  EXPECT_NEAR(*choice.bound, 0.1 * left / (2.0 * (1.0 - left)) + settings.step_size / 2.0 * (1.0 + 10.0 * noise),
              1e-12 * *choice.bound);
  // (1/0.1)(1/25000 + 1/180956).
  EXPECT_NEAR(choice.rate, 10.0 * (1.0 / 25000.0 + 138.15510557964274 / 25e6), 1e-15);
}

TEST(TheoremParametersTest, OnePassBalancesItsTerms) {
  // K = (1/2)^0.4 1000^0.6 138.155^0.2 / 25^0.2 = 67.31 -> 67, R = floor(1000/67) = 14, parts of floor(1000/14) = 71.
  const TheoremChoice choice = choose(TheoremName::OnePassConvex, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::AcceleratedSgdSettings>();
  EXPECT_EQ(settings.use, algorithms::RecordUse::OnePass);
  EXPECT_EQ(settings.rounds(), 14U);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  EXPECT_EQ(reason(choice, "planned batch"), 67.0);
  EXPECT_EQ(reason(choice, "batch"), 71.0);
  // beta D^2 K^2/n^2 = L D sqrt(d ln(1/delta))/(eps sqrt(K n M)) at K = 67.309.
  const double batch = 67.3090386627652;
  EXPECT_NEAR(4.0 * batch * batch / 1e6, 2.0 * std::sqrt(138.15510557964274) / std::sqrt(batch * 25000.0), 1e-12);
  // V^2 = 1/(25 71) + 10 32 ln(1.25e6)/(71^2 25); lambda = V/(2 sqrt 14), upsilon = 2 (1 + lambda).
  const double variance = 1.0 / 1775.0 + 320.0 * std::log(1.25e6) / (71.0 * 71.0 * 25.0);
  const algorithms::AcceleratedPhase& phase = settings.phases.front();
  EXPECT_NEAR(phase.proximity, std::sqrt(variance) / (2.0 * std::sqrt(14.0)), 1e-14);
  EXPECT_EQ(phase.strong_convexity, phase.proximity);
  EXPECT_EQ(phase.stages.front().upsilon, 2.0 * (1.0 + phase.proximity));
  // 4 upsilon/(14 15) + 4 V^2 16/(3 upsilon) + lambda/2, all from the centre of a ball of radius 1.
  const double upsilon = phase.stages.front().upsilon;
  EXPECT_NEAR(choice.bound.value(), 4.0 * upsilon / 210.0 + 64.0 * variance / (3.0 * upsilon) + phase.proximity / 2.0,
              1e-12);
}

TEST(TheoremParametersTest, OnePassBatchesAreClamped) {
  TheoremFacts flat = facts();
  flat.smoothness = 1e-9;  // K = (1/(2e-9))^0.4 ... far above n
  EXPECT_EQ(choose(TheoremName::OnePassConvex, flat).method.as<algorithms::AcceleratedSgdSettings>()->rounds(), 1U);
  TheoremFacts steep = facts();
  steep.smoothness = 1e9;
  EXPECT_EQ(choose(TheoremName::OnePassConvex, steep).method.as<algorithms::AcceleratedSgdSettings>()->rounds(), 1000U);
}

TEST(TheoremParametersTest, AcceleratedRoundsBalanceTheRate) {
  // sqrt(beta D/L) P^(1/4) = sqrt 2 20.625 = 29.168 -> 30: beta D^2/R^2 is the rate LD/sqrt P up to the rounding of R.
  for (const TheoremName name : {TheoremName::AcceleratedConvex, TheoremName::AcceleratedConvexDirect}) {
    const TheoremChoice choice = choose(name, facts());
    EXPECT_EQ(choice.method.as<algorithms::AcceleratedSgdSettings>()->rounds(), 30U);
    EXPECT_NEAR(choice.rate, 2.0 / 425.3892736381054, 1e-12);
    EXPECT_NEAR(4.0 / (29.168108393864195 * 29.168108393864195), choice.rate, 1e-10);
    EXPECT_EQ(choice.draw_fraction, 1.0);
    EXPECT_TRUE(choice.bound);
  }
}

TEST(TheoremParametersTest, AcceleratedFormsDifferInTheirStep) {
  // sigma^2 = 4 30/(1000^2 shift^2), V^2 = 10 sigma^2/25; direct: upsilon = max{2, V 30^1.5/2}.
  const double shift = shift_of_each(1.0, 1e-6, 1.0).value();
  const double stddev = std::sqrt(10.0 * 4.0 * 30.0 / (1e6 * shift * shift) / 25.0);
  const TheoremChoice regularised = choose(TheoremName::AcceleratedConvex, facts());
  const auto& phase = regularised.method.as<algorithms::AcceleratedSgdSettings>()->phases.front();
  EXPECT_NEAR(phase.proximity, stddev / (2.0 * std::sqrt(30.0)), 1e-14);
  const TheoremChoice direct = choose(TheoremName::AcceleratedConvexDirect, facts());
  const auto& other = direct.method.as<algorithms::AcceleratedSgdSettings>()->phases.front();
  EXPECT_EQ(other.proximity, 0.0);
  EXPECT_NEAR(other.stages.front().upsilon, std::max(2.0, stddev * std::pow(30.0, 1.5) / 2.0), 1e-12);
}

TEST(TheoremParametersTest, AcceleratedWithPrintedNoiseAlsoCoversTheDraw) {
  // 30 rounds K >= eps^2 n^2/(d ln(1/delta)) = 7238.24: K = ceil(241.3), above 1000/(4 sqrt(60 14.51)) = 8.47.
  const TheoremChoice choice = choose(TheoremName::AcceleratedConvex, facts(), PlannedNoise::Printed);
  EXPECT_EQ(choice.method.as<algorithms::AcceleratedSgdSettings>()->rounds(), 30U);
  EXPECT_EQ(reason(choice, "batch"), 242.0);
  EXPECT_EQ(std::floor(choice.draw_fraction * 1000.0), 242.0);
  // With fewer silos answering, full batches leave their draw: max{29.17 sqrt(sqrt(5/25)), 7238.24/1000 = 7.24}.
  TheoremFacts fewer = facts();
  fewer.answering = 5.0;
  EXPECT_EQ(choose(TheoremName::AcceleratedConvex, fewer).method.as<algorithms::AcceleratedSgdSettings>()->rounds(),
            20U);
  // On a flat loss, sqrt(0.02) 425.39^(1/2) 5^(-1/4) = 1.95, the draw of silos is what counts: 7.24 -> 8.
  fewer.smoothness = 0.01;
  EXPECT_EQ(choose(TheoremName::AcceleratedConvex, fewer).method.as<algorithms::AcceleratedSgdSettings>()->rounds(),
            8U);
}

TEST(TheoremParametersTest, SilosThatDifferAddTheirVariance) {
  TheoremFacts fewer = facts();
  fewer.answering = 5.0;
  const double alike = choose(TheoremName::AcceleratedConvexDirect, fewer).bound.value();
  fewer.heterogeneity = 0.5;
  EXPECT_GT(choose(TheoremName::AcceleratedConvexDirect, fewer).bound.value(), alike);
  TheoremFacts all = facts();
  const double without = choose(TheoremName::AcceleratedConvexDirect, all).bound.value();
  all.heterogeneity = 0.5;
  EXPECT_EQ(choose(TheoremName::AcceleratedConvexDirect, all).bound.value(), without);
}

TEST(TheoremParametersTest, StagesAreThoseOfTheSource) {
  // beta 2, mu 0.25: 4 sqrt 16 = 16 rounds at least; V^2 = 0.03: 128 0.03/(0.75 8/4) = 2.56, 5.12, 10.24, 20.48, ...:
  // stages of 16, 16, 16, 21, 41 and then 82, of which 110 hold the first five.
  const StagePlan plan = plan_stages(2.0, 0.25, 8.0, 100.0, 0.03, 110).value();
  ASSERT_EQ(plan.stages.size(), 5U);
  const std::uint64_t rounds[] = {16, 16, 16, 21, 41};
  double before = 8.0;
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(plan.stages[k].rounds, rounds[k]);
    const double r = static_cast<double>(rounds[k]);
    const double upsilon = std::max(4.0, std::sqrt(0.25 * 0.03 * r * (r + 1.0) * (r + 2.0) / (3.0 * before)));
    EXPECT_NEAR(plan.stages[k].upsilon, upsilon, 1e-12);
    // What makes it a stage: 2 upsilon |q - w*|^2/(R(R+1)) + 4 V^2 (R+2)/(3 upsilon) <= before/2.
    EXPECT_LE(2.0 * upsilon * (2.0 * before / 0.25) / (r * (r + 1.0)) + 4.0 * 0.03 * (r + 2.0) / (3.0 * upsilon),
              before / 2.0);
    before /= 2.0;
  }
  EXPECT_EQ(plan.halvings, 5U);
  EXPECT_EQ(plan.risk, 0.25);
}

TEST(TheoremParametersTest, EveryStageHalvesTheGapWhateverTheConstants) {
  for (const double kappa : {1.0, 3.0, 100.0, 1e4}) {
    for (const double variance : {0.0, 1e-4, 1e-2, 1.0}) {
      const StagePlan plan = plan_stages(kappa, 1.0, 4.0, 100.0, variance, 5000).value();
      double before = 4.0;
      for (std::size_t k = 0; k < plan.halvings && k < 40; ++k, before /= 2.0) {
        const double r = static_cast<double>(plan.stages[k].rounds);
        const double upsilon = plan.stages[k].upsilon;
        EXPECT_LE(2.0 * upsilon * 2.0 * before / (r * (r + 1.0)) + 4.0 * variance * (r + 2.0) / (3.0 * upsilon),
                  0.5 * before)
            << kappa << " " << variance << " " << k;
      }
      EXPECT_GE(plan.halvings, 1U);  // at most 4 sqrt(2e4) = 566 and 512/12 = 43 rounds
      EXPECT_EQ(plan.risk, std::ldexp(4.0, -static_cast<int>(std::min<std::uint64_t>(plan.halvings, 2000))));
    }
  }
}

TEST(TheoremParametersTest, WithoutRoomForAStageThereIsOne) {
  // 16 rounds would halve the gap, 10 are there: upsilon = max{4, sqrt(2 0.03 10 11 12/(3 min(3, 8)^2))} and
  // 4 4 9/110 + 4 0.03 12/12.
  const StagePlan plan = plan_stages(2.0, 0.25, 8.0, 3.0, 0.03, 10).value();
  ASSERT_EQ(plan.stages.size(), 1U);
  EXPECT_EQ(plan.halvings, 0U);
  EXPECT_EQ(plan.stages.front().rounds, 10U);
  EXPECT_EQ(plan.stages.front().upsilon, 4.0);
  EXPECT_NEAR(plan.risk, 144.0 / 110.0 + 0.12, 1e-12);
}

TEST(TheoremParametersTest, StronglyConvexStagesFitIntoTheTheoremsRounds) {
  // sqrt 10 ln(2 0.1 25e6/10) = 41.50 -> 42.
  const TheoremChoice choice = choose(TheoremName::AcceleratedStronglyConvex, facts());
  const auto& settings = *choice.method.as<algorithms::AcceleratedSgdSettings>();
  EXPECT_LE(settings.rounds(), 42U);
  EXPECT_EQ(static_cast<double>(settings.rounds()), reason(choice, "rounds"));
  EXPECT_EQ(settings.phases.front().strong_convexity, 0.1);
  EXPECT_EQ(settings.phases.front().proximity, 0.0);
  EXPECT_LE(choice.bound.value(), 2.0);
  EXPECT_NEAR(choice.rate, 10.0 * 138.15510557964274 / 25e6, 1e-15);
  const TheoremChoice once = choose(TheoremName::OnePassStronglyConvex, facts());
  const auto& parts = *once.method.as<algorithms::AcceleratedSgdSettings>();
  EXPECT_EQ(parts.use, algorithms::RecordUse::OnePass);
  // K = 1000/(sqrt 10 ln(0.1 2 min{180956, 25000})) = 37.13 -> 37, R = 27: whole stages of it.
  EXPECT_EQ(reason(once, "planned batch"), 37.0);
  EXPECT_LE(parts.rounds(), 27U);
}

TEST(TheoremParametersTest, ProximalSgdByHand) {
  // R = 20 ln(0.1 2 min{25000, 180956}) = 20 ln 5000 = 170.34 -> 171, K = floor(1000/171) = 5.
  const TheoremChoice choice = choose(TheoremName::ProximalSgd, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::ProximalSgdSettings>();
  EXPECT_EQ(settings.rounds, 171U);
  EXPECT_EQ(settings.step_size, 0.5);
  EXPECT_EQ(reason(choice, "batch"), 5.0);
  // V^2 = 10 8 ln(1e6)/(25 25) + 1/125 = 1.776385; 4 V^2/mu = 71.06 beside (19/20)^171 of the gap.
  const double variance = 80.0 * std::log(1e6) / 625.0 + 1.0 / 125.0;
  const double left = std::pow(0.95, 171.0);
  EXPECT_NEAR(choice.bound.value(), 2.0 * left + (1.0 - left) * 40.0 * variance, 1e-9);
  EXPECT_NEAR(choice.rate, 10.0 * (100.0 * 138.15510557964274 / 25e6 + 10.0 / 25000.0), 1e-14);
}

TEST(TheoremParametersTest, SvrgByHand) {
  // S = log2(2 0.1 25e6/(10 10)) = log2(50000) = 15.61 -> 16; 480 steps a restart; K = (1e6/25)^(1/3) = 34.2 -> 35;
  // Q = floor(1000/35) = 28, E = ceil(480/28) = 18.
  const TheoremChoice choice = choose(TheoremName::ProxSvrg, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::ProxSvrgSettings>();
  EXPECT_EQ(settings.restarts, 16U);
  EXPECT_EQ(settings.inner, 28U);
  EXPECT_EQ(settings.epochs, 18U);
  EXPECT_EQ(settings.step_size, 0.125);
  EXPECT_EQ(settings.smoothness, choice.facts.smoothness);  // a difference is clipped to min{2 L, beta ||w - w'||}
  EXPECT_EQ(std::floor(choice.draw_fraction * 1000.0), 35.0);
  EXPECT_TRUE(choice.method->theorem_noise({1000.0, 35.0, 1.0, 1e-6}));
  // Every restart: gap <- 24 10/504 gap + (3/0.1) 10 0.01/2.
  EXPECT_FALSE(choice.bound);
  const double left = 240.0 / 504.0;
  const double all = std::pow(left, 16.0);
  EXPECT_NEAR(prox_svrg_bound(settings, choice.facts, 0.01), choice.facts.gap * all + 1.5 * (1.0 - all) / (1.0 - left),
              1e-12);
  // Of the modulus 0.1 the proximal step, of length 1/8, takes 0.08: 0.1/1.01 is what is left of it.
  algorithms::ProxSvrgSettings ridge = settings;
  ridge.problem.regulariser = geometry::Regulariser::squared_l2(0.08, 10).value();
  const double flatter = 1.01 * left;
  const double most = std::pow(flatter, 16.0);
  EXPECT_NEAR(prox_svrg_bound(ridge, choice.facts, 0.01),
              choice.facts.gap * most + 1.01 * 1.5 * (1.0 - most) / (1.0 - flatter), 1e-12);
}

TEST(TheoremParametersTest, SpiderLowersItsPeriodUntilItHolds) {
  // q <= (425.389/sqrt 2)^(2/3) = 44.9; R(q) = ceil(601.59 sqrt q). q R <= P/64 = 2827.4: 2 851 = 1702 holds,
  // 3 1042 = 3126 does not.
  const TheoremChoice choice = choose(TheoremName::Spider, facts(), PlannedNoise::Printed);
  const auto& settings = *choice.method.as<algorithms::SpiderSettings>();
  EXPECT_EQ(settings.period, 2U);
  EXPECT_EQ(settings.rounds, 851U);
  EXPECT_EQ(settings.step_size, 0.5);
  EXPECT_EQ(settings.smoothness, 1.0);
  EXPECT_EQ(choice.draw_fraction, 1.0);
  EXPECT_EQ(choice.measure, "squared norm of the proximal gradient mapping");
  // 16 (2/(0.5 851) + 10 16 ln(1e6) 425.5/(1e6 25)).
  EXPECT_NEAR(choice.bound.value(), 16.0 * (4.0 / 851.0 + 160.0 * std::log(1e6) * 425.5 / 25e6), 1e-10);
  // (sqrt 2/425.389)^(4/3) + 1/180956.
  EXPECT_NEAR(choice.rate, std::pow(std::sqrt(2.0) / 425.3892736381054, 4.0 / 3.0) + 138.15510557964274 / 25e6, 1e-12);
}

TEST(TheoremParametersTest, SpidersPeriodIsTheLongest) {
  for (const double records : {500.0, 3000.0, 20000.0}) {
    for (const double dimension : {1.0, 10.0, 40.0}) {
      TheoremFacts of = facts();
      of.records = records;
      algorithms::Problem problem = in_ball();
      problem.dimension = static_cast<Eigen::Index>(dimension);
      const Result<TheoremChoice> choice = choose_by_theorem(TheoremName::Spider, of, problem, PlannedNoise::Printed);
      if (!choice) continue;
      const double privacy = records * records * 25.0 / (dimension * std::log(1e6));
      const auto rounds = [&](double period) { return std::ceil(std::sqrt(privacy * 2.0 * period)); };
      const double period = static_cast<double>(choice->method.as<algorithms::SpiderSettings>()->period);
      EXPECT_LE(period * rounds(period), privacy / 64.0);
      const bool stopped = (period + 1.0) * rounds(period + 1.0) > privacy / 64.0;
      EXPECT_TRUE(stopped || period + 1.0 > std::cbrt(privacy / 2.0)) << records << " " << dimension;
    }
  }
}

TEST(TheoremParametersTest, SpiderAlternateHasAnOddNumberOfRounds) {
  // 601.59 sqrt 2 = 850.78 -> 851 = 2 425 + 1; K = ceil(1000/(2 sqrt 851)) = 18.
  const TheoremChoice choice = choose(TheoremName::SpiderAlternate, facts(), PlannedNoise::Printed);
  EXPECT_EQ(choice.method.as<algorithms::SpiderAlternateSettings>()->pairs, 425U);
  EXPECT_EQ(std::floor(choice.draw_fraction * 1000.0), 18.0);
  // sqrt(beta Delta/P) L + L^2/(MK).
  EXPECT_NEAR(choice.rate, std::sqrt(2.0 * 138.15510557964274 / 25e6) + 1.0 / (25.0 * 18.0), 1e-12);
  EXPECT_FALSE(choice.bound);  // there is no theorem
}

TEST(TheoremParametersTest, LocalizedConvexByHand) {
  // lambda = (1/(2 1000 5)) max{31.62, sqrt(138.16) = 11.75} = 0.00316228, times 8 each phase; D_i = 2/lambda_i.
  const TheoremChoice choice = choose(TheoremName::LocalizedConvex, facts());
  const auto& settings = *choice.method.as<algorithms::AcceleratedSgdSettings>();
  EXPECT_EQ(settings.use, algorithms::RecordUse::Phased);
  double proximity = std::sqrt(1000.0) / 10000.0;
  for (const algorithms::AcceleratedPhase& phase : settings.phases) {
    EXPECT_NEAR(phase.proximity, proximity, 1e-12 * proximity);
    EXPECT_EQ(phase.strong_convexity, phase.proximity);
    EXPECT_NEAR(phase.radius.value(), 2.0 / proximity, 1e-9 / proximity);
    proximity *= 8.0;
  }
  // Rate 0.4 (0.0316228 + 0.0117539) = 0.0173507; 4/lambda_i below it from lambda_i = 230.5: 8^(i-1) 0.00316228 reaches
  // 103.6 at i = 6 and 829.0 at i = 7. floor(log2 1000) = 9 would be the most.
  EXPECT_EQ(settings.phases.size(), 7U);
  // Phase 1: sqrt(1.00316/0.00316) ln(L^2/(2 lambda) lambda 25 500^2/10 = 312500) = 17.8108 12.6524 -> 226.
  std::uint64_t rounds = 0;
  for (const algorithms::AcceleratedStage& stage : settings.phases.front().stages) rounds += stage.rounds;
  EXPECT_LE(rounds, 226U);
  EXPECT_FALSE(choice.bound);
}

TEST(TheoremParametersTest, LocalizedStronglyConvexByHand) {
  // lambda_i = 0.1 (8^(i-1) - 1), mu_i = 0.1 8^(i-1); the first phase is the objective itself on all of W.
  const TheoremChoice choice = choose(TheoremName::LocalizedStronglyConvex, facts());
  const auto& settings = *choice.method.as<algorithms::AcceleratedSgdSettings>();
  ASSERT_GE(settings.phases.size(), 2U);
  EXPECT_EQ(settings.phases[0].proximity, 0.0);
  EXPECT_EQ(settings.phases[0].strong_convexity, 0.1);
  EXPECT_FALSE(settings.phases[0].radius);
  EXPECT_NEAR(settings.phases[1].proximity, 0.7, 1e-15);
  EXPECT_NEAR(settings.phases[1].strong_convexity, 0.8, 1e-15);
  EXPECT_NEAR(settings.phases[1].radius.value(), 2.0 / 0.7, 1e-12);
}

TEST(TheoremParametersTest, LocalizedPhasesEndWithTheRecords) {
  // 8 records have parts of 4, 2 and 1, long before the rate is met.
  TheoremFacts few = facts();
  few.records = 8.0;
  few.silos = few.answering = 500.0;
  const TheoremChoice choice = choose(TheoremName::LocalizedConvex, few, PlannedNoise::Printed);
  EXPECT_LE(choice.method.as<algorithms::AcceleratedSgdSettings>()->phases.size(), 3U);
  few.silos = few.answering = 25.0;
  few.records = 1.0;
  says(TheoremName::LocalizedConvex, few, in_ball(), {"n = 1", "at least 2"});
}

TEST(TheoremParametersTest, EveryChoiceRunsAndHasItsReasons) {
  for (const PlannedNoise noise : {PlannedNoise::Printed, PlannedNoise::Accountant}) {
    for (const TheoremName name : theorem_names()) {
      if (!has_noise(name, noise)) continue;
      SCOPED_TRACE(to_string(name));
      const TheoremChoice choice = choose(name, facts(), noise);
      EXPECT_TRUE(choice.method->make());
      EXPECT_FALSE(choice.reasons.empty());
      for (const TheoremChoice::Reason& one : choice.reasons) {
        EXPECT_FALSE(one.why.empty());
        EXPECT_TRUE(std::isfinite(one.value)) << one.name;
      }
      EXPECT_GT(choice.rate, 0.0);
      EXPECT_GT(choice.draw_fraction, 0.0);
      EXPECT_LE(choice.draw_fraction, 1.0);
      const double bound = choice.bound.value_or(1.0);
      EXPECT_TRUE(std::isfinite(bound) && bound > 0.0) << bound;
    }
  }
}

TEST(TheoremParametersTest, WithoutAUsablePrintedNoiseTheChoiceIsRefused) {
  for (const TheoremName name : theorem_names()) {
    if (has_noise(name, PlannedNoise::Printed)) continue;
    const std::string expected =
        name == TheoremName::LpSgdConvex ? "625000000 rounds" : "expected the accountant's noise";
    const Result<TheoremChoice> choice = choose_by_theorem(name, facts(), for_theorem(name), PlannedNoise::Printed);
    ASSERT_FALSE(choice) << to_string(name);
    EXPECT_NE(choice.error().message.find(expected), std::string::npos) << choice.error().message;
  }
}

TEST(TheoremParametersTest, ThePrintedNoiseCanBeComputedForEveryPrintedChoice) {
  for (const TheoremName name : theorem_names()) {
    if (name == TheoremName::SpiderAlternate) continue;
    SCOPED_TRACE(to_string(name));
    for (const double records : {100.0, 997.0, 4000.0}) {
      TheoremFacts of = facts();
      of.records = records;
      if (name == TheoremName::LpSgdConvex) of.silos = of.answering = 1.0;
      const Result<TheoremChoice> choice = choose_by_theorem(
          name, of, name == TheoremName::LpSgdConvex ? for_theorem(name) : in_ball(), PlannedNoise::Printed);
      if (!choice) continue;  // proximal SGD with more rounds than records
      // A larger silo draws the floor of its share.
      for (const double silo : {records, 1.5 * records + 0.5}) {
        const double whole = std::floor(silo);
        const algorithms::NoiseFacts noise{whole, std::floor(choice->draw_fraction * whole), of.epsilon, of.delta};
        const Result<algorithms::NoiseShifts> shifts = choice->method->theorem_noise(noise);
        EXPECT_TRUE(shifts) << shifts.error().message;
      }
    }
  }
}

TEST(TheoremParametersTest, MoreRecordsOrSilosNeverRaiseTheRate) {
  for (const TheoremName name : theorem_names()) {
    SCOPED_TRACE(to_string(name));
    const double rate = choose(name, facts()).rate;
    TheoremFacts more = facts();
    more.records = 2000.0;
    EXPECT_LE(choose(name, more).rate, rate);
    more = facts();
    more.silos = more.answering = 30.0;
    EXPECT_LE(choose(name, more).rate, rate);
  }
}

TEST(TheoremParametersTest, ConditionsAreRefusedWithBothNumbers) {
  const algorithms::Problem ball = in_ball();
  algorithms::Problem free = in_ball();
  free.domain = geometry::Domain::whole_space();
  const auto with = [](auto change) {
    TheoremFacts out = facts();
    change(out);
    return out;
  };
  // 2 ln(2/delta) = 29.017, 8 ln(1/delta) = 110.52, 2 ln(1/delta) = 27.631.
  const TheoremFacts loose = with([](TheoremFacts& f) { f.epsilon = 29.1; });
  for (const TheoremName name :
       {TheoremName::MinibatchConvex, TheoremName::MinibatchStronglyConvex, TheoremName::AcceleratedConvex,
        TheoremName::AcceleratedStronglyConvex, TheoremName::LocalizedConvex})
    says(name, loose, ball, {"29.1", "29.017"});
  EXPECT_TRUE(choose_by_theorem(TheoremName::LocalizedConvex, loose, ball, PlannedNoise::Accountant));
  for (const TheoremName name : {TheoremName::ProximalSgd, TheoremName::ProxSvrg})
    says(name, loose, ball, {"29.1", "at most 15"});
  for (const TheoremName name : {TheoremName::Spider, TheoremName::SpiderAlternate})
    says(name, loose, ball, {"29.1", "27.631"});
  const TheoremFacts looser = with([](TheoremFacts& f) { f.epsilon = 111.0; });
  for (const TheoremName name : {TheoremName::OnePassConvex, TheoremName::OnePassStronglyConvex})
    says(name, looser, ball, {"111", "110.52"});
  says(TheoremName::ProximalSgd, with([](TheoremFacts& f) { f.delta = 0.6; }), ball, {"delta is 0.6", "0.5"});
  says(TheoremName::ProximalSgd, with([](TheoremFacts& f) { f.records = 100.0; }), ball, {"rounds", "100 records"});

  const TheoremFacts convex = with([](TheoremFacts& f) { f.strong_convexity = 0.0; });
  const TheoremFacts stiff = with([](TheoremFacts& f) { f.strong_convexity = 1.5; });
  for (const TheoremName name : {TheoremName::MinibatchStronglyConvex, TheoremName::OnePassStronglyConvex,
                                 TheoremName::AcceleratedStronglyConvex, TheoremName::ProximalSgd,
                                 TheoremName::ProxSvrg, TheoremName::LocalizedStronglyConvex}) {
    says(name, convex, ball, {"strong convexity", "got 0"});
    says(name, stiff, ball, {"mu = 1.5", "beta = 1"});
  }
  for (const TheoremName name : {TheoremName::MinibatchConvex, TheoremName::OnePassConvex,
                                 TheoremName::AcceleratedConvexDirect, TheoremName::LocalizedStronglyConvex}) {
    says(name, with([](TheoremFacts& f) { f.diameter = 1.5; }), ball, {"D = 1.5", "diameter 2"});
    says(name, with([](TheoremFacts& f) { f.diameter = std::numeric_limits<double>::infinity(); }), ball, {"inf"});
    says(name, with([](TheoremFacts& f) { f.diameter = 0.0; }), ball, {"diameter", "got 0"});
    says(name, facts(), free, {"D = 2"});
  }
  for (const TheoremName name : {TheoremName::OnePassStronglyConvex, TheoremName::AcceleratedStronglyConvex,
                                 TheoremName::ProximalSgd, TheoremName::ProxSvrg, TheoremName::Spider})
    says(name, with([](TheoremFacts& f) { f.gap = 0.0; }), ball, {"gap", "got 0"});
}

TEST(TheoremParametersTest, NumbersOfNoKindAreRefused) {
  const double nan = std::nan("");
  for (double TheoremFacts::*field :
       {&TheoremFacts::silos, &TheoremFacts::answering, &TheoremFacts::records, &TheoremFacts::epsilon,
        &TheoremFacts::delta, &TheoremFacts::lipschitz, &TheoremFacts::smoothness}) {
    for (const double value : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
      TheoremFacts bad = facts();
      bad.*field = value;
      EXPECT_FALSE(choose_by_theorem(TheoremName::MinibatchConvex, bad, in_ball(), PlannedNoise::Printed)) << value;
    }
  }
  for (double TheoremFacts::*field : {&TheoremFacts::diameter, &TheoremFacts::strong_convexity, &TheoremFacts::gap,
                                      &TheoremFacts::heterogeneity, &TheoremFacts::gradient_variance}) {
    for (const double value : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
      TheoremFacts bad = facts();
      bad.*field = value;
      EXPECT_FALSE(choose_by_theorem(TheoremName::MinibatchConvex, bad, in_ball(), PlannedNoise::Printed)) << value;
    }
  }
  TheoremFacts many = facts();
  many.answering = 26.0;
  says(TheoremName::MinibatchConvex, many, in_ball(), {"M = 26", "N = 25"});
  many = facts();
  many.records = 10.5;
  says(TheoremName::MinibatchConvex, many, in_ball(), {"whole", "10.5"});
  algorithms::Problem empty = in_ball();
  empty.dimension = 0;
  says(TheoremName::MinibatchConvex, facts(), empty, {"0 numbers"});
}

TEST(TheoremParametersTest, MoreThanAMillionRoundsAreRefusedWithTheirNumber) {
  TheoremFacts large = facts();
  large.records = 1e5;  // nM = 2.5e6
  says(TheoremName::MinibatchConvex, large, in_ball(), {"rounds, more than 1000000", "2503162"});
  TheoremFacts stiff = facts();
  stiff.smoothness = 1e6;
  stiff.strong_convexity = 0.1;
  says(TheoremName::ProxSvrg, stiff, in_ball(), {"480000000", "1000000"});
}

TEST(TheoremParametersTest, SpiderIsRefusedWhereItsOutputWouldBeTheStart) {
  TheoremFacts few = facts();
  few.records = 2.0;
  few.silos = few.answering = 1.0;
  says(TheoremName::Spider, few, in_ball(), {"period", "at least 1"});
  few.records = 100.0;  // P = 72.4: one round at least 13, P/64 = 1.13
  says(TheoremName::Spider, few, in_ball(), {"period of 1", "13 rounds", "0.08"});
}

TEST(TheoremParametersTest, ADomainOrRegulariserThatDoesNotServeIsRefused) {
  algorithms::Problem composite = in_ball();
  composite.regulariser = geometry::Regulariser::l1(0.1, 10).value();
  for (const TheoremName name : {TheoremName::MinibatchConvex, TheoremName::AcceleratedConvex})
    says(name, facts(), composite, {"not smooth"}, PlannedNoise::Accountant);
  EXPECT_TRUE(choose_by_theorem(TheoremName::Spider, facts(), composite, PlannedNoise::Printed));
  says(TheoremName::SpiderAlternate, facts(), in_ball(), {"neither a domain"});
}

TEST(TheoremParametersTest, ASquaredRegulariserAddsToTheSmoothness) {
  algorithms::Problem smooth = in_ball();
  smooth.regulariser = geometry::Regulariser::squared_l2(3.0, 10).value();
  const TheoremChoice choice =
      choose_by_theorem(TheoremName::AcceleratedConvexDirect, facts(), smooth, PlannedNoise::Accountant).value();
  // sqrt(4 2) P^(1/4) = 58.34 -> 59.
  EXPECT_EQ(choice.method.as<algorithms::AcceleratedSgdSettings>()->rounds(), 59U);
  EXPECT_GE(choice.method.as<algorithms::AcceleratedSgdSettings>()->phases.front().stages.front().upsilon, 8.0);
}

TEST(TheoremParametersTest, TheEnvelopesSmoothnessByHand) {
  // L sqrt M/D = 2.5; 1/sqrt n = 0.0316228, sqrt(d ln(1/delta))/(eps n) = 0.0117539.
  const auto smoothness = [](TheoremName name) { return envelope_smoothness(name, facts(), in_ball()).value(); };
  const double noise = std::sqrt(138.15510557964274) / 1000.0;
  EXPECT_NEAR(smoothness(TheoremName::MinibatchConvex), 2.5 / (std::sqrt(1e-3) + noise), 1e-10);
  EXPECT_NEAR(smoothness(TheoremName::MinibatchStronglyConvex), 2.5 / (1e-3 + noise * noise), 1e-9);
  EXPECT_NEAR(smoothness(TheoremName::AcceleratedConvex), 2500.0 / std::sqrt(10.0), 1e-9);
  EXPECT_NEAR(smoothness(TheoremName::AcceleratedStronglyConvex), 2.5e5, 1e-6);
  EXPECT_NEAR(smoothness(TheoremName::LocalizedConvex), 2.5 * std::sqrt(1000.0), 1e-10);
  EXPECT_FALSE(envelope_smoothness(TheoremName::Spider, facts(), in_ball()));
  TheoremFacts convex = facts();
  convex.strong_convexity = 0.0;
  EXPECT_FALSE(envelope_smoothness(TheoremName::AcceleratedStronglyConvex, convex, in_ball()));
  EXPECT_DOUBLE_EQ(envelope_strong_convexity(1.0, 3.0), 0.75);
}

/// `facts` in mode shuffle, 20 of whose 25 silos are honest: eps n M = 25000, M P = 25 180956.03 = 4523900.8.
TheoremFacts shuffled_facts(bool reports = false) {
  TheoremFacts out = facts();
  out.shuffled = ShuffledAnswers{20.0, reports};
  return out;
}

TEST(ShuffledTheoremsTest, OnePassBatchesOfTheoremThirtyNineByHand) {
  const double log = std::log(10.0 / 1e-6);  // ln(d/delta) = 16.1181
  // K = (1/2)^(2/5) 1000^(3/5) (10 16.1181^2)^(1/5) / 25^(2/5) = 0.757858 63.0957 4.81943 / 3.62390 = 63.593 -> 64:
  // R = floor(1000/64) = 15, K = floor(1000/15) = 66.
  const double planned =
      std::pow(0.5, 0.4) * std::pow(1000.0, 0.6) * std::pow(10.0 * log * log, 0.2) / std::pow(25.0, 0.4);
  const TheoremChoice choice = choose(TheoremName::OnePassConvexDirect, shuffled_facts());
  EXPECT_EQ(choice.source, "Theorem 39");
  EXPECT_EQ(choice.reasons.at(0).value, std::round(planned));
  const auto* settings = choice.method.as<algorithms::AcceleratedSgdSettings>();
  const double rounds = std::floor(1000.0 / std::round(planned));
  EXPECT_EQ(static_cast<double>(settings->rounds()), rounds);
  // V^2 = phi^2/(MK) + d (5/4) (2/shift)^2/(20 25 K^2), upsilon = max{2, V R^(3/2)/2}.
  const double part = std::floor(1000.0 / rounds);
  const double sum = 2.0 / shift_of_each(1.0, 1e-6 * 31.0 / 32.0, 1.0).value();
  const double variance = 1.0 / (25.0 * part) + 10.0 * 1.25 * sum * sum / (20.0 * 25.0 * part * part);
  EXPECT_NEAR(settings->phases.front().stages.front().upsilon,
              std::max(2.0, std::sqrt(variance) * std::pow(rounds, 1.5) / 2.0), 1e-9);
  // Fewer silos' noise is in a silo's own: the shuffled one is less.
  EXPECT_LT(*choice.bound, *choose(TheoremName::OnePassConvexDirect, facts()).bound);
}

TEST(ShuffledTheoremsTest, StronglyConvexPartsOfTheoremThirtyNineByHand) {
  // n/(sqrt 10 ln(0.2 min{4523900.8, 25000})) = 1000/(3.162278 8.517193) = 37.13 -> 37.
  const TheoremChoice choice = choose(TheoremName::OnePassStronglyConvex, shuffled_facts());
  EXPECT_EQ(choice.reasons.at(0).value, 37.0);
  EXPECT_NE(choice.reasons.at(0).why.find("M^2"), std::string::npos);
}

TEST(ShuffledTheoremsTest, ProximalRoundsOfTheoremFortyByHand) {
  // 2 10 ln(0.1 2 min{25 1000, 4523900.8}) = 20 ln 5000 = 170.34 -> 171; at n = 10^5 the first is 25e5, the second
  // 4.5e10, alone: 20 ln(5e5) = 262.4. With little privacy, eps = 0.01, n = 1000: min{25000, 452.39}, 20 ln 90.478 =
  // 90.1 -> 91, where the silos' own noise has 20 ln max(e, 0.2 18.0956) = 25.7 -> 26.
  const auto rounds = [](const TheoremFacts& of) {
    return choose(TheoremName::ProximalSgd, of).method.as<algorithms::ProximalSgdSettings>()->rounds;
  };
  EXPECT_EQ(rounds(shuffled_facts()), 171U);
  TheoremFacts little = shuffled_facts();
  little.epsilon = 0.01;
  EXPECT_EQ(rounds(little), 91U);
  little.shuffled.reset();
  EXPECT_EQ(rounds(little), 26U);
  EXPECT_EQ(choose(TheoremName::ProximalSgd, shuffled_facts()).source, "Theorem 40.2");
}

TEST(ShuffledTheoremsTest, SvrgsRestartsOfTheoremFortyTwoByHand) {
  // S = log2(2 0.1 25^2 1e6/(10 10)/10 10) = log2(50000 25) = 20.25 -> 21. K = (1e6/25)^(1/3) = 34.2 -> 35, whatever
  // epsilon is: the least batch of the source serves an account that does not hold.
  for (const double epsilon : {1.0, 15.0}) {
    TheoremFacts facts = shuffled_facts();
    facts.epsilon = epsilon;
    const TheoremChoice choice = choose(TheoremName::ProxSvrg, facts);
    const auto& settings = *choice.method.as<algorithms::ProxSvrgSettings>();
    EXPECT_EQ(choice.source, "Theorem 42.2");
    EXPECT_EQ(settings.restarts, epsilon == 1.0 ? 21U : 29U);  // + log2(225) = 7.81
    EXPECT_EQ(settings.inner, 28U);
    EXPECT_EQ(settings.epochs, 18U);
    EXPECT_EQ(settings.smoothness, facts.smoothness);
    EXPECT_TRUE(choice.bound_at);
  }
}

TEST(ShuffledTheoremsTest, SpidersPeriodAndRoundsOfTheoremFortyFiveByHand) {
  // Delta beta = 2, d = 10. q = 1: R = 25000 sqrt(2/(10 ln^3(25e10)))... the largest q with 2 q at most
  // (25000/sqrt(20 ln^3(10 R/delta)))^(2/3), found by trying them all.
  const double log = std::log(10.0 * 1000.0 * 25.0 / 1e-6);
  const auto rounds = [&](double q) {
    return std::ceil(25000.0 * std::sqrt(2.0 / (10.0 * log * log * log)) * std::sqrt(q));
  };
  double period = 0.0;
  for (double q = 1.0; q < 1000.0; ++q) {
    const double inner = std::log(rounds(q) * 10.0 / 1e-6);
    if (2.0 * q <= std::pow(25000.0 / std::sqrt(20.0 * inner * inner * inner), 2.0 / 3.0)) period = q;
  }
  ASSERT_GE(period, 2.0);
  const TheoremChoice choice = choose(TheoremName::Spider, shuffled_facts());
  const auto* settings = choice.method.as<algorithms::SpiderSettings>();
  EXPECT_EQ(choice.source, "Theorem 45");
  EXPECT_EQ(static_cast<double>(settings->period), period);
  EXPECT_EQ(static_cast<double>(settings->rounds), rounds(period));
  EXPECT_EQ(settings->step_size, 0.5);
}

TEST(ShuffledTheoremsTest, MinibatchReportsOfTheoremThirtyEightByHand) {
  TheoremFacts many = shuffled_facts(true);
  many.silos = many.answering = 1000.0;
  many.records = 20.0;
  many.shuffled->honest = 900.0;
  many.epsilon = 0.5;
  // eps n = 10: max{100 1000, 1, min{20, 100 1000/10}, (2) min{sqrt 20000, 10 1000/sqrt 10}} = 100000.
  // 16 ln(18 1e5 1000/1e-6) = 16 ln 1.8e15 = 562.1 <= 1000.
  const TheoremChoice choice = choose(TheoremName::MinibatchConvex, many);
  const auto* settings = choice.method.as<algorithms::MinibatchSgdSettings>();
  EXPECT_EQ(choice.source, "Theorem 38");
  EXPECT_EQ(settings->rounds, 100000U);
  const double logs = std::log(1e14) * std::log(1e11) * std::log(1e6);
  // min{1, (2 sqrt 1000/1e5) min{sqrt 20, 10000/sqrt(10 1000 logs)}}
  EXPECT_NEAR(settings->step_size,
              2.0 * std::sqrt(1000.0) / 1e5 * std::min(std::sqrt(20.0), 1e4 / std::sqrt(1e4 * logs)), 1e-12);
  EXPECT_EQ(std::floor(choice.draw_fraction * 20.0), 1.0);
  many.silos = many.answering = 25.0;
  many.shuffled->honest = 20.0;
  says(TheoremName::MinibatchConvex, many, in_ball(), {"16 ln(18 R M/delta)", "25 silos"}, PlannedNoise::Accountant);
}

TEST(ShuffledTheoremsTest, WhatHasNoShuffledFormIsRefusedByName) {
  const PlannedNoise accountant = PlannedNoise::Accountant;
  says(TheoremName::MinibatchStronglyConvex, shuffled_facts(true), in_ball(), {"Theorem 38", "neither"}, accountant);
  says(TheoremName::AcceleratedConvex, shuffled_facts(), in_ball(), {"Theorem 129", "no shuffled form"}, accountant);
  says(TheoremName::LocalizedConvex, shuffled_facts(), in_ball(), {"no shuffled form"}, accountant);
  says(TheoremName::Spider, shuffled_facts(true), in_ball(), {"Theorem 45", "\"shares\""}, accountant);
  says(TheoremName::MinibatchConvex, shuffled_facts(), in_ball(), {"Theorem 38", "\"reports\""}, accountant);
  TheoremFacts loud = shuffled_facts();
  loud.epsilon = 16.0;
  says(TheoremName::OnePassConvex, loud, in_ball(), {"16", "15"}, accountant);
  TheoremFacts dishonest = shuffled_facts();
  dishonest.shuffled->honest = 26.0;
  says(TheoremName::OnePassConvex, dishonest, in_ball(), {"26 honest"}, accountant);
}

TEST(TheoremParametersTest, UnequalSilosNoiseIsTheirMeanNotOneOfAllTheirMinima) {
  // n = 1000 at epsilon 2 and n = 2000 at epsilon 1: either has eps n = 2000, their minima 1000 at 1, twice as loud.
  // Remark 143: what is over the mean of silos is a mean of variances.
  TheoremFacts apart = facts();
  TheoremFacts own = apart;
  own.members = {{1000.0, 2.0, 1e-6}, {2000.0, 1.0, 1e-6}};
  const auto upsilon = [](const TheoremFacts& of, double rounds) {
    const TheoremChoice choice = choose(TheoremName::AcceleratedConvexDirect, of);
    const auto& settings = *choice.method.as<algorithms::AcceleratedSgdSettings>();
    EXPECT_EQ(static_cast<double>(settings.rounds()), rounds);
    return settings.phases.front().stages.front().upsilon;
  };
  const auto square = [&](double n, double epsilon, double rounds) {
    return std::pow(2.0 / (n * shift_of_each(epsilon, 1e-6, rounds).value()), 2.0);
  };
  const auto expected = [&](double squares, double rounds) {
    return std::max(2.0, std::sqrt(10.0 * squares / 25.0) * std::pow(rounds, 1.5) / 2.0);
  };
  // sqrt(2) P^(1/4) = 29.17 rounds, and sqrt(2) as many where P is four times as large.
  EXPECT_NEAR(upsilon(apart, 30.0), expected(square(1000.0, 1.0, 30.0), 30.0), 1e-9);
  const double both = 0.5 * (square(1000.0, 2.0, 42.0) + square(2000.0, 1.0, 42.0));
  EXPECT_NEAR(upsilon(own, 42.0), expected(both, 42.0), 1e-9);
  EXPECT_LT(*choose(TheoremName::AcceleratedConvexDirect, own).bound,
            *choose(TheoremName::AcceleratedConvexDirect, apart).bound);
  own.members.push_back({900.0, 2.0, 1e-6});
  says(TheoremName::AcceleratedConvex, own, in_ball(), {"900", "below the least"}, PlannedNoise::Accountant);
}

TEST(TheoremParametersTest, UnequalSilosRoundsAndStepOfTheorem140ByHand) {
  TheoremFacts unequal = facts();
  unequal.silos = unequal.answering = 2.0;
  unequal.records = 100.0;
  unequal.epsilon = 0.5;
  unequal.members = {{100.0, 1.0, 1e-6}, {400.0, 0.5, 1e-6}};  // n eps: 100 and 200
  // 1/(n eps)^2 are 1e-4 and 2.5e-5, their mean 6.25e-5: M/Xi = 2/(6.25e-5 ln(2.5R/delta) ln(2/delta)).
  const auto precision = [](double r) { return 2.0 / (6.25e-5 * std::log(2.5e6 * r) * std::log(2e6)); };
  double rounds = 1.0;
  for (;; ++rounds) {
    const double q = std::min(200.0, precision(rounds) / 10.0);
    if (rounds >= 2.0 * std::sqrt(q) + q) break;
  }
  const TheoremChoice choice = choose(TheoremName::MinibatchConvex, unequal);
  const auto* settings = choice.method.as<algorithms::MinibatchSgdSettings>();
  EXPECT_EQ(choice.source, "Theorem 140");
  EXPECT_EQ(static_cast<double>(settings->rounds), rounds);
  EXPECT_NEAR(
      settings->step_size,
      std::min(1.0, 2.0 / std::sqrt(rounds) *
                        std::min({1.0, std::sqrt(200.0 / rounds), std::sqrt(precision(rounds) / 10.0 / rounds)})),
      1e-12);
}

TEST(TheoremParametersTest, UnequalSilosStronglyConvexFormOfTheorem140ByHand) {
  TheoremFacts unequal = facts();
  unequal.silos = unequal.answering = 2.0;
  unequal.records = 100.0;
  unequal.epsilon = 0.5;
  unequal.members = {{100.0, 1.0, 1e-6}, {400.0, 0.5, 1e-6}};  // n eps: 100 and 200
  const auto precision = [](double r) { return 2.0 / (6.25e-5 * std::log(2.5e6 * r) * std::log(2e6)); };
  // beta mu D^2/L^2 = 0.4 and 2 beta/mu = 20: of p = precision/10, some 13, the first term is 20 ln(0.4 p), the second
  // p itself.
  double rounds = 1.0;
  for (;; ++rounds) {
    const double p = precision(rounds) / 10.0;
    if (rounds >= std::max(20.0 * std::log(0.4 * p), std::min(200.0, p))) break;
  }
  const TheoremChoice choice = choose(TheoremName::MinibatchStronglyConvex, unequal);
  const auto* settings = choice.method.as<algorithms::MinibatchSgdSettings>();
  EXPECT_EQ(choice.source, "Theorem 140");
  EXPECT_EQ(static_cast<double>(settings->rounds), rounds);
  // The noise of the mean of both: (sigma_1^2 + sigma_2^2)/2/M.
  const auto square = [&](double n, double epsilon) {
    return std::pow(2.0 / (n * shift_of_each(epsilon, 1e-6, rounds).value()), 2.0);
  };
  const double noise = 10.0 * (square(100.0, 1.0) + square(400.0, 0.5)) / 4.0;
  const double step = std::min(0.5, std::log(std::max(2.0, 0.04 * rounds * rounds / (noise + 1.0))) / (0.1 * rounds));
  EXPECT_NEAR(settings->step_size, step, 1e-12);
  EXPECT_EQ(settings->averaging.kind, algorithms::Averaging::Kind::Geometric);
  EXPECT_NEAR(settings->averaging.ratio, 1.0 - 0.1 * step, 1e-12);
  EXPECT_NEAR(choice.rate, 10.0 * (1.0 / 200.0 + 10.0 / precision(rounds)), 1e-12);
}

TEST(TheoremParametersTest, OfUnequalSilosMinibatchTheoremsHaveAFormAndOthersRemark143) {
  TheoremFacts unequal = facts();
  unequal.members = {{1000.0, 2.0, 1e-6}, {2000.0, 1.0, 1e-6}};
  for (const TheoremName name : theorem_names()) {
    SCOPED_TRACE(to_string(name));
    const TheoremChoice choice = choose(name, unequal);
    const bool own = name == TheoremName::MinibatchConvex || name == TheoremName::MinibatchStronglyConvex;
    EXPECT_EQ(choice.source == "Theorem 140", own);
    const auto said = std::find_if(choice.reasons.begin(), choice.reasons.end(), [](const TheoremChoice::Reason& one) {
      return one.why.find("has no form for silos that differ") != std::string::npos;
    });
    EXPECT_EQ(said == choice.reasons.end(), own || choice.source.ends_with(", Remark 143"));
    if (said != choice.reasons.end()) {
      EXPECT_EQ(said->value, 1000.0);
    }
  }
}

TEST(TheoremParametersTest, NamesAreDistinct) {
  for (const TheoremName one : theorem_names())
    for (const TheoremName other : theorem_names()) EXPECT_EQ(one == other, to_string(one) == to_string(other));
}

TEST(TheoremParametersTest, ConstantsThatLeaveADoubleAreRefusedAndNoLoopIsEndless) {
  EXPECT_FALSE(plan_stages(1.0, 1.0, 0.0, 1.0, 1.0, 5));
  EXPECT_FALSE(plan_stages(1.0, 1.0, INFINITY, 1.0, 1.0, 5));
  EXPECT_FALSE(plan_stages(1.0, 1.0, 1.0, 1.0, NAN, 5));
  for (const TheoremName name : theorem_names()) {
    for (const double tiny : {5e-324, 1e-300, 1e-30, 1e30}) {
      SCOPED_TRACE(to_string(name));
      TheoremFacts facts;
      facts.silos = facts.answering = 3.0;
      facts.records = 1.0;
      facts.epsilon = 1.0;
      facts.delta = 1e-5;
      facts.lipschitz = facts.smoothness = facts.strong_convexity = facts.gap = tiny;
      facts.gradient_variance = tiny * tiny;
      facts.moment = MomentBound{2.0, tiny};
      facts.diameter = 2.0;
      const algorithms::Problem problem{3, geometry::Domain::l2_ball(1.0).value(), geometry::Regulariser::none(),
                                        queries::PointType::F64};
      for (const PlannedNoise noise : {PlannedNoise::Printed, PlannedNoise::Accountant})
        (void)choose_by_theorem(name, facts, problem, noise);  // comes back, whatever it says
    }
  }
}

}  // namespace
}  // namespace undertone::theorems
