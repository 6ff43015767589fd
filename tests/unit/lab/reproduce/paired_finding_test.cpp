#include "lab/reproduce/paired_finding.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <vector>

namespace undertone::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A's errors are 0, so that B's are the differences.
PairedFinding judged(const std::vector<double>& differences, double margin) {
  RandomSource flips(1);
  return judge_paired(std::vector<double>(differences.size(), 0.0), differences, margin, flips).value();
}

TEST(MeanIntervalTest, IsStudentsOfTheSampleDeviation) {
  // 1, 2, 3, 4: mean 5/2, s^2 = (9/4 + 1/4 + 1/4 + 9/4) / 3 = 5/3, s / sqrt(4) = sqrt(5/12) = 0.645497.
  // t_0.95 with 3 degrees of freedom is 2.35336343480, t_0.975 is 3.18244630528.
  const std::vector<double> values = {1.0, 2.0, 3.0, 4.0};
  const MeanInterval ninety = mean_interval(values, 0.90).value();
  EXPECT_DOUBLE_EQ(ninety.mean, 2.5);
  EXPECT_NEAR(ninety.low, 2.5 - 2.35336343480182 * std::sqrt(5.0 / 12.0), 1e-12);
  EXPECT_NEAR(ninety.high, 2.5 + 2.35336343480182 * std::sqrt(5.0 / 12.0), 1e-12);
  EXPECT_NEAR(mean_interval(values, 0.95)->high, 2.5 + 3.18244630528371 * std::sqrt(5.0 / 12.0), 1e-12);
}

TEST(MeanIntervalTest, TwoValuesHaveOneDegreeOfFreedom) {
  // 0 and 2: mean 1, s = sqrt(2), s / sqrt(2) = 1; the Cauchy quantile at 0.95 is tan(0.45 pi) = 6.31375151468.
  const MeanInterval found = mean_interval(std::vector<double>{0.0, 2.0}, 0.90).value();
  EXPECT_NEAR(found.low, 1.0 - 6.31375151467504, 1e-12);
  EXPECT_NEAR(found.high, 1.0 + 6.31375151467504, 1e-12);
}

TEST(MeanIntervalTest, OneValueSaysNothingOfItsSpread) {
  const MeanInterval found = mean_interval(std::vector<double>{0.25}, 0.90).value();
  EXPECT_EQ(found.mean, 0.25);
  EXPECT_EQ(found.low, -kInfinity);
  EXPECT_EQ(found.high, kInfinity);
}

TEST(MeanIntervalTest, RefusesWhatHasNoInterval) {
  EXPECT_FALSE(mean_interval(std::vector<double>{}, 0.9));
  for (const double bad : {std::nan(""), kInfinity, -kInfinity})
    EXPECT_FALSE(mean_interval(std::vector<double>{1.0, bad}, 0.9));
  for (const double level : {0.0, 1.0, -0.5, std::nan("")})
    EXPECT_FALSE(mean_interval(std::vector<double>{1.0, 2.0}, level));
  EXPECT_FALSE(mean_interval(std::vector<double>{1e308, -1e308}, 0.9));  // finite, their squares are not
}

TEST(MeanIntervalTest, CoversTheMeanAsOftenAsItsLevel) {
  // 20,000 samples of five standard normals (Box and Muller). A share of 0.9 is off by more than 6.1 standard errors of
  // sqrt(0.9 * 0.1 / 20000) = 0.0021 with probability 1e-9; a normal quantile instead of Student's covers 0.82.
  RandomSource source(7);
  constexpr int kSamples = 20'000;
  int covered = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> values(5);
    for (double& value : values) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - source.unit()));
      value = radius * std::cos(6.283185307179586 * source.unit());
    }
    const MeanInterval found = mean_interval(values, 0.90).value();
    covered += found.low <= 0.0 && 0.0 <= found.high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kSamples, 0.90, 0.013);
}

TEST(PairedFindingTest, PValueIsThatOfThePairedTTest) {
  // Differences 1, 2, 3, 4: standard error sqrt(5/12). Margin 0: t = 3.87298, p = 0.0152331458310855 with 3 degrees of
  // freedom. Margin 2: t = 0.774597, p = 0.247512673029855. Margin 5: t = -3.87298.
  const std::vector<double> differences = {1.0, 2.0, 3.0, 4.0};
  EXPECT_NEAR(*judged(differences, 0.0).p_value, 0.0152331458310855, 1e-13);
  EXPECT_NEAR(*judged(differences, 2.0).p_value, 0.247512673029855, 1e-13);
  EXPECT_NEAR(*judged(differences, 5.0).p_value, 0.984766854168915, 1e-13);
}

