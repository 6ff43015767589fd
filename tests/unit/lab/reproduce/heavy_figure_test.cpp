#include "lab/reproduce/heavy_figure.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "lab/reproduce/costs_figure.hpp"
#include "shared/accounting/gaussian_accountant.hpp"
#include "tests/unit/lab/reproduce/twice_alike.hpp"

namespace undertone::lab {
namespace {

constexpr std::size_t kRecords = 4000;
constexpr std::size_t kDimension = 6;

/// Where a record is wild as a whole, along one direction of equal coordinates, cutting coordinates is clipping norms.
TEST(HeavyFigureTest, CoordinatesAreNormsWhereAllOfThemAreAlike) {
  const double by_norm =
      heavy_mean(HeavyLaw::Together, HeavyOracle::Norm, 2.0, kRecords, kDimension, 1.0, 3).value().error;
  const double by_coordinate =
      heavy_mean(HeavyLaw::Together, HeavyOracle::Coordinates, 2.0, kRecords, kDimension, 1.0, 3).value().error;
  EXPECT_NEAR(by_coordinate / by_norm, 1.0, 1e-3);
}

TEST(HeavyFigureTest, EveryOraclesErrorFallsWithEpsilon) {
  for (const HeavyLaw law : {HeavyLaw::Together, HeavyLaw::Apart})
    for (const HeavyOracle oracle :
         {HeavyOracle::Norm, HeavyOracle::Coordinates, HeavyOracle::Smooth, HeavyOracle::Groups}) {
      double less = 0.0;
      double more = 0.0;
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const HeavyMean tight = heavy_mean(law, oracle, 4.0, kRecords, kDimension, 0.1, seed).value();
        const HeavyMean loose = heavy_mean(law, oracle, 4.0, kRecords, kDimension, 4.0, seed).value();
        EXPECT_GT(loose.signal, tight.signal);
        less += loose.error;
        more += tight.error;
      }
      EXPECT_LT(less, more) << to_string(law) << ", " << to_string(oracle);
    }
}

/// The bound of Theorem 58's instance is r^2 where nothing can be learned, and what is reached is above its private
/// term.
TEST(HeavyFigureTest, TheHardBoundIsTheWholeRangeWhereTheSignalIsLost) {
  EXPECT_DOUBLE_EQ(hard_bound(4.0, 3.0, 16.0, 1.0), 9.0);
  EXPECT_DOUBLE_EQ(hard_bound(2.0, 3.0, 16.0, 400.0), 9.0 * 0.01);
  double excess = 0.0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    excess += hard_mean(2.0, kRecords, kDimension, 1.0, seed).value().excess / 8.0;
  const HeavyMean one = hard_mean(2.0, kRecords, kDimension, 1.0, 1).value();
  const double shift =
      accounting::gaussian_shift_for(*releases::Epsilon::create(1.0), *releases::Delta::create(1e-5)).value();
  EXPECT_DOUBLE_EQ(one.signal, shift * kRecords);
  const double bound = hard_bound(2.0, std::sqrt(static_cast<double>(kDimension)), kDimension, one.signal);
  EXPECT_GT(excess, bound);
  EXPECT_LT(excess, 4.0 * bound);
}

TEST(HeavyFigureTest, TheoremsLearnFromLabelsWithHeavyTails) {
  for (const HeavyMethod method : {HeavyMethod::Accelerated, HeavyMethod::StronglyConvex, HeavyMethod::Proximal}) {
    double excess = 0.0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) excess += heavy_run(method, 20'000, 4.0, seed).value().excess / 4.0;
    EXPECT_LT(excess, 0.5 * 0.5 * 0.81) << to_string(method);  // half of what the start has
  }
}

TEST(HeavyFigureTest, MakesItsQuickFormTwiceAlike) {
  expect_twice_alike("heavy4", [](const ReproduceRequest& request) {
    return reproduce_heavy(heavy_figure(FigureSize::Quick), request);
  });
}

TEST(CostsFigureTest, WithoutItsDataItSaysWhatItExpects) {
  ReproduceRequest request;
  const Status done = reproduce_costs(costs_figure(FigureSize::Quick), request);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("--data: expected the folder"), std::string::npos) << done.error().message;
}

}  // namespace
}  // namespace undertone::lab
