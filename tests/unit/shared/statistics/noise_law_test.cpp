#include "shared/statistics/noise_law.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <vector>

namespace undertone::statistics {
namespace {

double mass(double scale, int k) {
  return std::tanh(0.5 / scale) * std::exp(-std::abs(k) / scale);  // (1 - q) / (1 + q) q^|k|
}

/// P[|sum_i weight_i Z_i| > width] by counting out a square of 2 x 400 integers.
double counted_outside(double scale_a, double weight_a, double scale_b, double weight_b, double width) {
  double sum = 0.0;
  for (int a = -400; a <= 400; ++a)
    for (int b = -400; b <= 400; ++b)
      if (std::abs(weight_a * a + weight_b * b) > width * (1.0 + 1e-12)) sum += mass(scale_a, a) * mass(scale_b, b);
  return sum;
}

NoiseLaw laplace_sum(const std::vector<double>& scales, double step) {
  std::vector<NoiseTerm> terms;
  for (const double scale : scales) terms.push_back({LaplaceNoise{scale, step}, 1.0});
  return NoiseLaw::create(terms).value();
}

TEST(LatticeLawTest, AgreesWithCountingOut) {
  for (const auto& [a, b] : std::vector<std::pair<double, double>>{{1.0, 1.0}, {0.25, 4.0}, {8.0, 2.0}}) {
    const LatticeLaw law = LatticeLaw::create(std::vector<double>{a, b}).value();
    for (const int k : {0, 1, 5, 20, 60}) {
      SCOPED_TRACE(testing::Message() << a << " and " << b << " at " << k);
      const double counted = counted_outside(a, 1.0, b, 1.0, k);
      EXPECT_GE(law.outside(k), counted * (1.0 - 1e-12));
      EXPECT_LE(law.outside(k), counted * (1.0 + 2e-9) + 1e-11);
    }
  }
}

TEST(LatticeLawTest, BothSidesTogetherAreEverything) {
  for (const std::vector<double>& scales : std::vector<std::vector<double>>{{3.0}, {3.0, 3.0, 1.0}}) {
    const LatticeLaw law = LatticeLaw::create(scales).value();
    for (const int k : {-30, -2, -1, 0, 1, 7}) {
      // P[Z <= k] + P[Z <= -k - 1] = 1, each rounded up.
      EXPECT_GE(law.at_most(k) + law.at_most(-k - 1), 1.0 - 1e-15);
      EXPECT_LE(law.at_most(k) + law.at_most(-k - 1), 1.0 + 1e-8);
    }
  }
}

TEST(LatticeLawTest, HasNoTableOfNoiseThatIsTooLarge) {
  EXPECT_TRUE(LatticeLaw::create(std::vector<double>{1e9}));  // one alone needs none
  EXPECT_FALSE(LatticeLaw::create(std::vector<double>{1e9, 1.0}));
}

TEST(NormalLaplaceLawTest, TwoEqualOnesHaveAClosedForm) {
  // P[|L + L'| > w] = (1 + w / (2 b)) e^(-w / b).
  const NormalLaplaceLaw law(0.0, {2.0, 2.0});
  for (const double w : {0.0, 0.5, 3.0, 8.0, 40.0}) {
    const double exact = (1.0 + w / 4.0) * std::exp(-w / 2.0);
    EXPECT_GE(law.outside(w), exact - 1e-13) << w;
    EXPECT_LE(law.outside(w), exact + 1e-9) << w;
  }
  const double half = law.half_width(0.05);
  EXPECT_NEAR((1.0 + half / 4.0) * std::exp(-half / 2.0), 0.05, 1e-9);
}

TEST(NormalLaplaceLawTest, TheInversionMeetsTheClosedFormsBesideIt) {
  // A third variable of a millionth of the width changes nothing that could be seen.
  const NormalLaplaceLaw closed(1.0, {1.0});
  const NormalLaplaceLaw inverted(1.0, {1.0, 1e-4});
  for (const double w : {0.1, 1.0, 3.0, 9.0}) EXPECT_NEAR(closed.outside(w), inverted.outside(w), 2e-8) << w;
  EXPECT_NEAR(NormalLaplaceLaw(4.0, {}).half_width(0.05), 2.0 * 1.959963984540054, 1e-9);
  EXPECT_NEAR(NormalLaplaceLaw(0.0, {2.0}).half_width(0.05), 2.0 * std::log(20.0), 1e-12);
}

TEST(NoiseLawTest, SumsOfLaplaceNoiseHaveTheSpecifiedWidths) {
  // In units of b at 95 %: 2.996, 4.113, 6.333 of 1, 2 and 5 silos; a normal law says 2.772, 3.920, 6.198.
  const double widths[] = {2.996, 4.113, 6.333};
  const int silos[] = {1, 2, 5};
  for (int i = 0; i < 3; ++i) {
    const NoiseLaw tabled = laplace_sum(std::vector<double>(static_cast<std::size_t>(silos[i]), 500.0), 1.0);
    const NoiseLaw fine = laplace_sum(std::vector<double>(static_cast<std::size_t>(silos[i]), 0x1p21), 0x1p-20);
    EXPECT_TRUE(tabled.lattice_step());
    EXPECT_EQ(fine.lattice_step().has_value(), silos[i] == 1);  // no table of that size
    EXPECT_NEAR(tabled.half_width(0.05) / 500.0, widths[i], 0.003);
    EXPECT_NEAR(fine.half_width(0.05) / 2.0, widths[i], 0.001);
  }
}

TEST(NoiseLawTest, UnequalWeightsAreCoveredAndNotMuchMore) {
  const double weight = std::sqrt(2.0);
  for (const double scale : {1.0, 3.0, 12.0}) {
    SCOPED_TRACE(scale);
    const NoiseLaw law =
        NoiseLaw::create({{LaplaceNoise{scale, 1.0}, 1.0}, {LaplaceNoise{scale, 1.0}, -weight}}).value();
    EXPECT_FALSE(law.lattice_step());
    for (const double width : {0.5, 1.0, 2.5, 7.0, 20.0, 41.3})
      EXPECT_GE(law.outside(width), counted_outside(scale, 1.0, scale, weight, width)) << width;
    const double half = law.half_width(0.05);
    EXPECT_LE(counted_outside(scale, 1.0, scale, weight, half), 0.05);
    // What it costs: (1 + sqrt 2) / 2 of rounding beside some 5 b sqrt(3) / sqrt(2).
    EXPECT_GE(counted_outside(scale, 1.0, scale, weight, half - 2.0 * 1.21 - 0.1 * scale), 0.05);
  }
}

TEST(NoiseLawTest, RoundedGaussianNoiseIsHalfAStepWider) {
  const NoiseLaw law = NoiseLaw::create({{GaussianNoise{3.0, 0.5}, 2.0}, {GaussianNoise{4.0, 0.5}, -2.0}}).value();
  // sqrt(36 + 64) z + (2 + 2) 0.5 / 2
  EXPECT_NEAR(law.half_width(0.05), 10.0 * 1.959963984540054 + 1.0, 1e-9);
  EXPECT_NEAR(law.variance(), 100.0 + 8.0 * 0.25 / 12.0, 1e-12);
  EXPECT_EQ(law.excess_kurtosis(), 0.0);
  EXPECT_TRUE(law.is_gaussian());
}

TEST(NoiseLawTest, MixedNoiseOfSilosIsOneLaw) {
  const NoiseLaw law = NoiseLaw::create({{GaussianNoise{1.0, 0.0}, 1.0}, {LaplaceNoise{0x1p20, 0x1p-20}, 1.0}}).value();
  EXPECT_FALSE(law.is_gaussian());
  EXPECT_NEAR(law.half_width(0.05), 3.49513, 1e-5);  // N(0, 1) + Laplace(1)
}

TEST(NoiseLawTest, ItsSumScalesItsTerms) {
  const NoiseLaw one = laplace_sum({2.0}, 1.0);
  const NoiseLaw mean = NoiseLaw::sum({{one, 0.25}, {one, 0.25}}).value();
  EXPECT_NEAR(mean.variance(), 2.0 * one.variance() / 16.0, 1e-12);
  ASSERT_TRUE(mean.lattice_step());
  EXPECT_EQ(*mean.lattice_step(), 0.25);
  EXPECT_EQ(mean.half_width(0.05),
            0.25 * static_cast<double>(LatticeLaw::create(std::vector<double>{2.0, 2.0})->half_width(0.05)));
  EXPECT_EQ(mean.outside(0.25 * 3), LatticeLaw::create(std::vector<double>{2.0, 2.0})->outside(3));
}

TEST(NoiseLawTest, RefusesWhatIsNoNoise) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(NoiseLaw::create({}));
  EXPECT_FALSE(NoiseLaw::create(std::vector<NoiseTerm>(NoiseLaw::kTermsMax + 1, {GaussianNoise{1.0, 0.0}, 1.0})));
  for (const double bad : {0.0, -1.0, nan, HUGE_VAL}) {
    EXPECT_FALSE(NoiseLaw::create({{LaplaceNoise{bad, 1.0}, 1.0}})) << bad;
    EXPECT_FALSE(NoiseLaw::create({{LaplaceNoise{1.0, bad}, 1.0}})) << bad;
    EXPECT_FALSE(NoiseLaw::create({{GaussianNoise{bad, 0.0}, 1.0}})) << bad;
  }
  for (const double bad : {-1.0, nan, HUGE_VAL})
    EXPECT_FALSE(NoiseLaw::create({{GaussianNoise{1.0, bad}, 1.0}})) << bad;
  for (const double bad : {0.0, nan, HUGE_VAL}) EXPECT_FALSE(NoiseLaw::create({{GaussianNoise{1.0, 0.0}, bad}})) << bad;
}

}  // namespace
}  // namespace undertone::statistics
