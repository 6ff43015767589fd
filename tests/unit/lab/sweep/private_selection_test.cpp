#include "lab/sweep/private_selection.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"

namespace undertone::lab {
namespace {

releases::GaussianShift shift(double value) { return releases::GaussianShift::create(value).value(); }
releases::Epsilon epsilon(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta(double value) { return releases::Delta::create(value).value(); }
RunsRule negative_binomial(double shape, double stopping) {
  return NegativeBinomialRuns::create(shape, stopping).value();
}
RunsRule poisson(double mean) { return PoissonRuns::create(mean).value(); }

std::vector<RunsRule> several_rules() {
  return {negative_binomial(1.0, 0.1),
          negative_binomial(0.0, 0.01),
          negative_binomial(-0.5, 0.01),
          negative_binomial(2.0, 0.05),
          negative_binomial(1e-9, 0.2),
          negative_binomial(30.0, 0.5),
          poisson(0.5),
          poisson(10.0)};
}

double epsilon_of_curve(const RunsRule& rule, releases::GaussianShift base, releases::Delta at) {
  return accounting::epsilon_of_renyi(selection_renyi(rule, base), at)->epsilon;
}

TEST(RunsRuleTest, RefusesParametersOutsideTheirRanges) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, -2.0, std::nan(""), infinite}) EXPECT_FALSE(NegativeBinomialRuns::create(bad, 0.5));
  for (const double bad : {0.0, 1.0, -0.1, 1.1, std::nan(""), infinite})
    EXPECT_FALSE(NegativeBinomialRuns::create(1.0, bad));
  for (const double bad : {0.0, -1.0, 1.01 * kRunsMeanMax, std::nan(""), infinite})
    EXPECT_FALSE(PoissonRuns::create(bad));
  EXPECT_FALSE(NegativeBinomialRuns::create(1.0, 0.99 / kRunsMeanMax));  // mean 1 / stopping
  EXPECT_TRUE(NegativeBinomialRuns::create(1.0, 1.01 / kRunsMeanMax));
}

TEST(RunsRuleTest, MeansAreThoseOfTheClosedForms) {
  EXPECT_NEAR(runs_mean(negative_binomial(1.0, 0.1)), 10.0, 1e-13);                     // 1 / g
  EXPECT_NEAR(runs_mean(negative_binomial(0.0, 0.01)), 99.0 / std::log(100.0), 1e-12);  // (1/g - 1) / ln(1/g)
  EXPECT_NEAR(runs_mean(negative_binomial(-0.5, 0.01)), 5.5, 1e-13);              // -0.5 * 0.99 / (0.01 * (1 - 10))
  EXPECT_NEAR(runs_mean(negative_binomial(2.0, 0.05)), 38.0952380952381, 1e-12);  // 2 * 0.95 / (0.05 * 0.9975)
  EXPECT_NEAR(runs_mean(negative_binomial(1e-12, 0.01)), 99.0 / std::log(100.0), 1e-9);  // nothing cancels around 0
  EXPECT_EQ(runs_mean(poisson(7.5)), 7.5);
}

TEST(RunsRuleTest, ProbabilitiesSumToOneAndToTheMean) {
  for (const RunsRule& rule : several_rules()) {
    SCOPED_TRACE(runs_mean(rule));
    double sum = 0.0;
    double mean = 0.0;
    for (std::int64_t k = 0; k < 6000; ++k) {
      sum += runs_probability(rule, k);
      mean += static_cast<double>(k) * runs_probability(rule, k);
    }
    EXPECT_NEAR(sum, 1.0, 1e-10);
    EXPECT_NEAR(mean, runs_mean(rule), 1e-9 * runs_mean(rule));
  }
}

