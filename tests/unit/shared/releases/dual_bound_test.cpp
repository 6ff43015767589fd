#include "shared/releases/dual_bound.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "shared/planning/plan.hpp"
#include "shared/planning/plan_digest.hpp"

namespace undertone::releases {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

DualBound bound_of(double clip, double exponent, Eigen::Index dimension) {
  return DualBound::create(*ClipNorm::create(clip), exponent, dimension).value();
}

Ask gradients(const Bound& bound, Eigen::Index dimension) { return {GradientMap{}, {}, bound, dimension}; }

planning::Plan plan_of(const Ask& ask, std::uint64_t rounds = 10) {
  const SiloFacts facts{SiloId::create("clinic").value(), 1000, 0, false,
                        ApproximateDp{*Epsilon::create(1.0), *Delta::create(1e-6)}};
  return planning::make_plan({{ask, rounds}}, facts).value();
}

TEST(DualBoundTest, SaysWhatFollowsInL2) {
  // 16^(1/2) 0.5 = 2 of l_inf, 64^(1/2 - 1/3) 3 = 6 of l_3, both rounded up by 2^-40.
  EXPECT_NEAR(bound_of(0.5, kInfinity, 16).l2().value(), 2.0, 1e-11);
  EXPECT_GE(bound_of(0.5, kInfinity, 16).l2().value(), 2.0);
  EXPECT_NEAR(bound_of(3.0, 3.0, 64).l2().value(), 6.0, 1e-10);
  EXPECT_GE(bound_of(3.0, 3.0, 64).l2().value(), 6.0);
  EXPECT_EQ(bound_of(1.0, kInfinity, 4).primal_exponent(), 1.0);
  EXPECT_DOUBLE_EQ(bound_of(1.0, 3.0, 4).primal_exponent(), 1.5);
  EXPECT_EQ(norm_name(kInfinity), "l_inf");
  EXPECT_EQ(norm_name(3.0), "l_3");
}

TEST(DualBoundTest, RefusesWhatIsNoBound) {
  const ClipNorm clip = *ClipNorm::create(1.0);
  for (const double exponent : {2.0, 1.0, 0.0, -3.0, std::nan("")}) EXPECT_FALSE(DualBound::create(clip, exponent, 3));
  EXPECT_FALSE(DualBound::create(clip, 3.0, 0));
  EXPECT_FALSE(DualBound::create(*ClipNorm::create(1e308), kInfinity, 1'000'000));
}

TEST(DualBoundTest, IsPlannedAsTheL2BoundThatFollows) {
  const DualBound dual = bound_of(0.5, kInfinity, 16);
  const planning::Plan one = plan_of(gradients(dual, 16));
  const planning::Plan other = plan_of(gradients(L2Bound{dual.l2()}, 16));
  EXPECT_EQ(one.cost(Block::Training), other.cost(Block::Training));
  EXPECT_EQ(one.segments().front().release.noise_stddev_of_mean(),
            other.segments().front().release.noise_stddev_of_mean());
  // Twice the clip in every coordinate is 2 0.5 sqrt 16 = 4 in l2: noise / sensitivity is the multiplier.
  const double stddev = 1000.0 * one.segments().front().release.noise_stddev_of_mean();
  const double shift = std::sqrt(one.segments().front().release.cost_of_draw().gaussian.value_rounded_up());
  EXPECT_NEAR(4.0 / stddev, shift, 1e-3 * shift);
}

TEST(DualBoundTest, TellsPlansApart) {
  const DualBound dual = bound_of(0.5, kInfinity, 16);
  const auto digest = [](const Bound& bound) { return planning::plan_digest(plan_of(gradients(bound, 16))); };
  EXPECT_NE(digest(dual), digest(L2Bound{dual.l2()}));
  EXPECT_NE(digest(dual), digest(bound_of(0.5, 7.0, 16)));
  EXPECT_EQ(digest(dual), digest(bound_of(0.5, kInfinity, 16)));
}

TEST(DualBoundTest, DifferencesAreScaledByTheDistanceInTheirOwnNorm) {
  DualBound dual = bound_of(1.0, kInfinity, 4);
  dual.smoothness = 0.5;
  Ask ask{GradientDifferenceMap{}, {}, dual, 4};
  EXPECT_EQ(ask.distance_exponent(), 1.0);
  const planning::Release release = plan_of(ask, 1).segments().front().release;
  // min(1, 0.5 0.4) = 0.2 of both norms, of the lattice's step and of the noise.
  const planning::Release scaled = release.scaled_to(0.4);
  EXPECT_NEAR(std::get<DualBound>(scaled.ask.bound).clip().value(), 0.2, 1e-15);
  EXPECT_NEAR(scaled.ask.clip().value(), 0.4, 1e-11);
  EXPECT_NEAR(scaled.noise_stddev_of_mean() / release.noise_stddev_of_mean(), 0.2, 1e-12);
  EXPECT_EQ(scaled.cost(), release.cost());
  EXPECT_EQ(std::get<DualBound>(release.scaled_to(1e9).ask.bound).clip().value(), 1.0);
}

}  // namespace
}  // namespace undertone::releases
