#include "shared/algorithms/frank_wolfe/frank_wolfe_bounds.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::algorithms {
namespace {

releases::Epsilon epsilon(double value) { return releases::Epsilon::create(value).value(); }
accounting::Rho rho(double value) { return accounting::Rho::create(value).value(); }

/// The LASSO of spec constraint-geometry G2: n = 8000, p = 200.
constexpr FrankWolfeConstants kLasso{4.0, 8.0 / 8000.0, 400};

TEST(FrankWolfeBoundsTest, SelectionsComposeToTheBudget) {
  for (const std::uint64_t questions : {1U, 2U, 63U, 100'000U}) {
    SCOPED_TRACE(questions);
    const auto count = static_cast<double>(questions);
    const double pure = selection_epsilon(epsilon(0.7), questions);
    EXPECT_LE(count * pure, 0.7);
    EXPECT_GE(count * pure, 0.7 * (1.0 - 1e-14));
    const double concentrated = selection_epsilon(rho(0.017), questions);
    EXPECT_LE(count * concentrated * concentrated / 8.0, 0.017);
    EXPECT_GE(count * concentrated * concentrated / 8.0, 0.017 * (1.0 - 1e-14));
  }
}

TEST(FrankWolfeBoundsTest, TheBoundIsAsComputedByHand) {
  // rho = 1/2 over 4 questions: epsilon 1 each. 2 * 4 / 6 + 0.001 ln 400.
  EXPECT_NEAR(frank_wolfe_risk(kLasso, rho(0.5), 5), 8.0 / 6.0 + 1e-3 * std::log(400.0), 1e-12);
  EXPECT_NEAR(frank_wolfe_risk(kLasso, epsilon(2.0), 5), 8.0 / 6.0 + 2e-3 * std::log(400.0), 1e-12);
}

TEST(FrankWolfeBoundsTest, NoNumberOfIteratesHasALowerBound) {
  for (const SelectionBudget& budget : {SelectionBudget(rho(0.01747)), SelectionBudget(rho(1e-9)),
                                        SelectionBudget(epsilon(1.0)), SelectionBudget(epsilon(1e4))}) {
    const std::uint64_t best = best_iterates(kLasso, budget, 1000);
    const double least = frank_wolfe_risk(kLasso, budget, best);
    for (std::uint64_t iterates = 2; iterates <= 1000; ++iterates) {
      EXPECT_GE(frank_wolfe_risk(kLasso, budget, iterates), least) << iterates;
    }
  }
}

TEST(FrankWolfeBoundsTest, TheBestNumberIsThatOfTheFormula) {
  // Spec constraint-geometry 2.5: T = (4 Gamma / (k ln |S|))^(2/3), k = range / sqrt(8 rho) = 0.002675: T = 100.
  EXPECT_NEAR(static_cast<double>(best_iterates(kLasso, rho(0.01747), 10'000)), 100.0, 2.0);
  EXPECT_EQ(best_iterates(kLasso, rho(0.01747), 50), 50U);
  EXPECT_EQ(best_iterates(kLasso, rho(1e-12), 50), 2U);
}

}  // namespace
}  // namespace undertone::algorithms
