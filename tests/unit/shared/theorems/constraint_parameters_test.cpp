#include "shared/theorems/constraint_parameters.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "shared/algorithms/frank_wolfe/constrained_frank_wolfe.hpp"
#include "shared/algorithms/mirror/constrained_mirror_descent.hpp"
#include "shared/theorems/theorem_parameters.hpp"

namespace undertone::theorems {
namespace {

using geometry::Domain;

/// One silo of n = 1000, epsilon 1, delta 1e-6: mu(1, 1e-6) = 0.2367, so that one round has s_1 = 2/(1000 0.2367).
TheoremFacts constraint_facts() {
  TheoremFacts out;
  out.silos = out.answering = 1.0;
  out.records = 1000.0;
  out.epsilon = 1.0;
  out.delta = 1e-6;
  out.lipschitz = 1.0;
  out.diameter = 2.0;
  out.smoothness = 1.0;
  out.gap = 2.0;
  out.gradient_variance = 1.0;
  return out;
}

algorithms::Problem in_domain(const Result<Domain>& domain, Eigen::Index dimension) {
  algorithms::Problem problem;
  problem.dimension = dimension;
  problem.domain = domain.value();
  return problem;
}

TheoremChoice choose_over(TheoremName name, const Result<Domain>& domain, Eigen::Index dimension, TheoremFacts facts) {
  return choose_by_theorem(name, facts, in_domain(domain, dimension), PlannedNoise::Accountant).value();
}

TEST(ConstraintParametersTest, MirrorDescentOverTheSimplexByHand) {
  // T* = n^2 mu^2 / (4 (G^2 + 1)), G^2 = 2 ln 32 = 6.931472: 56026.9/(4 7.931472) = 1765.97, within mu's digits.
  const TheoremChoice choice =
      choose_over(TheoremName::ConstrainedMirrorConvex, Domain::simplex(1.0), 16, constraint_facts());
  const auto& settings = *choice.method.as<algorithms::ConstrainedMirrorDescentSettings>();
  EXPECT_NEAR(static_cast<double>(settings.rounds), 1766.0, 2.0);
  // There B = 2 to one round's share: eta = sqrt(ln 16/(2 T)), bound 2 sqrt(2 ln 16/T).
  const double rounds = static_cast<double>(settings.rounds);
  EXPECT_NEAR(settings.step_size, std::sqrt(std::log(16.0) / (2.0 * rounds)), 1e-5);
  EXPECT_NEAR(choice.bound.value(), 2.0 * std::sqrt(2.0 * std::log(16.0) / rounds), 1e-3);
  EXPECT_NEAR(choice.bound_at(0.0), std::log(16.0) / (settings.step_size * rounds) + settings.step_size, 1e-12);
  EXPECT_GT(choice.bound.value(), choice.bound_at(0.0));
}

TEST(ConstraintParametersTest, TheBoundGrowsWithTheWidthAndNotWithTheDimension) {
  const auto bound = [](const Result<Domain>& domain, Eigen::Index dimension) {
    return choose_over(TheoremName::ConstrainedMirrorConvex, domain, dimension, constraint_facts()).bound.value();
  };
  // Over the ball like sqrt(d): 8 times from 16 to 1024. Over the simplex like ln d: 2.5 times.
  EXPECT_GE(bound(Domain::l2_ball(1.0), 1024) / bound(Domain::l2_ball(1.0), 16), 7.0);
  EXPECT_LE(bound(Domain::simplex(1.0), 1024) / bound(Domain::simplex(1.0), 16), 2.5);
  EXPECT_LE(bound(Domain::group_ball(1.0, 4), 1024) / bound(Domain::group_ball(1.0, 4), 16), 4.0);
}

TEST(ConstraintParametersTest, TheStronglyConvexFormByHand) {
  // Over the unit ball in dimension 10, G = E||g|| = 3.0844: T* = 56026.9/(4 (9.5135 + 1)) = 1332.3.
  TheoremFacts facts = constraint_facts();
  facts.strong_convexity = 0.5;
  const TheoremChoice choice =
      choose_over(TheoremName::ConstrainedMirrorStronglyConvex, Domain::l2_ball(1.0), 10, facts);
  const auto& settings = *choice.method.as<algorithms::ConstrainedMirrorDescentSettings>();
  EXPECT_NEAR(static_cast<double>(settings.rounds), 1332.0, 2.0);
  EXPECT_EQ(settings.relative_convexity, 0.5);
  EXPECT_EQ(settings.step(4), 0.5);  // 1/(0.5 4)
  const double rounds = static_cast<double>(settings.rounds);
  EXPECT_NEAR(choice.bound.value(), 2.0 * (1.0 + std::log(rounds)) / (0.5 * rounds), 1e-3);
}

TEST(ConstraintParametersTest, FrankWolfeByHand) {
  // Gamma = 4, G = sqrt(2 ln 32) = 2.632769, T about (2 Gamma n mu/(L G))^(2/3) = (8 236.7/2.632769)^(2/3) = 80.3.
  const TheoremChoice choice =
      choose_over(TheoremName::ConstrainedFrankWolfe, Domain::l1_ball(1.0), 16, constraint_facts());
  const auto& settings = *choice.method.as<algorithms::ConstrainedFrankWolfeSettings>();
  EXPECT_NEAR(static_cast<double>(settings.iterates), 80.3, 3.0);
  EXPECT_EQ(settings.curvature, 4.0);
  const double stddev = 2.0 / 236.7 * std::sqrt(static_cast<double>(settings.iterates) - 1.0);
  EXPECT_NEAR(choice.bound.value(), 8.0 / (static_cast<double>(settings.iterates) + 1.0) + stddev * 2.632769, 1e-3);
  // No neighbour is better.
  for (const int other : {-1, 1}) {
    const double iterates = static_cast<double>(settings.iterates) + other;
    EXPECT_GE(8.0 / (iterates + 1.0) + 2.0 / 236.7 * std::sqrt(iterates - 1.0) * 2.632769, *choice.bound - 1e-4);
  }
}

TEST(ConstraintParametersTest, NothingIsSaidOfFrankWolfeWhereSilosAreDrawn) {
  TheoremFacts facts = constraint_facts();
  facts.silos = 4.0;
  facts.answering = 2.0;
  const TheoremChoice choice = choose_over(TheoremName::ConstrainedFrankWolfe, Domain::l1_ball(1.0), 16, facts);
  EXPECT_FALSE(choice.bound);
  EXPECT_FALSE(choice.bound_at);
}

TEST(ConstraintParametersTest, ConditionsAreRefusedWithBothNumbers) {
  const auto says = [](TheoremName name, const TheoremFacts& facts, const Result<Domain>& domain,
                       const std::string& part) {
    const auto choice = choose_by_theorem(name, facts, in_domain(domain, 6), PlannedNoise::Accountant);
    ASSERT_FALSE(choice);
    EXPECT_NE(choice.error().message.find(part), std::string::npos) << choice.error().message;
  };
  const auto names = {TheoremName::ConstrainedMirrorConvex, TheoremName::ConstrainedMirrorStronglyConvex,
                      TheoremName::ConstrainedFrankWolfe};
  TheoremFacts convex = constraint_facts();
  convex.strong_convexity = 0.5;
  for (const TheoremName name : names) {
    says(name, convex, Domain::whole_space(), "the whole space");
    says(name, convex, Domain::l2_ball(2.0), "D = 2 is less than the diameter 4");
    says(name, convex, Domain::nuclear_ball(1.0, 4), "matrices of 4 rows");
  }
  TheoremFacts steep = constraint_facts();
  steep.strong_convexity = 3.0;
  says(TheoremName::ConstrainedMirrorStronglyConvex, steep, Domain::l2_ball(1.0),
       "mu = 3 is above the smoothness beta = 1");
}

TEST(ConstraintParametersTest, ThePrintedNoiseAsksForFewerRounds) {
  const algorithms::Problem problem = in_domain(Domain::simplex(1.0), 16);
  const auto rounds = [&](PlannedNoise noise) {
    const TheoremChoice choice =
        choose_by_theorem(TheoremName::ConstrainedMirrorConvex, constraint_facts(), problem, noise).value();
    return choice.method->extent().rounds;
  };
  EXPECT_LT(rounds(PlannedNoise::Printed), rounds(PlannedNoise::Accountant) / 40);  // variances 12^2 and more apart
  EXPECT_GE(rounds(PlannedNoise::Printed), 1U);
}

}  // namespace
}  // namespace undertone::theorems
