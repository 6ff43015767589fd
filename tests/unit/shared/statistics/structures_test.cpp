#include <Eigen/Dense>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "shared/statistics/budget_split.hpp"
#include "shared/statistics/correlations.hpp"
#include "shared/statistics/mechanism_choice.hpp"
#include "shared/statistics/quantiles.hpp"
#include "shared/statistics/regression.hpp"
#include "shared/statistics/standardising.hpp"
#include "shared/statistics/tables.hpp"

namespace undertone::statistics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Confidence kOfStructures95 = Confidence::create(0.95).value();

Eigen::VectorXd noise(Eigen::Index size, unsigned seed) {
  std::mt19937_64 words(seed);
  Eigen::VectorXd out(size);
  for (double& one : out) one = static_cast<double>(words() >> 40U) / 0x1p20 - 8.0;
  return out;
}

/// argmin ||y - A x||^2 over 1'x = n, and the covariance of x in units of the noise's variance.
struct Dense {
  Eigen::VectorXd x;
  Eigen::MatrixXd covariance;
};
Dense dense(const Eigen::MatrixXd& a, const Eigen::VectorXd& y, const Eigen::MatrixXd& constraints,
            const Eigen::VectorXd& values) {
  const Eigen::Index m = a.cols();
  const Eigen::Index c = constraints.rows();
  Eigen::MatrixXd kkt = Eigen::MatrixXd::Zero(m + c, m + c);
  kkt.topLeftCorner(m, m) = a.transpose() * a;
  kkt.topRightCorner(m, c) = constraints.transpose();
  kkt.bottomLeftCorner(c, m) = constraints;
  const Eigen::MatrixXd inverse = kkt.completeOrthogonalDecomposition().pseudoInverse();
  Eigen::VectorXd right(m + c);
  right << a.transpose() * y, values;
  return {(inverse * right).head(m), inverse.topLeftCorner(m, m)};
}
Eigen::MatrixXd tree_matrix(Eigen::Index leaves) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(2 * leaves - 2, leaves);
  for (Eigen::Index width = 2, row = 0; width <= leaves; width *= 2)
    for (Eigen::Index i = 0; i < width; ++i, ++row)
      out.row(row).segment(i * (leaves / width), leaves / width).setOnes();
  return out;
}

TEST(TreeTest, TwoPassesAreTheLeastSquaresOfTheDenseFormula) {
  for (const Eigen::Index leaves : {2, 4, 8, 64}) {
    SCOPED_TRACE(leaves);
    const Eigen::MatrixXd a = tree_matrix(leaves);
    const Eigen::VectorXd y = noise(2 * leaves - 2, 7);
    const Dense exact = dense(a, y, Eigen::MatrixXd::Ones(1, leaves), Eigen::VectorXd::Constant(1, 100.0));
    const TreeLeaves found = tree_leaves({y, 1.0}, 100).value();
    EXPECT_LE((found.counts - exact.x).lpNorm<Eigen::Infinity>(), 1e-9);
    EXPECT_NEAR(found.counts.sum(), 100.0, 1e-9);
    const Eigen::VectorXd variances = tree_prefix_variances(leaves);
    for (Eigen::Index k = 1; k < leaves; ++k)
      EXPECT_NEAR(variances[k - 1], exact.covariance.topLeftCorner(k, k).sum(), 1e-9) << k;
  }
}

TEST(TreeTest, RefusesWhatIsNoTree) {
  for (const Eigen::Index size : {0, 1, 3, 5, 7}) EXPECT_FALSE(tree_leaves({Eigen::VectorXd::Zero(size), 1.0}, 10));
  EXPECT_FALSE(tree_leaves({Eigen::VectorXd::Constant(6, kNan), 1.0}, 10));
  EXPECT_FALSE(prefixes_of_tree({Eigen::VectorXd::Zero(6), 0.0}, 10));
  EXPECT_FALSE(tree_leaves({Eigen::VectorXd::Zero(6), 1.0}, 0));
}

