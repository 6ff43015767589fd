#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/statistics/binomial_weights.hpp"
#include "shared/statistics/comparisons.hpp"
#include "shared/statistics/counts.hpp"
#include "shared/statistics/means.hpp"
#include "shared/statistics/silo_differences.hpp"
#include "shared/statistics/variances.hpp"

namespace undertone::statistics {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
const Confidence k95 = Confidence::create(0.95).value();

NoiseLaw counting(double scale) { return NoiseLaw::create({{LaplaceNoise{scale, 1.0}, 1.0}}).value(); }
NoiseLaw gaussian(double stddev) { return NoiseLaw::create({{GaussianNoise{stddev, 0.0}, 1.0}}).value(); }

TEST(ConfidenceTest, RefusesWhatIsNone) {
  for (const double value : {0.0, 0.49, 1.0, 1.5, -1.0, kUndefined}) EXPECT_FALSE(Confidence::create(value)) << value;
  EXPECT_NEAR(k95.z(), 1.959963984540054, 1e-12);
  EXPECT_NEAR(k95.shared_by(5).alpha(), 0.01, 1e-15);
}

TEST(BinomialWeightsTest, SumToOneAndAgreeWithHand) {
  const BinomialWeights law = binomial_weights(4, 0.25);  // (3/4)^4 = 81/256, 4 (1/4) (3/4)^3 = 108/256
  ASSERT_EQ(law.first, 0);
  EXPECT_NEAR(law.weights[0], 81.0 / 256.0, 1e-15);
  EXPECT_NEAR(law.weights[1], 108.0 / 256.0, 1e-15);
  EXPECT_EQ(binomial_weights(7, 0.0).weights.size(), 1U);
  EXPECT_EQ(binomial_weights(7, 1.0).first, 7);
  EXPECT_NEAR(binomial_weights(1'000'000, 1e-6).weights[0], std::exp(-1.0), 1e-6);  // Poisson(1)
}

TEST(CountTest, ItsNoiseIntervalIsOfWholeRecordsWithinWhatIsPossible) {
  const Stated count = state_count(7, 30, counting(1.0), k95, true).value();
  EXPECT_EQ(count.noise.low, 4.0);  // k = 3 at b = 1
  EXPECT_EQ(count.noise.high, 10.0);
  EXPECT_EQ(count.method, Method::Exact);
  const Stated negative = state_count(-50, 30, counting(1.0), k95, false).value();
  EXPECT_EQ(*negative.value, -50.0);  // never cut
  EXPECT_EQ(negative.noise.low, 0.0);
  EXPECT_EQ(negative.noise.high, 3.0);  // never empty
  EXPECT_FALSE(negative.population);
  const Stated exact = state_count(7, 30, counting(0.25), k95, false).value();
  EXPECT_EQ(exact.noise.low, 7.0);  // k = 0
  EXPECT_EQ(exact.noise.high, 7.0);
}

TEST(CountTest, TheExactIntervalCoversByCountingOut) {
  // ST4: n = 30, coverage at p summed over every count and noise; here p = 0, 0.05 .. 1.
  const std::int64_t n = 30;
  const double scale = 1.0;
  std::vector<Interval> intervals;
  for (int r = -40; r <= 70; ++r) intervals.push_back(exact_share(r, n, counting(scale), 0.05));
  double least = 1.0;
  for (int i = 0; i <= 20; ++i) {
    const double p = i / 20.0;
    const BinomialWeights law = binomial_weights(n, p);
    double covered = 0.0;
    for (int r = -40; r <= 70; ++r) {
      if (!intervals[static_cast<std::size_t>(r) + 40].holds(p)) continue;
      for (std::size_t s = 0; s < law.weights.size(); ++s) {
        const double z = std::abs(r - static_cast<double>(law.first) - static_cast<double>(s));
        covered += law.weights[s] * std::tanh(0.5 / scale) * std::exp(-z / scale);
      }
    }
    EXPECT_GE(covered, 0.95) << p;
    least = std::min(least, covered);
  }
  EXPECT_LE(least, 0.97);  // not by being much too wide
}

TEST(CountTest, ACellOfManyIsAsWideAsItsShareOfAlpha) {
  const std::vector<Stated> each = state_cells({3, 0, 9}, 12, counting(2.0), k95, false, false).value();
  const std::vector<Stated> all = state_cells({3, 0, 9}, 12, counting(2.0), k95, false, true).value();
  EXPECT_EQ(each[2].noise.low, 3.0);  // k = 6 at b = 2
  // 2 q^(k+1) / (1 + q) <= 0.05 / 3, q = e^-1/2: k + 1 >= 2 ln(2 * 60 / 1.6065) = 8.63, k = 8
  EXPECT_EQ(all[2].noise.low, 1.0);
  EXPECT_FALSE(state_cells({}, 12, counting(2.0), k95, false, false));
}

TEST(CountTest, RefusesWhatIsNoCount) {
  for (const double total : {kUndefined, HUGE_VAL})
    EXPECT_FALSE(state_count(total, 30, counting(1.0), k95, true)) << total;
  for (const std::int64_t records : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX})
    EXPECT_FALSE(state_count(1.0, records, counting(1.0), k95, true)) << records;
}

