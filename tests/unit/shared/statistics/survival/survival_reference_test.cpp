// Reference rows of spec survival 10: computed once by formulas written apart, in Python.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "shared/statistics/survival/log_rank.hpp"
#include "shared/statistics/survival/survival_curve.hpp"
#include "shared/statistics/survival/table_models.hpp"

namespace undertone::statistics {
namespace {

constexpr double kLaplaceVariance = 7.835396;  // of the scale 2, row 1
constexpr double kSixDigits = 2e-6;            // relative: rows are printed to seven

void expect_row(double value, double printed) { EXPECT_NEAR(value, printed, kSixDigits * std::abs(printed)); }
void expect_row(const Eigen::VectorXd& values, const std::vector<double>& printed) {
  ASSERT_EQ(static_cast<std::size_t>(values.size()), printed.size());
  for (std::size_t i = 0; i < printed.size(); ++i) expect_row(values[static_cast<Eigen::Index>(i)], printed[i]);
}

Eigen::VectorXd vector_of(const std::vector<double>& numbers) {
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}
NoiseLaw laplace() { return *NoiseLaw::create({{LaplaceNoise{2.0, 1.0}, 1.0}}); }
NoisedTable raw(const std::vector<double>& cells, double records) {
  return noised_table(vector_of(cells), records, laplace());
}
Confidence confidence() { return *Confidence::create(0.95); }

/// The fixed table of rows 2 to 15.
class FixedTableTest : public testing::Test {
 protected:
  FixedTableTest()
      : table_(balanced(raw({13, 21, 16, 9, 14, 6, 8, 12, 5, 17, 9, 11, 56}, 200))),
        life_(table_, {1, 1, 6, false}, 0, Times::Continuous) {}
  NoisedTable table_;
  LifeTable life_;
};

TEST_F(FixedTableTest, TheNoiseIsThatOfTheLattice) {
  expect_row(table_.noise_variance, kLaplaceVariance);
  expect_row(table_.fourth_cumulant, 192.0157);
}

TEST_F(FixedTableTest, CellsAddUpToTheRecords) {
  expect_row(vector_of({table_.cells[0], table_.cells[6], table_.cells[12]}), {13.23077, 8.230769, 56.23077});
  EXPECT_NEAR(table_.cells.sum(), 200.0, 1e-10);
}

TEST_F(FixedTableTest, NumbersAtRisk) {
  expect_row(life_.entering(), {200, 178.5385, 145.0769, 123.6154, 97.15385, 73.69231});
  expect_row(life_.at_risk(), {195.8846, 172.4231, 142.4615, 115, 92.53846, 68.07692});
  std::vector<double> noise;
  for (std::size_t j = 0; j < 6; ++j) noise.push_back(life_.noise_of_at_risk(j));
  expect_row(vector_of(noise), {1.344682, 3.723254, 4.592962, 4.848318, 4.592962, 3.723254});
  EXPECT_EQ(life_.horizon(), 6U);
}

TEST_F(FixedTableTest, SurvivalWithItsGradient) {
  std::vector<double> survival;
  for (std::size_t j = 1; j <= 6; ++j) survival.push_back(std::exp(log_survival(life_, j).value));
  expect_row(vector_of(survival), {0.9324563, 0.8176413, 0.7244867, 0.6663339, 0.5638636, 0.5122557});
  expect_row(log_survival(life_, 4).gradient,
             {-0.005105046, -0.005429897, -0.005835242, -0.006608896, 0.00284565, 0.00284565, 0.0001848953,
              0.0007769934, 0.001635476, 0.002466203, 0.00284565, 0.00284565, 0.00284565});
}

TEST_F(FixedTableTest, SurvivalWithItsIntervals) {
  const SurvivalPoint point = survival_point(table_, life_, 4, SizeOf::Table, 200);
  expect_row(point.value, 0.6663339);
  expect_row(point.spread.noise, 0.0006335482);
  expect_row(point.spread.sampling, 0.001260871);
  expect_row(point.effective_size, 176.3329);
  const Stated stated = state_survival_point(point, confidence(), true);
  expect_row(stated.population->low, 0.5781759);
  expect_row(stated.population->high, 0.7473768);
  expect_row(corrected_quantile(confidence().z(), point.spread.fourth, point.spread.noise), 1.988115);
  expect_row(stated.noise.low, 0.6162923);
  expect_row(stated.noise.high, 0.7163755);
}

TEST_F(FixedTableTest, TheBracketOfTheGrid) {
  const Interval bracket = grid_bracket(life_, 4);
  expect_row(bracket.high, 0.6761791);
  expect_row(bracket.low, 0.6556047);
}

TEST_F(FixedTableTest, HazardAndRestrictedMean) {
  const TableFunctional hazard = cumulative_hazard(life_, 4);
  const Spread of_hazard = spread_of(table_, hazard.gradient, SizeOf::Table);
  expect_row(vector_of({hazard.value, of_hazard.sampling, of_hazard.noise}), {0.4055511, 0.002822704, 0.001419149});
  const std::vector<double> edges{0, 1, 2, 3, 4, 5, 6};
  const TableFunctional mean = restricted_mean(life_, 4, edges);
  const Spread of_mean = spread_of(table_, mean.gradient, SizeOf::Table);
  expect_row(vector_of({mean.value, of_mean.sampling, of_mean.noise}), {3.307751, 0.006862329, 0.003317972});
}

TEST_F(FixedTableTest, TheMedianLiesBetweenEdges) {
  std::vector<SurvivalPoint> points;
  for (std::size_t j = 1; j <= life_.horizon(); ++j)
    points.push_back(survival_point(table_, life_, j, SizeOf::Table, 200));
  const QuantileEdges median = quantile_edges(points, 0.5, confidence(), true);
  EXPECT_EQ(median.low, 4U);
  EXPECT_FALSE(median.high.has_value());  // the row's 7 is beyond the last edge
  EXPECT_FALSE(median.first.has_value());
}

TEST(SurvivalReferenceTest, IncidenceOfTwoCauses) {
  const NoisedTable table = balanced(raw({8, 12, 9, 4, 8, 3, 5, 9, 7, 5, 6, 3, 8, 12, 5, 17, 9, 11, 59}, 200));
  const LifeTable life(table, {1, 2, 6, false}, 0, Times::Continuous);
  const std::vector<std::vector<double>> rows{{0.1820552, 0.0008296342, 0.0007640647},
                                              {0.1453813, 0.0007011404, 0.0007654207}};
  for (std::size_t cause = 0; cause < 2; ++cause) {
    const TableFunctional found = incidence(life, 4, cause);
    const Spread spread = spread_of(table, found.gradient, SizeOf::Table);
    expect_row(vector_of({found.value, spread.sampling, spread.noise}), rows[cause]);
  }
}

/// 42 remission times of a trial of 6-mercaptopurine, in whole weeks, published in 1963.
std::vector<double> exits(const std::vector<int>& events, const std::vector<int>& censored) {
  std::vector<double> cells(71, 0.0);
  for (const int week : events) cells[static_cast<std::size_t>(week - 1)] += 1.0;
  for (const int week : censored) cells[static_cast<std::size_t>(35 + week - 1)] += 1.0;
  return cells;
}

TEST(SurvivalReferenceTest, WithoutNoiseItIsTheKaplanMeierEstimateWithGreenwoodsVariance) {
  const std::vector<double> treated =
      exits({6, 6, 6, 7, 10, 13, 16, 22, 23}, {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35});
  const std::vector<double> placebo =
      exits({1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23}, {});
  NoisedTable table{vector_of(treated), 21, 0.0, 0.0, false};
  const LifeTable life(table, {1, 1, 35, false}, 0, Times::OnGrid);
  std::vector<double> survival;
  for (const std::size_t week : {6U, 10U, 23U}) survival.push_back(std::exp(log_survival(life, week).value));
  expect_row(vector_of(survival), {0.8571429, 0.7529412, 0.4481793});
  expect_row(std::sqrt(survival_point(table, life, 10, SizeOf::Table, 21).spread.sampling), 0.09634965);

  std::vector<double> both = placebo;
  both.insert(both.end(), treated.begin(), treated.end());
  NoisedTable joint{vector_of(both), 42, 0.0, 0.0, false};
  const Result<TestOutcome> test =
      log_rank(std::vector{joint}, {2, 1, 35, false}, {Times::OnGrid, RankWeight::Equal, 0.0});
  ASSERT_TRUE(test) << test.error().message;
  // The row reads week 23, too, after which nobody of the placebo group is left: there one of one has an event, and
  // one of six.
  EXPECT_EQ(test->horizon, 22U);
  const double excess = test->excess[0] + 1.0 - 2.0 / 7.0;
  const double variance = test->sampling(0, 0) + 2.0 * 5.0 / 6.0 * (1.0 / 7.0) * (6.0 / 7.0);
  expect_row(vector_of({excess, variance, excess * excess / variance}), {10.2505, 6.256961, 16.79294});
}

TEST(SurvivalReferenceTest, LogRankAndProportionalHazards) {
  const NoisedTable table = balanced(
      raw({14, 19, 12, 9, 10, 8, 12, 9, 14, 8, 11, 7, 66, 31, 23, 20, 16, 13, 9, 10, 12, 8, 9, 7, 4, 41}, 400));
  const ExitLayout layout{2, 1, 6, false};
  const Result<TestOutcome> test = log_rank(std::vector{table}, layout, {});
  ASSERT_TRUE(test) << test.error().message;
  expect_row(vector_of({test->excess[0], test->sampling(0, 0), test->noise(0, 0), test->statistic}),
             {-26.11241, 39.87913, 15.3868, -3.512516});
  EXPECT_EQ(test->horizon, 6U);

  Eigen::MatrixXd designs(2, 1);
  designs << 1.0, 0.0;
  const TableModel cox = table_cox(std::vector{table}, layout, designs, Exposure::MidInterval);
  ASSERT_TRUE(cox.carries);
  const TableModel::Coefficient& beta = cox.coefficients.front();
  expect_row(vector_of({beta.value, beta.robust, beta.model, beta.spread.noise, cox.rho}),
             {-0.6183287, 0.02286858, 0.02304779, 0.009447268, 10.28838});
  expect_row(corrected_quantile(confidence().z(), beta.spread.fourth, beta.spread.total()), 1.961178);
}

TEST(SurvivalReferenceTest, LogisticRegressionOfFourPatterns) {
  Eigen::MatrixXd designs(4, 2);
  designs << 0, 0, 1, 0, 0, 1, 1, 1;
  const NoisedTable table = raw({31, 60, 44, 48, 13, 40, 17, 31}, 284);
  const TableModel model = table_logistic(std::vector{table}, designs);
  expect_row(vector_of({model.coefficients[0].value, model.coefficients[1].value, model.coefficients[2].value}),
             {-0.651774, 0.5571087, -0.4901443});
  const TableModel::Coefficient& first = model.coefficients[1];
  expect_row(vector_of({first.robust, first.model, first.spread.noise, model.rho}),
             {0.06252987, 0.06252569, 0.01722635, 1.99546});
  EXPECT_FALSE(model.carries);  // its rho is below 2
  const Stated refused = state_coefficient(model, 1, confidence(), true);
  EXPECT_FALSE(refused.value.has_value());
  EXPECT_TRUE(std::isinf(refused.population->high));
}

}  // namespace
}  // namespace undertone::statistics