TEST(QuantileTest, FlatCellsGiveUpTheExcessOfTheirTotal) {
  Eigen::VectorXd cells(4);
  cells << 5, 1, 3, 3;  // 12 of 10 records: half a record too many each
  const PrefixCounts prefixes = prefixes_of_cells(cells, 10, 2.0).value();
  EXPECT_NEAR(prefixes.counts[0], 4.5, 1e-15);
  EXPECT_NEAR(prefixes.counts[1], 5.0, 1e-15);
  EXPECT_NEAR(prefixes.counts[2], 7.5, 1e-15);
  EXPECT_NEAR(prefixes.noise_variances[1], 2.0 * 2.0 * 0.5, 1e-15);  // k (1 - k / m) s^2
  EXPECT_FALSE(prefixes_of_cells(cells.head(1), 10, 2.0));
  EXPECT_FALSE(prefixes_of_cells(cells, 10, 0.0));
  EXPECT_FALSE(prefixes_of_cells(Eigen::VectorXd::Constant(4, kNan), 10, 2.0));
}

TEST(QuantileTest, ThePointIsWhereTheRunningMaximumReachesTheRank) {
  Eigen::VectorXd counts(4);
  counts << 10, 52, 48, 90;
  const PrefixCounts prefixes{counts, Eigen::VectorXd::Constant(4, 1.0)};
  const StatedQuantile median = state_quantile(prefixes, 100, 0.5, kOfStructures95, false).value();
  EXPECT_EQ(median.edge, 2U);
  EXPECT_DOUBLE_EQ(median.within, 40.0 / 42.0);
  // Rank 50: e_1 and no other is below 50 - 1.96; e_4 alone is above 49 + 1.96 from behind (48 is not).
  EXPECT_EQ(median.noise.low, 1U);
  EXPECT_EQ(median.noise.high, 4U);
  EXPECT_FALSE(median.population);
  const StatedQuantile high = state_quantile(prefixes, 100, 0.95, kOfStructures95, false).value();
  EXPECT_EQ(high.edge, 5U);  // no inner edge reaches it
  EXPECT_DOUBLE_EQ(high.within, 0.5);
  EXPECT_DOUBLE_EQ(state_quantile(prefixes, 100, 0.05, kOfStructures95, false)->within, 0.5);  // before the first
  const PrefixCounts negative{Eigen::Vector2d(-3.0, 60.0), Eigen::Vector2d::Ones()};
  EXPECT_DOUBLE_EQ(state_quantile(negative, 100, 0.3, kOfStructures95, false)->within, 0.5);
}

TEST(QuantileTest, RefusesWhatIsNoQuantile) {
  const PrefixCounts prefixes{Eigen::VectorXd::Ones(3), Eigen::VectorXd::Ones(3)};
  for (const double p : {0.0, 1.0, -0.1, kNan})
    EXPECT_FALSE(state_quantile(prefixes, 10, p, kOfStructures95, true)) << p;
  EXPECT_FALSE(state_quantile({Eigen::VectorXd::Ones(3), Eigen::VectorXd::Zero(3)}, 10, 0.5, kOfStructures95, true));
  EXPECT_FALSE(state_quantile({Eigen::VectorXd::Ones(3), Eigen::VectorXd::Ones(2)}, 10, 0.5, kOfStructures95, true));
  EXPECT_FALSE(state_quantile({Eigen::VectorXd(), Eigen::VectorXd()}, 10, 0.5, kOfStructures95, true));
}

TEST(QuantileTest, SelectionsOfFewRecordsHaveNoInterval) {
  // t = 4 ln(4 * 65 / 0.05) / 2000 = 0.01711; z at alpha / 4 is 2.2414, times sqrt(0.25 / 2000) = 0.02506.
  const SelectedRanks ranks = selection_ranks(0.5, 2000, 65, 1.0, kOfStructures95).value();
  EXPECT_NEAR(ranks.high, 0.5 + 0.01711 + 0.02506, 1e-5);
  EXPECT_NEAR(ranks.low + ranks.high, 1.0, 1e-12);
  EXPECT_FALSE(selection_ranks(0.5, 60, 65, 1.0, kOfStructures95));     // t = 0.57
  EXPECT_FALSE(selection_ranks(0.01, 2000, 65, 1.0, kOfStructures95));  // t > p
  EXPECT_FALSE(selection_ranks(0.5, 2000, 65, 0.0, kOfStructures95));
  EXPECT_FALSE(selection_ranks(kNan, 2000, 65, 1.0, kOfStructures95));
}

