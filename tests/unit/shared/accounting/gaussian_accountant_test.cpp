#include "shared/accounting/gaussian_accountant.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::accounting {
namespace {

releases::GaussianShift shift(double value) { return releases::GaussianShift::create(value).value(); }
releases::Epsilon epsilon(double value) { return releases::Epsilon::create(value).value(); }
releases::Delta delta(double value) { return releases::Delta::create(value).value(); }

// Rows of the reference table (60-digit arithmetic from the definition), 12 significant digits.
struct Calibration {
  double epsilon;
  double delta;
  double stddev_over_sensitivity;
};
constexpr Calibration kCalibrations[] = {
    {0.01, 1e-9, 458.508497497}, {0.1, 1e-5, 30.749566132},    {0.5, 1e-5, 7.03182667558},  {1.0, 1e-5, 3.73063163482},
    {1.0, 1e-6, 4.22467888933},  {1.0, 1e-10, 5.86777774963},  {2.0, 1e-6, 2.23047627119},  {4.0, 1e-5, 1.08116184952},
    {8.0, 1e-5, 0.600229072199}, {10.0, 1e-6, 0.541086831818}, {20.0, 1e-6, 0.309084681219}};

TEST(GaussianAccountantTest, CalibratesToTheReferenceTable) {
  for (const Calibration& row : kCalibrations) {
    SCOPED_TRACE(fmt::format("epsilon {} delta {}", row.epsilon, row.delta));
    const double stddev = 1.0 / gaussian_shift_for(epsilon(row.epsilon), delta(row.delta)).value();
    EXPECT_NEAR(stddev, row.stddev_over_sensitivity, 1e-9 * row.stddev_over_sensitivity);
  }
}

TEST(GaussianAccountantTest, CalibrationNeverExceedsTheTarget) {
  for (const Calibration& row : kCalibrations) {
    EXPECT_LE(log_delta_of_gaussian(row.epsilon, gaussian_shift_for(epsilon(row.epsilon), delta(row.delta))),
              std::log(row.delta));
  }
}

TEST(GaussianAccountantTest, EpsilonMatchesTheReferenceTable) {
  struct Row {
    double stddev;
    double delta;
    double epsilon;
  };
  constexpr Row kRows[] = {{0.5, 1e-5, 9.99725614643},  {1.0, 1e-5, 4.37717809568},   {2.0, 1e-5, 1.99309140442},
                           {5.0, 1e-6, 0.834117548624}, {10.0, 1e-6, 0.396857377644}, {50.0, 1e-8, 0.0915168936442},
                           {1.0, 1e-6, 4.88655411746}};  // the last: 400 rounds at 20, mu = sqrt(400)/20
  for (const Row& row : kRows) {
    const double found = epsilon_of_gaussian(shift(1.0 / row.stddev), delta(row.delta));
    EXPECT_NEAR(found, row.epsilon, 1e-9 * row.epsilon);
    EXPECT_LE(log_delta_of_gaussian(found, shift(1.0 / row.stddev)), std::log(row.delta));
  }
}

TEST(GaussianAccountantTest, DeltaMatchesTheReferenceTable) {
  struct Row {
    double stddev;
    double epsilon;
    double delta;
  };
  constexpr Row kRows[] = {{1.0, 1.0, 0.126936737507},  {1.0, 0.0, 0.382924922548},    {2.0, 3.0, 3.40091173567e-10},
                           {0.3, 10.0, 0.057496922269}, {10.0, 2.0, 3.7194507268e-91}, {1.0, 10.0, 9.81270582685e-23},
                           {39894.2280391, 0.0, 1e-5}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(fmt::format("stddev {} epsilon {}", row.stddev, row.epsilon));
    const double found = log_delta_of_gaussian(row.epsilon, shift(1.0 / row.stddev));
    EXPECT_NEAR(found, std::log(row.delta), 1e-9);
    EXPECT_GE(found, std::log(row.delta) - 1e-11);  // an upper bound, to the digits of the table
  }
}

TEST(GaussianAccountantTest, DeltaGrowsWithTheShiftAndFallsWithEpsilon) {
  for (double mu = 1e-4; mu < 30.0; mu *= 1.7) {
    for (double eps = 0.0; eps < 20.0; eps += 0.7) {
      EXPECT_LE(log_delta_of_gaussian(eps, shift(mu)), log_delta_of_gaussian(eps, shift(1.7 * mu)));
      EXPECT_GE(log_delta_of_gaussian(eps, shift(mu)), log_delta_of_gaussian(eps + 0.7, shift(mu)));
    }
  }
}

TEST(QuantitiesTest, RefuseWhatIsNoQuantity) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_FALSE(releases::Epsilon::create(bad));
    EXPECT_FALSE(releases::GaussianShift::create(bad));
    EXPECT_FALSE(releases::ClipNorm::create(bad));
    EXPECT_FALSE(releases::Delta::create(bad));
  }
  EXPECT_FALSE(releases::Delta::create(1.0));
}

}  // namespace
}  // namespace undertone::accounting