SiloMoments silo(double mean, double square, std::int64_t records, double weight, double stddev) {
  return {records, weight, {mean, gaussian(stddev)}, NoisedMean{square, gaussian(stddev / std::numbers::sqrt2)}};
}

TEST(MeanTest, TwoSilosAlikeAreAsGoodAsOneOfBoth) {
  const Stated one = state_mean({silo(0.2, 0.1, 2000, 1.0, 0.01 / std::numbers::sqrt2)}, k95, Sampling::Score).value();
  const Stated two =
      state_mean({silo(0.2, 0.1, 1000, 0.5, 0.01), silo(0.2, 0.1, 1000, 0.5, 0.01)}, k95, Sampling::Score).value();
  EXPECT_NEAR(one.noise_stddev, two.noise_stddev, 1e-15);
  EXPECT_NEAR(one.population->low, two.population->low, 1e-12);
  EXPECT_NEAR(one.population->high, two.population->high, 1e-12);
}

TEST(MeanTest, WithoutSquaresItIsTheScoreInterval) {
  const SiloMoments first{200, 1.0, {-0.3, gaussian(0.04)}};
  const Stated mean = state_mean({first}, k95, Sampling::Automatic).value();
  EXPECT_EQ(mean.method, Method::Score);
  EXPECT_FALSE(mean.gate);
}

TEST(MeanTest, AnEstimateBeyondTheBoundsIsNotCutButItsIntervalIs) {
  const Stated mean = state_mean({SiloMoments{10, 1.0, {-1.4, gaussian(0.2)}}}, k95, Sampling::Chernoff).value();
  EXPECT_EQ(*mean.value, -1.4);
  EXPECT_EQ(mean.noise.low, -1.0);
  EXPECT_NEAR(mean.noise.high, -1.0 + 0.2 * k95.z(), 1e-12);
  EXPECT_EQ(mean.population->low, -1.0);
  EXPECT_LE(mean.population->high, 1.0);
}

TEST(MeanTest, ChernoffWantsSilosByTheirRecords) {
  const std::vector<SiloMoments> silos{silo(0.1, 0.1, 100, 0.5, 0.01), silo(0.1, 0.1, 300, 0.5, 0.01)};
  EXPECT_FALSE(state_mean(silos, k95, Sampling::Chernoff));
  EXPECT_TRUE(state_mean(silos, k95, Sampling::Automatic));
}

TEST(MeanTest, RefusesWhatIsNoMean) {
  EXPECT_FALSE(state_mean({}, k95, Sampling::None));
  EXPECT_FALSE(state_mean({silo(kUndefined, 0.1, 10, 1.0, 0.1)}, k95, Sampling::None));
  EXPECT_FALSE(state_mean({silo(0.1, kUndefined, 10, 1.0, 0.1)}, k95, Sampling::None));
  EXPECT_FALSE(state_mean({silo(0.1, 0.1, 0, 1.0, 0.1)}, k95, Sampling::None));
  EXPECT_FALSE(state_mean({silo(0.1, 0.1, 10, 0.9, 0.1)}, k95, Sampling::None));
  EXPECT_FALSE(state_mean({silo(0.1, 0.1, 10, 2.0, 0.1), silo(0.1, 0.1, 10, -1.0, 0.1)}, k95, Sampling::None));
}

TEST(MeanTest, InTheUnitOfItsColumn) {
  // u = (x - 50) / 50: -0.3 is 35, a half-width of 0.1 is 5.
  const Stated mean = in_units(Stated{-0.3, 0.05, {-0.4, -0.2}, Interval{-0.5, -0.1}, Method::Score, {}, ""}, 50, 50);
  EXPECT_NEAR(*mean.value, 35.0, 1e-12);
  EXPECT_NEAR(mean.noise.low, 30.0, 1e-12);
  EXPECT_NEAR(mean.population->high, 45.0, 1e-12);
  EXPECT_NEAR(mean.noise_stddev, 2.5, 1e-12);
  const Stated turned = in_units(mean, 0.0, -1.0);
  EXPECT_NEAR(turned.noise.low, -40.0, 1e-12);
}

TEST(VarianceTest, BehindMuchNoiseItIsABox) {
  const Stated variance = state_variance({silo(0.1, 0.3, 30, 1.0, 0.07)}, k95, true).value();
  EXPECT_EQ(variance.method, Method::Box);
  EXPECT_NE(variance.note, "");
  EXPECT_LE(variance.population->low, 0.29);
  EXPECT_GE(variance.population->high, 0.29);
  EXPECT_GE(variance.population->half_width(), variance.noise.half_width());
  // The noise alone: m within 0.1 +- 2.2414 * 0.07 (alpha / 2 each), so that m^2 may be 0, M2 within 0.3 +- 2.2414 *
  // 0.07 / sqrt 2 = 0.3 +- 0.1109; the sample's has n / (n - 1) = 30 / 29 of it: 0.4109 * 30 / 29 = 0.4251.
  EXPECT_NEAR(variance.noise.high, 0.4251, 1e-4);
}

