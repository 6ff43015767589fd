#include "verifier/sampled_profile.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "shared/accounting/loss_composition.hpp"
#include "shared/accounting/loss_law.hpp"
#include "verifier/gaussian_profile.hpp"
#include "verifier/multiset_profile.hpp"

namespace undertone::verifier {
namespace {

TEST(SampledProfileTest, ComposesSubsetsAndMultisets) {  // privacy-core.md, rows 128, 130, 141 and 142, at delta 1e-5
  struct Row {
    SampledGroup group;
    long double epsilon;
  };
  for (const Row& row : {Row{{1, 1000, 10, 1000, false}, 2.198914L}, Row{{0.5L, 1000, 10, 1000, false}, 0.7185743L},
                         Row{{1, 1000, 10, 1000, true}, 2.243677L}, Row{{0.5L, 1000, 10, 1000, true}, 0.7206113L}}) {
    SCOPED_TRACE(static_cast<double>(row.epsilon));
    const DeltaBracket at = sampled_delta({row.group}, row.epsilon).value();
    EXPECT_LE(at.lower, 1e-5L);
    EXPECT_GE(at.upper, 1e-5L);
    EXPECT_LE(sampled_delta({row.group}, row.epsilon * 1.005L)->upper, 1e-5L);
    EXPECT_GE(sampled_delta({row.group}, row.epsilon * 0.995L)->lower, 1e-5L);
  }
}

TEST(SampledProfileTest, TheBracketOfOneReleaseHoldsItsProfile) {
  for (const auto& [drawn, population] : {std::pair(10, 1000), std::pair(3, 20), std::pair(50, 50), std::pair(2, 2)}) {
    SCOPED_TRACE(fmt::format("{} of {}", drawn, population));
    const long double height = MultisetProfile(0.8L, drawn, population).height(0.4L);
    const DeltaBracket bracket = sampled_delta({{0.8L, 1, drawn, population, true}}, 0.4L).value();
    EXPECT_LE(bracket.lower, height);
    EXPECT_GE(bracket.upper, height);
    EXPECT_LE(bracket.upper, bracket.lower * 1.02L);
  }
}

TEST(SampledProfileTest, TwoMethodsAgreeOnMixedPlans) {
  const auto shift = [](double mu) { return releases::GaussianShift::create(mu).value(); };
  struct Plan {
    std::vector<SampledGroup> groups;
    std::vector<accounting::RepeatedLaw> laws;
    double epsilon;
  };
  const accounting::LossLawPtr tenths = accounting::multiset_gaussian_law(200, 20, shift(0.2)).value();
  const accounting::LossLawPtr all = accounting::multiset_gaussian_law(60, 60, shift(0.15)).value();
  const accounting::LossLawPtr rare = accounting::multiset_gaussian_law(500, 3, shift(1.0)).value();
  const accounting::LossLawPtr subset = accounting::subset_gaussian_law(0.05, shift(0.4)).value();
  for (const Plan& plan : {Plan{{{0.2L, 100, 20, 200, true}}, {{tenths, 100}}, 1.0},
                           Plan{{{0.15L, 30, 60, 60, true}, {0.3L, 1, 60, 60}},
                                {{all, 30}, {accounting::gaussian_law(shift(0.3)), 1}},
                                4.0},
                           Plan{{{1, 200, 3, 500, true}, {0.4L, 50, 10, 200}, {0.2L, 10, 20, 200, true}},
                                {{rare, 200}, {subset, 50}, {tenths, 10}},
                                3.0}}) {
    SCOPED_TRACE(plan.epsilon);
    const auto product = accounting::composed_delta(plan.laws, plan.epsilon).value();
    const DeltaBracket at = sampled_delta(plan.groups, plan.epsilon).value();
    EXPECT_LE(at.lower, product.upper);
    EXPECT_GE(at.upper, product.lower);
    EXPECT_LE(sampled_delta(plan.groups, plan.epsilon * 1.01L)->upper, product.lower);
    EXPECT_GE(sampled_delta(plan.groups, plan.epsilon * 0.99L)->lower, product.upper);
  }
}

TEST(SampledProfileTest, AsManyDrawsAsRecordsAreNotAllOfThem) {
  const DeltaBracket all = sampled_delta({{0.1L, 100, 1000, 1000}}, 5).value();
  const DeltaBracket drawn = sampled_delta({{0.1L, 100, 1000, 1000, true}}, 5).value();
  EXPECT_GT(drawn.lower, all.upper);
  const DeltaBracket one = sampled_delta({{0.5L, 1, 1, 1, true}}, 1).value();  // of one record they are
  EXPECT_NEAR(static_cast<double>(one.upper / gaussian_profile(1, 0.5L)), 1.0, 1e-7);
}

TEST(SampledProfileTest, MoreDrawsThanRecordsAreNotComposed) {
  EXPECT_FALSE(sampled_delta({{1, 1, 11, 10, true}}, 1));
  EXPECT_FALSE(sampled_delta({{1, 1, 11, 10, false}}, 1));
  EXPECT_FALSE(sampled_delta({{1, 1, 0, 10, true}}, 1));
}

TEST(SampledProfileTest, LargeShiftsAreBoundedAlthoughTheirLossesAreNot) {
  // Drawn five times the loss is about (5 x 20)^2 / 2 = 5000, once 200: at 400 what counts is twice or more, which is
  // 1 - 0.9^10 - 10 x 0.1 x 0.9^9 = 0.264 of the rounds.
  const DeltaBracket bracket = sampled_delta({{20, 1, 10, 100, true}}, 400).value();
  const long double height = MultisetProfile(20, 10, 100).height(400);
  EXPECT_LE(bracket.lower, height);
  EXPECT_GE(bracket.upper, height);
}

}  // namespace
}  // namespace undertone::verifier