TEST(TableTest, SharedMarginsAgreeAndAreLeastSquares) {
  // Three 2-way tables of (2, 3, 2) values with unequal noise: the dense least squares over the full table.
  std::vector<Table> tables{
      {{0, 1}, {2, 3}, noise(6, 1), 1.0}, {{0, 2}, {2, 2}, noise(4, 2), 4.0}, {{1, 2}, {3, 2}, noise(6, 3), 0.25}};
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(16, 12);
  for (Eigen::Index i = 0; i < 2; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) {
      for (Eigen::Index k = 0; k < 2; ++k) {
        const Eigen::Index cell = (i * 3 + j) * 2 + k;
        a(i * 3 + j, cell) = a(6 + i * 2 + k, cell) = a(10 + j * 2 + k, cell) = 1.0;
      }
    }
  }
  Eigen::VectorXd y(16);
  y << tables[0].cells, tables[1].cells, tables[2].cells;
  Eigen::VectorXd weights(16);  // 1 / standard deviation
  weights << Eigen::VectorXd::Constant(6, 1.0), Eigen::VectorXd::Constant(4, 0.5), Eigen::VectorXd::Constant(6, 2.0);
  const Eigen::VectorXd exact = a * dense(weights.asDiagonal() * a, weights.cwiseProduct(y),
                                          Eigen::MatrixXd::Ones(1, 12), Eigen::VectorXd::Constant(1, 50.0))
                                        .x;
  const std::vector<Table> fitted = consistent(tables, 50).value();
  Eigen::VectorXd found(16);
  found << fitted[0].cells, fitted[1].cells, fitted[2].cells;
  EXPECT_LE((found - exact).lpNorm<Eigen::Infinity>(), 1e-9);
  const auto gap = [&](std::size_t one, std::size_t other, std::size_t axis) {
    return (marginal(fitted[one], {axis})->cells - marginal(fitted[other], {axis})->cells).lpNorm<Eigen::Infinity>();
  };
  EXPECT_LE(gap(0, 1, 0), 1e-9);
  EXPECT_LE(gap(0, 2, 1), 1e-9);
  EXPECT_LE(gap(1, 2, 2), 1e-9);
  for (const Table& table : fitted) EXPECT_NEAR(table.cells.sum(), 50.0, 1e-9);
}

TEST(TableTest, AMarginalAddsCells) {
  Eigen::VectorXd cells(6);
  cells << 1, 2, 3, 4, 5, 6;
  const Table table{{2, 5}, {2, 3}, cells, 2.0};
  EXPECT_EQ(marginal(table, {2})->cells, Eigen::Vector2d(6, 15));
  EXPECT_EQ(marginal(table, {5})->cells, Eigen::Vector3d(5, 7, 9));
  EXPECT_EQ(marginal(table, {5})->cell_variance, 4.0);
  EXPECT_EQ(marginal(table, {})->cells[0], 21.0);
  EXPECT_FALSE(marginal(table, {1}));
  EXPECT_FALSE(marginal(table, {5, 2}));
}

TEST(TableTest, RefusesTablesThatCannotBe) {
  const Table fine{{0, 1}, {2, 2}, Eigen::VectorXd::Zero(4), 1.0};
  EXPECT_FALSE(consistent({}, 10));
  EXPECT_FALSE(consistent({fine}, 0));
  Table bad = fine;
  bad.axes = {1, 0};
  EXPECT_FALSE(consistent({bad}, 10));
  bad = fine;
  bad.sizes = {2, 3};
  EXPECT_FALSE(consistent({bad}, 10));
  bad = fine;
  bad.cell_variance = 0.0;
  EXPECT_FALSE(consistent({bad}, 10));
  bad = fine;
  bad.cells[1] = kNan;
  EXPECT_FALSE(consistent({bad}, 10));
  EXPECT_FALSE(consistent({fine, Table{{1}, {3}, Eigen::VectorXd::Zero(3), 1.0}}, 10));  // 2 values or 3?
  EXPECT_FALSE(non_negative(Eigen::VectorXd::Constant(3, kNan), 10));
  EXPECT_FALSE(non_negative(Eigen::VectorXd(), 10));
}

TEST(TableTest, TheProjectionMeetsItsOptimalityConditions) {
  const Eigen::VectorXd cells = noise(40, 11);
  const Eigen::VectorXd found = non_negative(cells, 30)->cells;
  EXPECT_NEAR(found.sum(), 30.0, 1e-9);
  // x - y is one constant where x > 0, and at least that where x = 0.
  double shift = 0.0;
  for (Eigen::Index i = 0; i < 40; ++i)
    if (found[i] > 0.0) shift = found[i] - cells[i];
  for (Eigen::Index i = 0; i < 40; ++i) {
    EXPECT_GE(found[i], 0.0);
    if (found[i] > 0.0) {
      EXPECT_NEAR(found[i] - cells[i], shift, 1e-9);
    }
    if (found[i] == 0.0) {
      EXPECT_GE(-cells[i], shift - 1e-9);
    }
  }
}

