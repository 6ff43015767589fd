#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>
#include <vector>

#include "shared/accounting/gaussian_accountant.hpp"
#include "shared/statistics/budget_split.hpp"
#include "shared/statistics/comparisons.hpp"
#include "shared/statistics/correlations.hpp"
#include "shared/statistics/counts.hpp"
#include "shared/statistics/lattice_law.hpp"
#include "shared/statistics/means.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/normal_laplace_law.hpp"
#include "shared/statistics/quantiles.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/silo_differences.hpp"
#include "shared/statistics/tables.hpp"
#include "shared/statistics/variances.hpp"

// The rows of the statistics specification's section 14, by their numbers: delta = 1e-6, intervals at 95 %.
namespace undertone::statistics {
namespace {

using releases::Delta;
using releases::Epsilon;
using releases::GaussianShift;

/// To the six digits of the table: half a unit of the last one, with room for the table's own arithmetic.
void expect_digits(double value, double printed) {
  EXPECT_NEAR(value, printed, 0.6 * std::pow(10.0, std::floor(std::log10(std::abs(printed) + 1e-300)) - 5.0) + 1e-12);
}

const Confidence k95 = Confidence::create(0.95).value();

double shift(double epsilon) {
  return accounting::gaussian_shift_for(Epsilon::create(epsilon).value(), Delta::create(1e-6).value()).value();
}

/// The step of values: the table's Laplace laws are continuous.
constexpr double kFine = 0x1p-24;

NoiseLaw gaussian(double stddev) { return NoiseLaw::create({{GaussianNoise{stddev, 0.0}, 1.0}}).value(); }
NoiseLaw counting(double scale) { return NoiseLaw::create({{LaplaceNoise{scale, 1.0}, 1.0}}).value(); }
NoiseLaw laplace(double scale, double weight) {
  return NoiseLaw::create({{LaplaceNoise{scale / kFine, kFine}, weight}}).value();
}
LatticeLaw lattice(std::vector<double> scales) { return LatticeLaw::create(scales).value(); }

TEST(StatisticsReferenceTest, Rows1And2CalibrateGaussianNoise) {
  expect_digits(shift(0.2), 0.0526626);
  expect_digits(shift(1.0), 0.236704);
  expect_digits(shift(4.0), 0.837859);
  expect_digits(0.2 / (std::numbers::sqrt2 * shift(0.2)), 2.68542);
  expect_digits(1.0 / (std::numbers::sqrt2 * shift(1.0)), 2.9873);
  expect_digits(4.0 / (std::numbers::sqrt2 * shift(4.0)), 3.37578);
}

TEST(StatisticsReferenceTest, Rows3To7AreDiscreteLaplaceLaws) {
  expect_digits(counting(1.0).variance(), 1.84135);
  expect_digits(counting(2.0).variance(), 7.8354);
  expect_digits(counting(0.25).variance(), 0.0380109);
  EXPECT_EQ(lattice({5.0}).half_width(0.05), 15);
  EXPECT_EQ(lattice({2.0}).half_width(0.05), 6);
  EXPECT_EQ(lattice({1.0}).half_width(0.05), 3);
  EXPECT_EQ(lattice({0.25}).half_width(0.05), 0);
  expect_digits(lattice({2.0}).outside(5), 0.0619809);
  expect_digits(lattice({1.0}).outside(3), 0.0267796);
  const LatticeLaw five = lattice({2.0, 2.0, 2.0, 2.0, 2.0});
  EXPECT_EQ(five.half_width(0.05), 13);
  expect_digits(five.outside(13), 0.036853);
  const LatticeLaw mixed = lattice({1.0, 2.0, 4.0});
  EXPECT_EQ(mixed.half_width(0.05), 13);
  expect_digits(mixed.outside(13), 0.0473184);
}

TEST(StatisticsReferenceTest, Row8IsNormalAndLaplace) {
  expect_digits(NormalLaplaceLaw(1.0, {1.0}).half_width(0.05), 3.49513);
  expect_digits(NormalLaplaceLaw(0.01, {1.0}).half_width(0.05), 3.00073);
  expect_digits(NormalLaplaceLaw(4.0, {0.5}).half_width(0.05), 4.16164);
}

TEST(StatisticsReferenceTest, Rows9To13AreShares) {
  const Interval seven = exact_share(7, 30, counting(1.0), 0.05);
  expect_digits(seven.low, 0.0778001);
  expect_digits(seven.high, 0.446619);
  const Interval none = exact_share(-3, 200, counting(1.0), 0.05);
  EXPECT_EQ(none.low, 0.0);
  expect_digits(none.high, 0.0264767);
  const Interval noised = exact_share(25.3, 200, gaussian(1.0 / shift(1.0)), 0.05);
  expect_digits(noised.low, 0.071034);
  expect_digits(noised.high, 0.194268);
  const double stddev = 1.0 / shift(1.0) / 200.0;
  const Interval wilson = wilson_share(0.1265, 200.0, stddev * stddev, k95.z());
  expect_digits(wilson.low, 0.0717839);
  expect_digits(wilson.high, 0.195294);
  const Interval difference = mover_difference({0.12, {0.08, 0.18}}, {0.05, {0.02, 0.11}});
  expect_digits(difference.low, -0.00211103);
  expect_digits(difference.high, 0.137082);
}

TEST(StatisticsReferenceTest, Rows14To16AreMeans) {
  const double noise = 2.0 / shift(1.0) / 200.0;
  const Interval score = score_mean(-0.3, 200.0, gaussian(noise), k95);
  expect_digits(score.low, -0.448969);
  expect_digits(score.high, -0.139724);
  const Interval pure = score_mean(-0.3, 200.0, laplace(2.0, 1.0 / 200.0), k95);
  expect_digits(pure.low, -0.428292);
  expect_digits(pure.high, -0.160404);
  const Interval rigorous = chernoff_mean(-0.3, 200, gaussian(noise), k95);
  expect_digits(rigorous.low, -0.505499);
  EXPECT_NEAR(rigorous.high, -0.0778419, 1e-7);  // the table's is the best of a grid of exponents, and no better
  EXPECT_LE(rigorous.high, -0.0778419);
  const Interval rigorous_pure = chernoff_mean(-0.3, 200, laplace(2.0, 1.0 / 200.0), k95);
  expect_digits(rigorous_pure.low, -0.478397);
  expect_digits(rigorous_pure.high, -0.106711);
}

std::vector<SiloMoments> one_silo(double mean, double square, std::int64_t records, double stddev) {
  return {{records, 1.0, {mean, gaussian(stddev)}, NoisedMean{square, gaussian(stddev / std::numbers::sqrt2)}}};
}

TEST(StatisticsReferenceTest, Rows17And18DecideByTheGate) {
  const auto wide = one_silo(-0.3, 0.2, 200, 2.0 / shift(1.0) / 200.0);
  const MeanVariance variance = mean_variance(wide);
  expect_digits(variance.sample_variance, 0.112347);
  expect_digits(variance.raised * 200.0, 0.166593);
  expect_digits(variance.gate, 0.0690561);
  const Stated mean = state_mean(wide, k95, Sampling::Automatic).value();
  EXPECT_EQ(mean.method, Method::PlugIn);
  expect_digits(mean.population->half_width(), 0.100341);

  const auto small = one_silo(-0.9, 0.84, 30, 2.0 / shift(4.0) / 30.0);
  const MeanVariance refused = mean_variance(small);
  expect_digits(refused.sample_variance, 0.0375838);
  expect_digits(refused.raised * 30.0, 0.276134);
  expect_digits(refused.gate, 0.322492);  // above 0.3: not the plug-in's half-width 0.247924 but the score interval
  EXPECT_EQ(state_mean(small, k95, Sampling::Automatic)->method, Method::Score);
}

TEST(StatisticsReferenceTest, Row19IsAVariance) {
  const Stated variance = state_variance(one_silo(-0.3, 0.2, 2000, 2.0 / shift(1.0) / 2000.0), k95, true).value();
  EXPECT_EQ(variance.method, Method::VarianceScore);
  expect_digits(*variance.value, 0.110073);
  expect_digits(variance.noise_stddev, 0.00391789);
  expect_digits(variance.population->low, 0.0913644);
  expect_digits(variance.population->high, 0.131714);
}

TEST(StatisticsReferenceTest, Row20IsACorrelation) {
  VectorMoments moments;
  moments.records = 5000;
  moments.first = 5000.0 * Eigen::Vector2d(0.1, -0.2);
  moments.second = 5000.0 * (Eigen::Matrix2d() << 0.3, 0.15, 0.15, 0.35).finished();
  moments.first_stddev = std::numbers::sqrt2 * 2.0 / shift(1.0);  // R sigma
  moments.cross_stddev = 2.0 * 2.0 / shift(1.0);                  // R^2 sigma
  const Stated correlation = state_correlation(moments, 0, 1, k95, Shape::NearNormal);
  expect_digits(*correlation.value, 0.566971);
  expect_digits(correlation.noise_stddev, 0.0132299);
  expect_digits(correlation.population->low, 0.534079);
  expect_digits(correlation.population->high, 0.598149);
}

TEST(StatisticsReferenceTest, Row21IsAGroupMean) {
  const NoiseLaw noise = gaussian(2.0 / shift(1.0));
  const Stated mean = state_group_mean({110.0, -30.0, std::nullopt, noise, noise, 0.0}, k95, true).value();
  expect_digits(mean.population->low, -0.506069);
  expect_digits(mean.population->high, -0.0327808);
}

TEST(StatisticsReferenceTest, Rows24To26AreTreesAndProjections) {
  const Eigen::VectorXd variances = 8.0 * tree_prefix_variances(16);  // 2 L = 8 times 1 / mu^2
  expect_digits(variances[0], 4.84286);
  expect_digits(variances[3], 2.81905);
  expect_digits(variances[7], 2.13333);
  expect_digits(variances.maxCoeff(), 6.78571);
  Eigen::VectorXd nodes(6);
  nodes << 6, 5, 2, 3, 1, 3;
  const Eigen::VectorXd leaves = tree_leaves({nodes, 1.0}, 10)->counts;
  expect_digits(leaves[0], 2.25);
  expect_digits(leaves[1], 3.25);
  expect_digits(leaves[2], 1.25);
  expect_digits(leaves[3], 3.25);
  Eigen::VectorXd cells(5);
  cells << 5, -2, 1.5, -0.5, 3;
  const Eigen::VectorXd projected = non_negative(cells, 6)->cells;
  expect_digits(projected[0], 3.83333);
  EXPECT_EQ(projected[1], 0.0);
  expect_digits(projected[2], 0.333333);
  EXPECT_EQ(projected[3], 0.0);
  expect_digits(projected[4], 1.83333);
}

RegressionMoments regression_example() {
  RegressionMoments moments;
  moments.records = 2000;
  moments.gram = (Eigen::Matrix3d() << 2000, 100, -200, 100, 400, 50, -200, 50, 500).finished();
  moments.right = Eigen::Vector3d(150, 120, -60);
  moments.response_square = 90;
  moments.first_stddev = std::sqrt(3.0) * 2.0 / shift(4.0);
  moments.cross_stddev = 3.0 * 2.0 / shift(4.0);
  return moments;
}

TEST(StatisticsReferenceTest, Rows27To30AreARegression) {
  const Regression regression = regress(regression_example());
  EXPECT_EQ(regression.carries, Carries::Enough);
  const double coefficients[] = {0.0465726, 0.304839, -0.131855};
  const double noise[] = {0.00317207, 0.0205162, 0.0164644};
  const double errors[] = {0.00482644, 0.022028, 0.0180002};
  const std::vector<Stated> stated = state_coefficients(regression, 3, k95);
  for (Eigen::Index j = 0; j < 3; ++j) {
    expect_digits(regression.coefficients[j], coefficients[j]);
    expect_digits(stated[static_cast<std::size_t>(j)].noise_stddev, noise[j]);
    expect_digits(stated[static_cast<std::size_t>(j)].population->half_width() / k95.z(), errors[j]);
  }
  expect_digits(regression.residual_variance, 0.01929);
  expect_digits(regression.rho, 25.4131);
  const Eigen::Vector3d guess(0.05, 0.25, -0.1);
  expect_digits(anderson_rubin(regression_example(), guess), 8.60762);
  // The 0.95 quantile of chi-square with 3 degrees of freedom is 7.81473, below the statistic; 0.97's is 8.947.
  EXPECT_FALSE(region_holds(regression_example(), guess, k95));
  EXPECT_TRUE(region_holds(regression_example(), guess, Confidence::create(0.97).value()));
}

TEST(StatisticsReferenceTest, Row31HasSilosAsASample) {
  const std::vector<SiloEstimate> silos{{0.1, 0.01}, {0.3, 0.02}, {0.25, 0.01}, {0.05, 0.005}, {0.4, 0.03}};
  const RandomEffects effects = random_effects(silos, k95).value();
  expect_digits(effects.heterogeneity, 6.4569);
  expect_digits(effects.between_variance, 0.00698529);
  expect_digits(effects.mean, 0.176079);
  expect_digits(effects.interval.half_width(), 0.170466);
}

TEST(StatisticsReferenceTest, Row32IsAMedian) {
  Eigen::VectorXd counts(7);
  counts << 3.1, 11.7, 48.2, 70.4, 88.9, 95.5, 101.3;
  const Eigen::VectorXd variances = Eigen::VectorXd::Constant(7, 16.0);
  const PrefixCounts prefixes{counts, variances};
  const StatedQuantile median = state_quantile(prefixes, 100, 0.5, k95, true).value();
  EXPECT_EQ(median.population->low, 2U);
  EXPECT_EQ(median.population->high, 4U);
  EXPECT_EQ(median.edge, 4U);  // 70.4 is the first prefix of 50 or more
}

TEST(StatisticsReferenceTest, Rows33To35SplitABudget) {
  const double root2 = std::numbers::sqrt2;
  const auto gauss = gaussian_shares(std::vector<QuestionSize>{{1, 1, 1}, {4, 1, 2}, {1, 10, root2}}).value();
  expect_digits(gauss[0], 0.105573);
  expect_digits(gauss[1], 0.422291);
  expect_digits(gauss[2], 0.472136);
  const auto pure = laplace_shares(std::vector<QuestionSize>{{1, 1, 1}, {4, 1, 2}, {1, 10, 2}}).value();
  expect_digits(pure[0], 0.144096);
  expect_digits(pure[1], 0.3631);
  expect_digits(pure[2], 0.492803);
  const auto shifts = gaussian_shifts_for(std::vector<TargetWidth>{{10, 1, 1}, {40, 2, 1}}, 1, k95).value();
  expect_digits(shifts[0], 0.195996);
  expect_digits(shifts[1], 0.0979982);
  expect_digits(joint_shift(shifts), 0.219131);
  const auto whole = GaussianShift::create(joint_shift(shifts)).value();
  expect_digits(accounting::epsilon_of_gaussian(whole, Delta::create(1e-6).value()), 0.920259);
}

}  // namespace
}  // namespace undertone::statistics