TEST(RunsRuleTest, ProbabilitiesOfFewRunsAreTheDefinition) {
  // Shape 1: g (1 - g)^(k - 1). Shape 0: (1 - g)^k / (k ln(1/g)).
  EXPECT_NEAR(runs_probability(negative_binomial(1.0, 0.25), 3), 0.25 * 0.75 * 0.75, 1e-14);
  EXPECT_NEAR(runs_probability(negative_binomial(0.0, 0.25), 3), 0.75 * 0.75 * 0.75 / (3.0 * std::log(4.0)), 1e-14);
  // Shape 2, g = 1/2: (1/2)^k / (4 - 1) * (2/1)(3/2) at k = 2: 1/4 * 3 / 3.
  EXPECT_NEAR(runs_probability(negative_binomial(2.0, 0.5), 2), 0.25, 1e-14);
  // Shape -1/2, g = 1/4: (3/4)^k / (1/2 - 1) * (-1/2)(1/4) at k = 2: 9/16 * 1/4.
  EXPECT_NEAR(runs_probability(negative_binomial(-0.5, 0.25), 2), 9.0 / 64.0, 1e-14);
  EXPECT_NEAR(runs_probability(poisson(2.0), 3), std::exp(-2.0) * 8.0 / 6.0, 1e-14);
  EXPECT_NEAR(runs_probability(poisson(2.0), 0), std::exp(-2.0), 1e-14);
  EXPECT_EQ(runs_probability(negative_binomial(2.0, 0.5), 0), 0.0);
}