TEST(VarianceTest, FourMomentsAreRefusedBehindMuchNoise) {
  FourMoments moments{1000, {0.1, 0.2, 0.05, 0.08}, {1e-4, 1e-4, 1e-4, 1e-4}};
  const Stated stated = state_variance_by_four_moments(moments, k95, true).value();
  EXPECT_EQ(stated.method, Method::FourMoment);
  EXPECT_NEAR(*stated.value, (0.2 - 0.01 + 1e-4) * 1000.0 / 999.0, 1e-12);
  moments.noise_variances[0] = 0.07 * 0.07;
  const Stated refused = state_variance_by_four_moments(moments, k95, true).value();
  EXPECT_FALSE(refused.value);
  EXPECT_EQ(refused.population->high, 1.0);
  moments.moments[3] = kUndefined;
  EXPECT_FALSE(state_variance_by_four_moments(moments, k95, true));
}

TEST(VarianceTest, RefusesWhatHasNoSquareOrNoSecondRecord) {
  EXPECT_FALSE(state_variance({SiloMoments{200, 1.0, {-0.3, gaussian(0.04)}}}, k95, true));
  EXPECT_FALSE(state_variance({silo(0.1, 0.3, 1, 1.0, 0.01)}, k95, true));
}

TEST(VarianceTest, ItsRootIsTheStandardDeviation) {
  const Stated root = standard_deviation_of(Stated{0.25, 0.02, {-0.1, 0.36}, Interval{0.04, 0.49}, {}, {}, ""});
  EXPECT_EQ(*root.value, 0.5);
  EXPECT_EQ(root.noise.low, 0.0);
  EXPECT_NEAR(root.noise.high, 0.6, 1e-15);
  EXPECT_NEAR(root.population->high, 0.7, 1e-15);
  EXPECT_NEAR(root.noise_stddev, 0.02, 1e-15);  // 0.02 / (2 * 0.5)
}

TEST(DifferenceTest, PointsAreMovedIntoTheirIntervals) {
  const Interval gap = mover_difference({2.0, {0.0, 1.0}}, {0.0, {0.25, 0.5}});
  // a = 1, b = 0.25: 0.75 - hypot(1, 0.25), 0.75 + hypot(0, 0)
  EXPECT_NEAR(gap.low, 0.75 - std::hypot(1.0, 0.25), 1e-15);
  EXPECT_NEAR(gap.high, 0.75, 1e-15);
}

TEST(DifferenceTest, WithoutAValueItIsTrivial) {
  Stated known{0.5, 0.1, {0.3, 0.7}, Interval{0.2, 0.8}, Method::Score, {}, ""};
  Stated refused{std::nullopt, 0.1, {-1.0, 1.0}, Interval{-1.0, 1.0}, {}, {}, "refused"};
  const Stated gap = state_difference(known, refused);
  EXPECT_FALSE(gap.value);
  EXPECT_NEAR(gap.population->low, -0.8, 1e-15);
  EXPECT_NEAR(gap.population->high, 1.8, 1e-15);
}

TEST(GroupMeanTest, OfAGroupThatMayBeEmptyThereIsNone) {
  const NoiseLaw noise = gaussian(10.0);
  for (const double count : {-5.0, 0.0, 39.9}) {
    const Stated mean = state_group_mean({count, 3.0, std::nullopt, noise, noise, 0.0}, k95, true).value();
    EXPECT_FALSE(mean.value) << count;
    EXPECT_EQ(mean.population->low, -1.0);
    EXPECT_EQ(mean.population->high, 1.0);
    EXPECT_NE(mean.note.find("may be empty"), std::string::npos);
  }
  EXPECT_TRUE(state_group_mean({40.1, 3.0, std::nullopt, noise, noise, 0.0}, k95, true)->value);
  EXPECT_FALSE(state_group_mean({kUndefined, 3.0, std::nullopt, noise, noise, 0.0}, k95, true));
}

TEST(GroupMeanTest, SquaresNarrowItWhereTheSpreadIsSmall) {
  const NoiseLaw noise = gaussian(2.0);
  const Stated without = state_group_mean({400.0, 40.0, std::nullopt, noise, noise, 0.0}, k95, true).value();
  const Stated with = state_group_mean({400.0, 40.0, 8.0, noise, noise, 4.0}, k95, true).value();
  EXPECT_LE(with.population->half_width(), 0.55 * without.population->half_width());
  EXPECT_EQ(with.noise.low, without.noise.low);
}

TEST(SiloDifferencesTest, WantsFiveSilosWithVariances) {
  std::vector<SiloEstimate> silos(5, {0.2, 0.01});
  const RandomEffects alike = random_effects(silos, k95).value();
  EXPECT_EQ(alike.between_variance, 0.0);
  EXPECT_NEAR(alike.equality_p_value, 1.0, 1e-12);
  silos.back().variance = 0.0;
  EXPECT_FALSE(random_effects(silos, k95));
  silos.pop_back();
  EXPECT_FALSE(random_effects(silos, k95));
}

}  // namespace
}  // namespace undertone::statistics