TEST(PairedFindingTest, VerdictFollowsTheSignificance) {
  const std::vector<double> differences = {1.0, 2.0, 3.0, 4.0};
  EXPECT_EQ(judged(differences, 0.0).verdict, FindingVerdict::Holds);
  EXPECT_EQ(judged(differences, 2.0).verdict, FindingVerdict::Undecided);
  EXPECT_EQ(judged(differences, 5.0).verdict, FindingVerdict::Fails);
  EXPECT_EQ(to_string(FindingVerdict::Fails), "fails");
}

TEST(PairedFindingTest, VerdictIsMadeExactlyWhereTheIntervalExcludesTheMargin) {
  const std::vector<double> differences = {1.0, 2.0, 3.0, 4.0};
  const MeanInterval interval = judged(differences, 0.0).difference;
  EXPECT_EQ(judged(differences, interval.low - 1e-9).verdict, FindingVerdict::Holds);
  EXPECT_EQ(judged(differences, interval.low + 1e-9).verdict, FindingVerdict::Undecided);
  EXPECT_EQ(judged(differences, interval.high - 1e-9).verdict, FindingVerdict::Undecided);
  EXPECT_EQ(judged(differences, interval.high + 1e-9).verdict, FindingVerdict::Fails);
}

TEST(PairedFindingTest, LowerErrorsOfAAreBetter) {
  RandomSource flips(1);
  const std::vector<double> low = {0.10, 0.12, 0.11, 0.09};
  const std::vector<double> high = {0.20, 0.23, 0.21, 0.18};
  const PairedFinding finding = judge_paired(low, high, 0.05, flips).value();
  EXPECT_NEAR(finding.difference.mean, 0.10, 1e-12);  // (0.10 + 0.11 + 0.10 + 0.09) / 4
  EXPECT_EQ(finding.verdict, FindingVerdict::Holds);
  EXPECT_EQ(judge_paired(high, low, 0.0, flips)->verdict, FindingVerdict::Fails);
}

TEST(PairedFindingTest, SignFlipsAreCountedExactly) {
  // Excesses 1, 2, 3, 4, sum 10: only the pattern without a flip reaches it, 1 of 16.
  EXPECT_DOUBLE_EQ(judged({1.0, 2.0, 3.0, 4.0}, 0.0).permutation_p_value, 1.0 / 16.0);
  // -1, 2, 3, sum 4: of the sums 6, 4, 2, 0, 0, -2, -4, -6 two reach it.
  EXPECT_DOUBLE_EQ(judged({-1.0, 2.0, 3.0}, 0.0).permutation_p_value, 2.0 / 8.0);
  // The margin is taken off first: 0, 1, 2, sum 3: a flip of the first changes nothing, 2 of 8.
  EXPECT_DOUBLE_EQ(judged({1.0, 2.0, 3.0}, 1.0).permutation_p_value, 2.0 / 8.0);
  // Everything against the claim: every pattern reaches the least sum.
  EXPECT_DOUBLE_EQ(judged({-1.0, -2.0, -3.0}, 0.0).permutation_p_value, 1.0);
  // 0.1, 0.2, -0.3, sum 0 although 0.1 + 0.2 is not 0.3 in binary: of the sums 0.6, 0.4, 0.2, 0, 0, -0.2, -0.4, -0.6
  // five reach it.
  EXPECT_DOUBLE_EQ(judged({0.1, 0.2, -0.3}, 0.0).permutation_p_value, 5.0 / 8.0);
}

TEST(PairedFindingTest, SixteenSplitsAreStillExact) {
  std::vector<double> differences(16);
  std::iota(differences.begin(), differences.end(), 1.0);
  EXPECT_DOUBLE_EQ(judged(differences, 0.0).permutation_p_value, 1.0 / 65536.0);
}

TEST(PairedFindingTest, DrawnFlipsAgreeWithTheBinomialTail) {
  // 40 differences, 24 of +1 and 16 of -1, sum 8: as many heads or more of 40 fair coins as 24, probability
  // 0.134. The share of 20,000 draws is off by more than 6.2 standard errors of 0.0024 with probability 1e-9.
  std::vector<double> differences(40, 1.0);
  std::fill_n(differences.begin(), 16, -1.0);
  double tail = 0.0;
  for (int heads = 24; heads <= 40; ++heads)
    tail += std::exp(std::lgamma(41.0) - std::lgamma(heads + 1.0) - std::lgamma(41.0 - heads) - 40.0 * std::log(2.0));
  EXPECT_NEAR(judged(differences, 0.0).permutation_p_value, tail, 0.015);
}