TEST(RunsRuleTest, DrawsFollowTheLaw) {
  // Cells of at least 20 expected draws, the rest together. The threshold is the chi-square quantile of 1e-9 / 8 for
  // each of 8 rules, and a quarter more for cells that are not yet normal. A geometric law whose stopping probability
  // is off by 5 % moves the statistic by 200,000 * 0.05^2 / 0.9 = 555.
  constexpr int kDraws = 200'000;
  RandomSource source(20'220'131);
  for (const RunsRule& rule : several_rules()) {
    SCOPED_TRACE(runs_mean(rule));
    std::vector<double> counts(20'000, 0.0);
    for (int i = 0; i < kDraws; ++i) {
      const std::int64_t runs = draw_runs(source, rule);
      ASSERT_LT(runs, 20'000);
      counts[static_cast<std::size_t>(runs)] += 1.0;
    }
    double chi_square = 0.0;
    double rest_expected = kDraws;
    double rest_counted = kDraws;
    int cells = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const double expected = kDraws * runs_probability(rule, static_cast<std::int64_t>(k));
      if (expected < 20.0) continue;
      chi_square += (counts[k] - expected) * (counts[k] - expected) / expected;
      rest_expected -= expected;
      rest_counted -= counts[k];
      ++cells;
    }
    if (rest_expected > 20.0) {
      chi_square += (rest_counted - rest_expected) * (rest_counted - rest_expected) / rest_expected;
      ++cells;
    }
    const double quantile = 2.0 * boost::math::gamma_q_inv(0.5 * (cells - 1), 1e-9 / 8.0);
    EXPECT_LT(chi_square, 1.25 * quantile);
  }
}

TEST(RunsRuleTest, DrawsStopAtTheCap) {
  // Logarithmic with mean 8e4: more than 10^6 runs have probability E1(0.9) / ln(1/g) = 0.019, so that none of 300
  // draws reaching it has probability 0.003.
  RandomSource source(3);
  std::int64_t most = 0;
  for (int i = 0; i < 300; ++i) most = std::max(most, draw_runs(source, negative_binomial(0.0, 9e-7)));
  EXPECT_EQ(most, kRunsMax);
}

TEST(RunsRuleTest, DrawsOfOneSeedAreTheSame) {
  RandomSource one(5);
  RandomSource other(5);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(draw_runs(one, negative_binomial(0.0, 0.01)), draw_runs(other, negative_binomial(0.0, 0.01)));
}

TEST(PrivateSelectionTest, RenyiBoundIsThatOfTheClosedForm) {
  // Shift s, rho = s^2/2: the penalty is least at b = sqrt(ln(1/g) / rho), where it is (1 + e)(2 sqrt(rho ln(1/g)) -
  // rho). At shape 1, g = 0.1, s = 0.2, order 10: 10 * 0.02 + 2 (2 sqrt(0.02 ln 10) - 0.02) + ln(10) / 9 = 1.2742189...
  const double expected = 0.2 + 2.0 * (2.0 * std::sqrt(0.02 * std::log(10.0)) - 0.02) + std::log(10.0) / 9.0;
  EXPECT_NEAR(selection_renyi(negative_binomial(1.0, 0.1), shift(0.2))(10.0), expected, 1e-9);
  EXPECT_GE(selection_renyi(negative_binomial(1.0, 0.1), shift(0.2))(10.0), expected);
  // A shift so large that b = 1 is best: rho > ln(1/g). Shift 3, g = 0.1, order 2: 9 + 2 ln 10 + ln 10.
  EXPECT_NEAR(selection_renyi(negative_binomial(1.0, 0.1), shift(3.0))(2.0), 9.0 + 3.0 * std::log(10.0), 1e-9);
}

struct Reference {
  RunsRule rule;
  double shift;
  double delta;
  double by_renyi;
  double by_profile;
};
/// 40-digit arithmetic from the formulas of the header, minimised over the orders and x, at order > 1.05.
std::vector<Reference> references() {
  return {{negative_binomial(1.0, 0.1), 0.2, 1e-6, 1.8134671511735, 1.5808840791231},
          {negative_binomial(0.0, 0.01), 0.2, 1e-6, 1.6118279268699, 1.4766769044716},
          {negative_binomial(-0.5, 0.01), 0.1, 1e-5, 0.56561551818899, 0.51375872744269},
          {negative_binomial(2.0, 0.05), 0.5, 1e-5, 5.8516976049639, 5.1384087644899},
          {negative_binomial(1.0, 0.1), 1.0, 1e-5, 8.5134664971089, 7.5108679070701},
          {poisson(10.0), 0.2, 1e-6, 1.6128163542878, 1.728335153447},
          {poisson(10.0), 0.5, 1e-5, 3.9878617087005, 4.2282111638782},
          {poisson(0.5), 0.2, 1e-6, 0.89984963919456, 0.84256188554701},
          {poisson(10.0), 0.1, 1e-5, 0.72155574840046, 0.79563349441153}};
}

TEST(PrivateSelectionTest, CostOfAGaussianBaseMatchesTheReferences) {
  for (const Reference& row : references()) {
    SCOPED_TRACE(row.by_renyi);
    const double by_renyi = epsilon_of_curve(row.rule, shift(row.shift), delta(row.delta));
    const double by_profile = selection_epsilon_by_profile(row.rule, shift(row.shift), delta(row.delta));
    EXPECT_NEAR(by_renyi, row.by_renyi, 1e-7 * row.by_renyi);
    EXPECT_GE(by_renyi, row.by_renyi * (1.0 - 1e-13));
    EXPECT_NEAR(by_profile, row.by_profile, 1e-7 * row.by_profile);
    EXPECT_GE(by_profile, row.by_profile * (1.0 - 1e-13));
    EXPECT_EQ(selection_epsilon(row.rule, shift(row.shift), delta(row.delta)), std::min(by_renyi, by_profile));
  }
}

TEST(PrivateSelectionTest, CostOfACurveMatchesTheReferences) {
  // The negative binomial needs the curve alone. The Poisson rule's delta comes from the curve too, which is dearer
  // than the profile: 20-digit arithmetic over the same table of orders.
  struct Row {
    RunsRule rule;
    double shift;
    double delta;
    double epsilon;
  };
  const std::vector<Row> rows = {{negative_binomial(1.0, 0.1), 0.2, 1e-6, 1.8134671511735},
                                 {negative_binomial(-0.5, 0.01), 0.1, 1e-5, 0.56561551818899},
                                 {poisson(10.0), 0.2, 1e-6, 1.98025025451},
                                 {poisson(10.0), 0.5, 1e-5, 4.91282365049},
                                 {poisson(0.5), 0.2, 1e-6, 0.918338296383}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.epsilon);
    const releases::GaussianShift base = shift(row.shift);
    const accounting::RenyiCurve curve = [base](double order) { return accounting::gaussian_renyi(base, order); };
    EXPECT_NEAR(selection_epsilon(row.rule, curve, delta(row.delta))->epsilon, row.epsilon, 1e-7 * row.epsilon);
  }
}