VectorMoments moments_of(double spread, double noise_stddev) {
  // Three coordinates of 1000 records, uncorrelated, of mean 0 and that mean square.
  Eigen::VectorXd released = Eigen::VectorXd::Zero(9);
  for (const Eigen::Index diagonal : {3, 6, 8}) released[diagonal] = 1000.0 * spread / 3.0 / std::numbers::sqrt2;
  return unpack_moments(released, 1000, noise_stddev).value();
}

TEST(VectorMomentsTest, AreUnpackedFromTheirScale) {
  Eigen::VectorXd released(5);
  released << 3, -1, 2, 0.5, 4;
  const VectorMoments moments = unpack_moments(released, 10, 0.7).value();
  // R = sqrt 2: x times sqrt 2, x_j^2 times 2 sqrt 2, x_j x_k times 2.
  EXPECT_NEAR(moments.first[0], 3.0 * std::numbers::sqrt2, 1e-12);
  EXPECT_NEAR(moments.second(0, 0), 4.0 * std::numbers::sqrt2, 1e-12);
  EXPECT_NEAR(moments.second(0, 1), 1.0, 1e-12);
  EXPECT_NEAR(moments.second(1, 0), 1.0, 1e-12);
  EXPECT_NEAR(moments.second(1, 1), 8.0 * std::numbers::sqrt2, 1e-12);
  EXPECT_NEAR(moments.first_stddev, 0.7 * std::numbers::sqrt2, 1e-12);
  EXPECT_NEAR(moments.cross_stddev, 1.4, 1e-12);
  EXPECT_FALSE(unpack_moments(released.head(4), 10, 0.7));
  EXPECT_FALSE(unpack_moments(released, 0, 0.7));
  EXPECT_FALSE(unpack_moments(released, 10, kNan));
}

TEST(CorrelationTest, IsRefusedBelowThreeStandardDeviations) {
  // Noise of a mean square: sqrt 2 R^2 sigma / n = 4.243e-3 sigma; of 0.2: 3 sds at sigma = 15.7.
  const Stated stated = state_correlation(moments_of(0.2, 15.0), 0, 1, kOfStructures95, Shape::Unknown);
  EXPECT_TRUE(stated.value);
  EXPECT_FALSE(stated.population);  // nobody declared a shape
  EXPECT_NE(stated.note.find("near-normal"), std::string::npos);
  const Stated refused = state_correlation(moments_of(0.2, 17.0), 0, 1, kOfStructures95, Shape::NearNormal);
  EXPECT_FALSE(refused.value);
  EXPECT_EQ(refused.noise.low, -1.0);
  EXPECT_EQ(refused.population->high, 1.0);
  EXPECT_NE(refused.note.find("refused"), std::string::npos);
}

TEST(CorrelationTest, AnIndefiniteMatrixHasANearestOne) {
  const Eigen::Matrix2d indefinite = (Eigen::Matrix2d() << 1, 2, 2, 1).finished();  // eigenvalues 3 and -1
  const Eigen::MatrixXd nearest = nearest_semidefinite(indefinite);
  EXPECT_NEAR(nearest(0, 0), 1.5, 1e-12);
  EXPECT_NEAR(nearest(0, 1), 1.5, 1e-12);
}

TEST(RegressionTest, IsRefusedWhereTheNoiseIsAsLargeAsTheMatrix) {
  // Centred Gram 200 I; rho = 200 / (3 sigma sqrt(2 * 2)) = 33.3 / sigma.
  const auto carried = [](double sigma) {
    return regress(regression_moments(moments_of(0.2, sigma), {0, 1}, 2).value());
  };
  EXPECT_EQ(carried(8.0).carries, Carries::Enough);
  EXPECT_EQ(carried(10.0).carries, Carries::Barely);
  EXPECT_NEAR(carried(10.0).rho, 200.0 / 60.0, 1e-9);
  EXPECT_EQ(carried(17.0).carries, Carries::Nothing);
  for (const Stated& stated : state_coefficients(carried(17.0), 3, kOfStructures95)) {
    EXPECT_FALSE(stated.value);
    EXPECT_EQ(stated.noise.high, HUGE_VAL);
    EXPECT_NE(stated.note.find("does not carry"), std::string::npos);
  }
  EXPECT_NE(state_coefficients(carried(10.0), 3, kOfStructures95)[1].note.find("flagged"), std::string::npos);
  // A Gram matrix that noise made indefinite has rho < 0.
  EXPECT_EQ(regress(regression_moments(moments_of(-0.2, 8.0), {0, 1}, 2).value()).carries, Carries::Nothing);
}