TEST(PairedFindingTest, DrawnFlipsAreSeededAndNeverZero) {
  const std::vector<double> differences(70, 1.0);  // all equal: 2^-70
  EXPECT_DOUBLE_EQ(judged(differences, 0.0).permutation_p_value, 1.0 / 20'001.0);
  std::vector<double> uneven(30);
  std::iota(uneven.begin(), uneven.end(), -12.0);
  EXPECT_EQ(judged(uneven, 0.0).permutation_p_value, judged(uneven, 0.0).permutation_p_value);
}

TEST(PairedFindingTest, OneSplitIsUndecidedAndSaysWhy) {
  const PairedFinding finding = judged({0.5}, 0.0);
  EXPECT_EQ(finding.verdict, FindingVerdict::Undecided);
  EXPECT_FALSE(finding.p_value);
  EXPECT_EQ(finding.difference.low, -kInfinity);
  EXPECT_DOUBLE_EQ(finding.permutation_p_value, 0.5);
  EXPECT_EQ(finding.explanation,
            "one split: a difference of 0.5 against a margin of 0, and nothing is known of its spread");
}

TEST(PairedFindingTest, ExplanationHoldsTheNumbers) {
  // Excesses -1, 0, 1, 2, sum 2. Without the 0, which no flip changes: 4, 2, 2, 0, 0, -2, -2, -4, so 3 of 8.
  EXPECT_EQ(judged({1.0, 2.0, 3.0, 4.0}, 2.0).explanation,
            "4 splits: a mean difference of 2.5 against a margin of 2, 90 % interval [0.9809, 4.019], p 0.2475 by the "
            "paired t test and 0.375 by sign flips");
}

TEST(PairedFindingTest, EqualDifferencesAreTheLimitOfTheTest) {
  EXPECT_EQ(judged({0.5, 0.5, 0.5}, 0.2).verdict, FindingVerdict::Holds);
  EXPECT_EQ(judged({0.5, 0.5, 0.5}, 0.7).verdict, FindingVerdict::Fails);
  EXPECT_EQ(judged({0.5, 0.5, 0.5}, 0.5).verdict, FindingVerdict::Undecided);
  // Differences of 0.1 that round apart, at a margin of 0.1.
  RandomSource flips(1);
  const PairedFinding rounded =
      judge_paired(std::vector<double>{0.2, 0.3, 0.7}, std::vector<double>{0.3, 0.4, 0.8}, 0.1, flips).value();
  EXPECT_EQ(rounded.verdict, FindingVerdict::Undecided);
  EXPECT_EQ(rounded.p_value, 0.5);
  EXPECT_EQ(rounded.permutation_p_value, 1.0);
}

TEST(PairedFindingTest, RefusesWhatIsNoPairOfErrors) {
  RandomSource flips(1);
  const std::vector<double> two = {1.0, 2.0};
  EXPECT_FALSE(judge_paired(two, std::vector<double>{1.0}, 0.0, flips));
  EXPECT_FALSE(judge_paired(std::vector<double>{}, std::vector<double>{}, 0.0, flips));
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    EXPECT_FALSE(judge_paired(two, std::vector<double>{1.0, bad}, 0.0, flips));
    EXPECT_FALSE(judge_paired(std::vector<double>{1.0, bad}, two, 0.0, flips));
    EXPECT_FALSE(judge_paired(two, two, bad, flips));
  }
}

TEST(HolmTest, CorrectsAsInTheDefinition) {
  // Sorted 0.01, 0.02, 0.03, 0.04 with factors 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04, made increasing: 0.04, 0.06, 0.06,
  // 0.06.
  const std::vector<double> found = holm(std::vector<double>{0.03, 0.01, 0.04, 0.02}).value();
  const std::vector<double> expected = {0.06, 0.04, 0.06, 0.06};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15);
}

TEST(HolmTest, IsAtMostOneAndLeavesASingleValueAlone) {
  EXPECT_EQ(holm(std::vector<double>{0.03})->front(), 0.03);
  EXPECT_EQ(holm(std::vector<double>{0.7, 0.9}).value(), (std::vector<double>{1.0, 1.0}));
  EXPECT_TRUE(holm(std::vector<double>{})->empty());
}

TEST(HolmTest, RefusesWhatIsNoProbability) {
  for (const double bad : {-0.1, 1.1, std::nan("")}) EXPECT_FALSE(holm(std::vector<double>{0.5, bad}));
}

}  // namespace
}  // namespace undertone::lab