TEST(PrivateSelectionTest, ASingleRunCostsTheBase) {
  // Both limits of the law start exactly one run: a stopping probability of 1, and a shape of -1.
  const double base = accounting::epsilon_of_renyi(
                          [](double order) { return accounting::gaussian_renyi(shift(0.2), order); }, delta(1e-6))
                          ->epsilon;
  const double exact = accounting::epsilon_of_gaussian(shift(0.2), delta(1e-6));
  for (const RunsRule& rule : {negative_binomial(1.0, 1.0 - 1e-12), negative_binomial(-1.0 + 1e-10, 0.01)}) {
    EXPECT_NEAR(runs_mean(rule), 1.0, 1e-7);
    EXPECT_NEAR(epsilon_of_curve(rule, shift(0.2), delta(1e-6)), base, 1e-7);
    EXPECT_NEAR(selection_epsilon_by_profile(rule, shift(0.2), delta(1e-6)), exact, 1e-7);
    EXPECT_NEAR(selection_cost(rule, epsilon(0.7), 1e-8)->epsilon, 0.7, 1e-7);
    EXPECT_NEAR(selection_cost(rule, epsilon(0.7), 1e-8)->delta, 1e-8, 1e-15);
  }
}

TEST(PrivateSelectionTest, CostGrowsWithTheShiftAndTheRunsAndFallsWithDelta) {
  for (const RunsRule& rule : several_rules()) {
    SCOPED_TRACE(runs_mean(rule));
    for (double mu = 0.01; mu < 3.0; mu *= 2.7) {
      const double here = selection_epsilon(rule, shift(mu), delta(1e-6));
      EXPECT_LT(here, selection_epsilon(rule, shift(1.1 * mu), delta(1e-6)));
      EXPECT_GT(here, selection_epsilon(rule, shift(mu), delta(1e-5)));
      EXPECT_GT(here, accounting::epsilon_of_gaussian(shift(mu), delta(1e-6)) * (1.0 - 1e-9) *
                          (runs_mean(rule) >= 1.0 ? 1.0 : 0.0));
    }
  }
  for (const double shape : {-0.5, 0.0, 1.0, 2.0}) {
    EXPECT_LT(selection_epsilon(negative_binomial(shape, 0.1), shift(0.3), delta(1e-6)),
              selection_epsilon(negative_binomial(shape, 0.05), shift(0.3), delta(1e-6)));
  }
  EXPECT_LT(selection_epsilon(poisson(5.0), shift(0.3), delta(1e-6)),
            selection_epsilon(poisson(10.0), shift(0.3), delta(1e-6)));
}

/// The generating function of the number of runs.
double generating(const RunsRule& rule, double x) {
  if (const auto* runs = std::get_if<PoissonRuns>(&rule)) return std::exp(runs->mean() * (x - 1.0));
  const auto& runs = std::get<NegativeBinomialRuns>(rule);
  const double log_one = -std::log1p(-(1.0 - runs.stopping()) * x);
  const double log_all = -std::log(runs.stopping());
  if (runs.shape() == 0.0) return log_one / log_all;
  return std::expm1(runs.shape() * log_one) / std::expm1(runs.shape() * log_all);
}

/// What selection publishes of a coin: nothing, the worse side, the better side.
std::vector<double> published(const RunsRule& rule, double better) {
  const double none = std::holds_alternative<PoissonRuns>(rule) ? generating(rule, 0.0) : 0.0;
  const double worse = generating(rule, 1.0 - better) - none;
  return {none, worse, 1.0 - none - worse};
}