TEST(RegressionTest, CoefficientsInColumnUnits) {
  Regression regression;
  regression.carries = Carries::Enough;
  regression.coefficients = Eigen::Vector2d(0.5, 2.0);
  regression.noise_covariance = Eigen::Vector2d(0.01, 0.04).asDiagonal();
  regression.covariance = regression.noise_covariance;
  regression.residual_variance = 0.25;
  // x = 30 + 10 u, y = 100 + 20 v: slope 2 * 20 / 10 = 4, intercept 100 + 20 * 0.5 - 4 * 30 = -10.
  const Regression scaled = in_column_units(regression, {{30.0, 10.0}}, {100.0, 20.0});
  EXPECT_NEAR(scaled.coefficients[0], -10.0, 1e-12);
  EXPECT_NEAR(scaled.coefficients[1], 4.0, 1e-12);
  EXPECT_NEAR(scaled.covariance(1, 1), 0.04 * 4.0, 1e-12);
  EXPECT_NEAR(scaled.covariance(0, 0), 400.0 * 0.01 + 3600.0 * 0.04, 1e-12);
  EXPECT_NEAR(scaled.covariance(0, 1), -30.0 * 4.0 * 0.04, 1e-12);
  EXPECT_NEAR(scaled.residual_variance, 100.0, 1e-12);
}

TEST(RegressionTest, ARidgeKeepsPredictionsFinite) {
  const RegressionMoments weak = regression_moments(moments_of(-0.2, 8.0), {0, 1}, 2).value();
  EXPECT_TRUE(ridge_for_prediction(weak).allFinite());
  EXPECT_FALSE(regression_moments(moments_of(0.2, 8.0), {}, 2));
  EXPECT_FALSE(regression_moments(moments_of(0.2, 8.0), {0, 0}, 2));
  EXPECT_FALSE(regression_moments(moments_of(0.2, 8.0), {0, 2}, 2));
  EXPECT_FALSE(regression_moments(moments_of(0.2, 8.0), {0, 3}, 2));
}

TEST(BudgetSplitTest, ALaplaceTargetIsMetAndHardlyMore) {
  const std::vector<TargetWidth> targets{{6.0, 1.0, 1.0}, {0.5, 2.0, 0x1p-20}};
  for (const std::int64_t silos : {std::int64_t{1}, std::int64_t{5}}) {
    const std::vector<double> epsilons = laplace_epsilons_for(targets, silos, kOfStructures95).value();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      SCOPED_TRACE(testing::Message() << silos << " silos, question " << i);
      const auto width = [&](double epsilon) {
        const PairwiseBound bound{targets[i].sensitivity, targets[i].sensitivity};
        const auto noise_there = laplace_noise(bound, releases::Epsilon::create(epsilon).value(), targets[i].step);
        return expected_half_width(noise_there, silos, kOfStructures95).value();
      };
      EXPECT_LE(width(epsilons[i]), targets[i].half_width);
      EXPECT_GT(width(epsilons[i] * (1.0 - 1e-5)), targets[i].half_width);
    }
  }
  // One count, k = 6: 2 q^7 / (1 + q) = 0.05 has q = 0.63324, epsilon = 0.45690.
  EXPECT_NEAR(laplace_epsilons_for({&targets[0], 1}, 1, kOfStructures95).value()[0], 0.45690, 2e-5);
}

