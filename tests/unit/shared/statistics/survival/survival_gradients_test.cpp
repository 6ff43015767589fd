// Gradients of what is computed from a survival table, against central differences.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

#include "shared/statistics/survival/expected_table.hpp"
#include "shared/statistics/survival/log_rank.hpp"
#include "shared/statistics/survival/survival_curve.hpp"
#include "shared/statistics/survival/table_models.hpp"

namespace undertone::statistics {
namespace {

const std::vector<double> kEdges{0.0, 1.0, 2.5, 3.0, 6.0};
constexpr ExitLayout kLayout{3, 2, 4, true};

NoisedTable table() {
  NoisedTable out{expected_cells(kLayout, kEdges, 900.0, {0.4, 0.3}), 900.0, 5.0, 0.0, false};
  std::mt19937_64 random(3);
  for (double& cell : out.cells) cell += static_cast<double>(random() % 1000) / 100.0;  // groups and causes differ
  return out;
}

void expect_gradient(const NoisedTable& at, const Eigen::VectorXd& gradient,
                     const std::function<double(const NoisedTable&)>& value) {
  constexpr double kStep = 1e-4;
  for (Eigen::Index cell = 0; cell < at.cells.size(); ++cell) {
    NoisedTable up = at;
    NoisedTable down = at;
    up.cells[cell] += kStep;
    down.cells[cell] -= kStep;
    const double difference = (value(up) - value(down)) / (2.0 * kStep);
    EXPECT_NEAR(gradient[cell], difference, 1e-6 * std::max(1.0, std::abs(difference))) << "cell " << cell;
  }
}

using Functional = std::function<TableFunctional(const LifeTable&)>;

TEST(SurvivalGradientsTest, OfCurvesHazardsMeansAndIncidences) {
  const std::vector<Functional> functionals{[](const LifeTable& life) { return log_survival(life, 3); },
                                            [](const LifeTable& life) { return cumulative_hazard(life, 4); },
                                            [](const LifeTable& life) { return restricted_mean(life, 4, kEdges); },
                                            [](const LifeTable& life) { return restricted_mean(life, 2, kEdges); },
                                            [](const LifeTable& life) { return incidence(life, 4, 0); },
                                            [](const LifeTable& life) { return incidence(life, 3, 1); }};
  const NoisedTable at = table();
  for (const Times times : {Times::Continuous, Times::OnGrid}) {
    for (const Functional& functional : functionals) {
      const auto of = [&](const NoisedTable& cells) { return functional(LifeTable(cells, kLayout, 1, times)); };
      expect_gradient(at, of(at).gradient, [&](const NoisedTable& cells) { return of(cells).value; });
    }
  }
}

TEST(SurvivalGradientsTest, OfWhoIsLeft) {
  const NoisedTable at = table();
  for (std::size_t ended = 0; ended < 4; ++ended) {
    const LifeTable life(at, kLayout, 2, Times::Continuous);
    expect_gradient(at, life.later_exits(ended), [&](const NoisedTable& cells) {
      return LifeTable(cells, kLayout, 2, Times::Continuous).entering()[static_cast<Eigen::Index>(ended)];
    });
  }
}

/// A test's noise is that of its gradients: two tables whose noise is s^2 and 0 differ by it, in any direction.
TEST(SurvivalGradientsTest, TheNoiseOfATestIsThatOfItsDifferences) {
  for (const RankWeight weight : {RankWeight::Equal, RankWeight::AtRisk}) {
    const NoisedTable at = table();
    const RankTest how{Times::Continuous, weight};
    const Result<TestOutcome> test = log_rank(std::vector{at}, kLayout, how);
    ASSERT_TRUE(test) << test.error().message;
    EXPECT_EQ(test->degrees, 2U);
    Eigen::MatrixXd gradients(at.cells.size(), 2);
    constexpr double kStep = 1e-4;
    for (Eigen::Index cell = 0; cell < at.cells.size(); ++cell) {
      NoisedTable up = at;
      NoisedTable down = at;
      up.cells[cell] += kStep;
      down.cells[cell] -= kStep;
      gradients.row(cell) =
          (log_rank(std::vector{up}, kLayout, how)->excess - log_rank(std::vector{down}, kLayout, how)->excess)
              .transpose() /
          (2.0 * kStep);
    }
    const Eigen::MatrixXd expected = at.noise_variance * gradients.transpose() * gradients;
    EXPECT_LT((test->noise - expected).norm(), 1e-6 * expected.norm());
  }
}

/// The solution moves with a cell as the coefficients' gradients say, so that its noise does.
TEST(SurvivalGradientsTest, TheNoiseOfHazardRatiosIsThatOfTheirDifferences) {
  const NoisedTable at = balanced(table());
  Eigen::MatrixXd designs(3, 2);
  designs << 0, 0, 1, 0, 0, 1;
  const TableModel model = table_cox(std::vector{at}, kLayout, designs);
  ASSERT_TRUE(model.carries);
  constexpr double kStep = 1e-3;
  Eigen::MatrixXd gradients(at.cells.size(), 2);
  for (Eigen::Index cell = 0; cell < at.cells.size(); ++cell) {
    NoisedTable up = at;
    NoisedTable down = at;
    up.cells[cell] += kStep;
    down.cells[cell] -= kStep;
    for (std::size_t p = 0; p < 2; ++p)
      gradients(cell, static_cast<Eigen::Index>(p)) =
          (table_cox(std::vector{up}, kLayout, designs).coefficients[p].value -
           table_cox(std::vector{down}, kLayout, designs).coefficients[p].value) /
          (2.0 * kStep);
  }
  for (std::size_t p = 0; p < 2; ++p) {
    const Eigen::VectorXd own = gradients.col(static_cast<Eigen::Index>(p));
    const double expected = noise_covariance(at, own, own);
    EXPECT_NEAR(model.coefficients[p].spread.noise, expected, 1e-4 * expected);
  }
}

/// A cause's own hazard is that of a table in which who leaves by another cause is censored.
TEST(SurvivalGradientsTest, AHazardRatioOfOneCauseCensorsTheOthers) {
  const NoisedTable at = table();
  Eigen::MatrixXd designs(3, 2);
  designs << 0, 0, 1, 0, 0, 1;
  const ExitLayout one{kLayout.groups, 1, kLayout.intervals, true};
  for (const std::size_t cause : {0U, 1U}) {
    NoisedTable merged{Eigen::VectorXd::Zero(static_cast<Eigen::Index>(one.size())), at.records, at.noise_variance, 0.0,
                       false};
    for (std::size_t g = 0; g < one.groups; ++g) {
      for (std::size_t j = 0; j < one.intervals; ++j) {
        merged.cells[one.event(g, 0, j)] = at.cells[kLayout.event(g, cause, j)];
        merged.cells[one.censored(g, j)] = at.cells[kLayout.censored(g, j)] + at.cells[kLayout.event(g, 1 - cause, j)];
      }
      merged.cells[one.survivor(g)] = at.cells[kLayout.survivor(g)];
      merged.cells[one.unknown(g)] = at.cells[kLayout.unknown(g)];
    }
    const TableModel expected = table_cox(std::vector{merged}, one, designs);
    const TableModel found = table_cox(std::vector{at}, kLayout, designs, Exposure::ConstantHazard, cause);
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_NEAR(found.coefficients[p].value, expected.coefficients[p].value, 1e-9);
      EXPECT_NEAR(found.coefficients[p].robust, expected.coefficients[p].robust, 1e-9);
      EXPECT_NEAR(found.coefficients[p].model, expected.coefficients[p].model, 1e-9);
      EXPECT_GT(found.coefficients[p].spread.noise, expected.coefficients[p].spread.noise);  // of more cells
    }
    for (const Times times : {Times::Continuous, Times::OnGrid}) {
      const LifeTable life(at, kLayout, 1, times, cause);
      EXPECT_NEAR((life.at_risk() - LifeTable(merged, one, 1, times).at_risk()).norm(), 0.0, 1e-9);
      for (std::size_t j = 0; j < one.intervals; ++j) {
        LifePartials partials = life.no_partials();
        partials.at_risk[static_cast<Eigen::Index>(j)] = 1.0;
        const Eigen::VectorXd gradient = life.gradient(partials);
        expect_gradient(at, gradient, [&](const NoisedTable& cells) {
          return LifeTable(cells, kLayout, 1, times, cause).at_risk()[static_cast<Eigen::Index>(j)];
        });
        EXPECT_NEAR(life.noise_of_at_risk(j), std::sqrt(at.noise_variance) * gradient.norm(), 1e-9);
      }
    }
  }
}

TEST(SurvivalGradientsTest, StrataAddUp) {
  const NoisedTable one = balanced(table());
  const Result<TestOutcome> once = log_rank(std::vector{one}, kLayout, {});
  const Result<TestOutcome> twice = log_rank(std::vector{one, one}, kLayout, {});
  ASSERT_TRUE(once && twice);
  EXPECT_NEAR((twice->excess - 2.0 * once->excess).norm(), 0.0, 1e-9);
  EXPECT_NEAR((twice->noise - 2.0 * once->noise).norm(), 0.0, 1e-9);
  EXPECT_NEAR((twice->sampling - 2.0 * once->sampling).norm(), 0.0, 1e-9);
  EXPECT_LT(twice->p_value, once->p_value);
}

}  // namespace
}  // namespace undertone::statistics