TEST(PrivateSelectionTest, BoundsHoldForRandomisedResponseExactly) {
  // The base is a coin that tells the better side with probability e^x / (1 + e^x) or 1 / (1 + e^x): both neighbours'
  // laws of the best are known, and so are their divergence at any order and their worst ratio.
  for (const RunsRule& rule : several_rules()) {
    for (const double x : {0.05, 0.3, 1.0, 2.5}) {
      SCOPED_TRACE(fmt::format("mean {} epsilon {}", runs_mean(rule), x));
      const double truth = 1.0 / (1.0 + std::exp(-x));
      const std::vector<double> p = published(rule, truth);
      const std::vector<double> q = published(rule, 1.0 - truth);
      const accounting::RenyiCurve curve =
          selection_renyi(rule, [x](double order) { return accounting::pure_renyi(epsilon(x), order); });
      for (const double order : {1.1, 1.5, 2.0, 4.0, 10.0, 30.0}) {
        double there = 0.0;
        double back = 0.0;
        for (std::size_t i = 0; i < p.size(); ++i) {
          if (p[i] <= 0.0) continue;
          there += std::pow(p[i], order) * std::pow(q[i], 1.0 - order);
          back += std::pow(q[i], order) * std::pow(p[i], 1.0 - order);
        }
        EXPECT_LE(std::log(std::max(there, back)) / (order - 1.0), curve(order) + 1e-12);
      }
      const SelectionCost cost = selection_cost(rule, epsilon(x), 0.0).value();
      EXPECT_EQ(cost.delta, 0.0);
      for (std::size_t i = 0; i < p.size(); ++i) {
        EXPECT_LE(p[i], std::exp(cost.epsilon) * q[i] + 1e-12);
        EXPECT_LE(q[i], std::exp(cost.epsilon) * p[i] + 1e-12);
      }
    }
  }
}

TEST(PrivateSelectionTest, CostOfAnApproximateBaseHoldsForACoinWithACertainTell) {
  // The base is (x, d)-DP: with probability d it shows its data set, best of all under one and worst of all under the
  // other; otherwise randomised response. Outputs in order: tell of the second, lie, truth, tell of the first.
  constexpr double kTell = 1e-3;
  for (const RunsRule& rule : several_rules()) {
    SCOPED_TRACE(runs_mean(rule));
    const double truth = (1.0 - kTell) / (1.0 + std::exp(-0.5));
    const double lie = 1.0 - kTell - truth;
    const double none = std::holds_alternative<PoissonRuns>(rule) ? generating(rule, 0.0) : 0.0;
    const auto law = [&](const std::vector<double>& base) {
      std::vector<double> best{none};
      double below = 0.0;
      for (const double each : base) {
        best.push_back(generating(rule, std::min(1.0, below + each)) - generating(rule, below));
        below += each;
      }
      return best;
    };
    const std::vector<double> p = law({0.0, lie, truth, kTell});
    const std::vector<double> q = law({kTell, truth, lie, 0.0});
    const SelectionCost cost = selection_cost(rule, epsilon(0.5), kTell).value();
    double there = 0.0;
    double back = 0.0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      there += std::max(0.0, p[i] - std::exp(cost.epsilon) * q[i]);
      back += std::max(0.0, q[i] - std::exp(cost.epsilon) * p[i]);
    }
    EXPECT_LE(there, cost.delta + 1e-12);
    EXPECT_LE(back, cost.delta + 1e-12);
    EXPECT_GT(there, 0.1 * cost.delta);  // where one run has told, the best tells too, about mean times as often
  }
}