TEST(BudgetSplitTest, RefusesWhatCannotBeSplit) {
  EXPECT_FALSE(gaussian_shares({}));
  for (const double bad : {0.0, -1.0, kNan, HUGE_VAL}) {
    EXPECT_FALSE(gaussian_shares(std::vector<QuestionSize>{{bad, 1, 1.0}})) << bad;
    EXPECT_FALSE(laplace_shares(std::vector<QuestionSize>{{1.0, 1, bad}})) << bad;
    EXPECT_FALSE(gaussian_shifts_for(std::vector<TargetWidth>{{bad, 1.0, 1.0}}, 1, kOfStructures95)) << bad;
    EXPECT_FALSE(laplace_epsilons_for(std::vector<TargetWidth>{{1.0, bad, 1.0}}, 1, kOfStructures95)) << bad;
  }
  EXPECT_FALSE(gaussian_shares(std::vector<QuestionSize>{{1.0, 0, 1.0}}));
  EXPECT_FALSE(
      laplace_epsilons_for(std::vector<TargetWidth>{{1e-6, 1.0, 0x1p-20}}, 1, kOfStructures95));  // out of reach
}

TEST(NoiseChoiceTest, OneHistogramIsLaplaceAndATreeIsGaussian) {
  const auto epsilon = releases::Epsilon::create(1.0).value();
  const auto delta = releases::Delta::create(1e-6).value();
  const auto kind = [&](const FeatureMap& map) { return choose_noise(pairwise_bound(map), epsilon, delta, 1.0)->kind; };
  EXPECT_EQ(kind(CellsMap{{ClassCells{0, 8}}}), NoiseKind::Laplace);
  // The threshold on Delta_1 / Delta_2 is 2.99: sqrt(2 L) is 2.83 at L = 4, 3.16 at L = 5.
  const auto tree = [](std::size_t leaves) {
    TreeMap map;
    for (std::size_t i = 0; i <= leaves; ++i) map.leaves.edges.push_back(static_cast<double>(i));
    return map;
  };
  EXPECT_EQ(kind(tree(16)), NoiseKind::Laplace);
  EXPECT_EQ(kind(tree(32)), NoiseKind::Gaussian);
  EXPECT_EQ(choose_noise(pairwise_bound(tree(32)), epsilon, std::nullopt, 1.0)->kind, NoiseKind::Laplace);
  EXPECT_FALSE(choose_noise({0.0, 2.0}, epsilon, std::nullopt, 1.0));
  // A count at epsilon 1: 1.36 against 4.22.
  const NoiseChoice count = choose_noise({1.0, 1.0}, epsilon, delta, 1.0).value();
  EXPECT_NEAR(*count.laplace_stddev, 1.357, 1e-3);
  EXPECT_NEAR(*count.gaussian_stddev, 4.225, 1e-3);
}

TEST(StandardisingTest, VariancesHaveAFloor) {
  const Eigen::Vector2d first(0.1, -1.4);
  const Eigen::Vector2d second(0.3, 0.1);
  const PaidStandardisation paid = standardisation_from_moments(first, second, 0.01).value();
  EXPECT_NEAR(paid.mean[1], -1.0, 0.0);
  EXPECT_NEAR(paid.scale[0], std::sqrt(0.3 - 0.01 + 0.0001), 1e-12);
  EXPECT_NEAR(paid.scale[1], std::sqrt(0.024), 1e-12);  // max(0.02, 2.4 * 0.01)
  EXPECT_NEAR(paid.clip_radius, 1.3 * std::sqrt(3.0), 1e-12);
  EXPECT_FALSE(standardisation_from_moments(first, second.head(1), 0.01));
  EXPECT_FALSE(standardisation_from_moments(first, second, 0.0));
}

TEST(StandardisingTest, ItsShareFollowsTheNoiseOfAMean) {
  // kappa 10, d 5, n 5000, mu 0.128: r = 2 sqrt 5 * 10 / (0.128 * 5000) = 0.0699, 20 r^2 = 0.0977.
  const StandardisationShare share = standardisation_share(5, 10.0, 0.128, 5000).value();
  EXPECT_NEAR(share.noise_ratio, 0.06988, 1e-4);
  EXPECT_NEAR(share.share, 0.0977, 1e-3);
  EXPECT_EQ(standardisation_share(20, 3.0, 0.128, 500)->share, 0.0);  // r = 0.42 > kappa / 10
  EXPECT_EQ(standardisation_share(5, 3.0, 5.0, 5000)->share, 0.02);
  EXPECT_FALSE(standardisation_share(0, 3.0, 5.0, 5000));
  EXPECT_FALSE(standardisation_share(5, kNan, 5.0, 5000));
}

}  // namespace
}  // namespace undertone::statistics