TEST(PrivateSelectionTest, RandomStoppingOfAPureBaseCostsThreeTimesIt) {
  for (const double stopping : {0.5, 0.1, 1e-3}) {
    const SelectionCost cost = selection_cost(negative_binomial(1.0, stopping), epsilon(0.4), 0.0).value();
    EXPECT_NEAR(cost.epsilon, 1.2, 1e-11);
    EXPECT_EQ(cost.delta, 0.0);
  }
  // A stopping probability above e^-0.4 leaves less: 0.4 + 2 ln(1/0.8).
  EXPECT_NEAR(selection_cost(negative_binomial(1.0, 0.8), epsilon(0.4), 0.0)->epsilon, 0.4 + 2.0 * std::log(1.25),
              1e-11);
  // Shape 0 has twice it; with base delta 1e-4 and g = 0.1 at shape 1: 0.4 + 2 ln(e^0.4 + 9e-4) at 10 * 1e-4.
  EXPECT_NEAR(selection_cost(negative_binomial(0.0, 0.01), epsilon(0.4), 0.0)->epsilon, 0.8, 1e-11);
  const SelectionCost cost = selection_cost(negative_binomial(1.0, 0.1), epsilon(0.4), 1e-4).value();
  EXPECT_NEAR(cost.epsilon, 0.4 + 2.0 * std::log(std::exp(0.4) + 9e-4), 1e-11);
  EXPECT_NEAR(cost.delta, 1e-3, 1e-14);
}

TEST(PrivateSelectionTest, APoissonNumberOfRunsCostsTheVariationOfEach) {
  // x + mean (e^x - 1 + 2 d) / (e^x + 1) at mean d, with x = ln 3, d = 0.01, mean 2: ln 3 + 2 * 2.02 / 4 at 0.02.
  const SelectionCost cost = selection_cost(poisson(2.0), epsilon(std::log(3.0)), 0.01).value();
  EXPECT_NEAR(cost.epsilon, std::log(3.0) + 1.01, 1e-11);
  EXPECT_NEAR(cost.delta, 0.02, 1e-13);
}

TEST(PrivateSelectionTest, RefusesABaseDeltaThatLeavesNoGuarantee) {
  for (const double bad : {-1e-9, 0.1, 1.0, std::nan("")})  // 0.1 * 10 runs on average is no delta
    EXPECT_FALSE(selection_cost(negative_binomial(1.0, 0.1), epsilon(1.0), bad));
}

TEST(PrivateSelectionTest, ACurveThatIsFiniteNowhereHasNoCost) {
  const accounting::RenyiCurve nowhere = [](double) { return std::numeric_limits<double>::infinity(); };
  for (const RunsRule& rule : several_rules()) EXPECT_FALSE(selection_epsilon(rule, nowhere, delta(1e-6)));
}

TEST(PrivateSelectionTest, ACurveThatIsFiniteAtLowOrdersHasACost) {
  const accounting::RenyiCurve low = [](double order) {
    return order < 20.0 ? 0.02 * order : std::numeric_limits<double>::infinity();
  };
  for (const RunsRule& rule : several_rules()) {
    const std::optional<accounting::RenyiEpsilon> found = selection_epsilon(rule, low, delta(1e-6));
    ASSERT_TRUE(found);
    EXPECT_LT(found->order, 20.0);
    EXPECT_GE(found->epsilon, epsilon_of_curve(rule, shift(0.2), delta(1e-6)) * (1.0 - 1e-9));
  }
}

TEST(PrivateSelectionTest, BaseShiftMeetsTheTargetAndNoLargerOneDoes) {
  for (const RunsRule& rule : {negative_binomial(1.0, 0.1), negative_binomial(-0.5, 0.01), poisson(10.0)}) {
    SCOPED_TRACE(runs_mean(rule));
    for (const double target : {0.5, 4.0}) {
      const releases::GaussianShift base = base_shift_for(rule, epsilon(target), delta(1e-6)).value();
      EXPECT_LE(selection_epsilon(rule, base, delta(1e-6)), target);
      EXPECT_GT(selection_epsilon(rule, shift(base.value() * (1.0 + 1e-6)), delta(1e-6)), target);
    }
  }
}

TEST(PrivateSelectionTest, BaseShiftOfAnUnreachableTargetIsAnError) {
  EXPECT_FALSE(base_shift_for(negative_binomial(1.0, 0.1), epsilon(1e-9), delta(1e-9)));
}

}  // namespace
}  // namespace undertone::lab
