#include "verifier/multiset_profile.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "verifier/gaussian_profile.hpp"

namespace undertone::verifier {
namespace {

void expect_relatively_near(long double found, long double expected, long double tolerance) {
  EXPECT_NEAR(static_cast<double>(found / expected), 1.0, static_cast<double>(tolerance));
}

TEST(MultisetProfileTest, KnowsTheDeltaOfOneRelease) {  // privacy-core.md, rows 131 to 133
  expect_relatively_near(MultisetProfile(1, 10, 1000).height(0.3L), 3.04781777e-06L, 1e-8L);
  expect_relatively_near(MultisetProfile(1, 10, 1000).height(1), 1.24117701e-08L, 1e-8L);
  expect_relatively_near(MultisetProfile(0.25L, 50, 1000).height(0.05L), 1.47796615e-05L, 1e-8L);
}

TEST(MultisetProfileTest, OneDrawIsASubsetOfOne) {
  const MultisetProfile multiset(0.7L, 1, 50);
  const SubsetProfile subset(0.7L, 0.02L);
  for (const long double loss : {0.0L, 1e-6L, 0.01L, 0.2L, 1.0L, 4.0L}) {
    SCOPED_TRACE(static_cast<double>(loss));
    expect_relatively_near(multiset.height(loss), subset.height(loss), 1e-14L);
    expect_relatively_near(multiset.slope(loss), subset.slope(loss), 1e-14L);
  }
  expect_relatively_near(multiset.rate(), 0.02L, 1e-15L);
  EXPECT_EQ(multiset.excess(), 0);
}

TEST(MultisetProfileTest, NoOtherSplitOfTheBudgetIsBetter) {
  // Two draws from three: p = 4/9, 4/9, 1/9. With b_1 + b_2 = (ratio - 1) 4/9, each split gives a bound
  // p_1 G(ln(ratio + b_1 / p_1); mu) + p_2 G(ln(ratio + b_2 / p_2); 2 mu), and the profile is the least of them.
  for (const long double mu : {0.1L, 1.0L, 3.0L}) {
    const MultisetProfile profile(mu, 2, 3);
    for (const long double loss : {0.01L, 0.3L, 2.0L}) {
      SCOPED_TRACE(fmt::format("mu {}, loss {}", static_cast<double>(mu), static_cast<double>(loss)));
      constexpr int kSplits = 20'000;
      const long double ratio = std::exp(loss);
      const long double budget = (ratio - 1) * 4 / 9;
      long double least = 1;
      for (int i = 0; i <= kSplits; ++i) {
        const long double first = budget * i / kSplits;
        least = std::min(least, gaussian_profile(std::log(ratio + first * 9 / 4), mu) * 4 / 9 +
                                    gaussian_profile(std::log(ratio + (budget - first) * 9), 2 * mu) / 9);
      }
      EXPECT_LE(profile.height(loss), least * (1 + 1e-12L));
      expect_relatively_near(profile.height(loss), least, 1e-6L);  // the scan is flat at its least
    }
  }
}

TEST(MultisetProfileTest, ItIsConvexAndTheSlopeIsItsOwn) {
  for (const MultisetProfile& profile : {MultisetProfile(1, 10, 1000), MultisetProfile(0.05L, 400, 400),
                                         MultisetProfile(5, 3, 7), MultisetProfile(1e-4L, 2, 2)}) {
    const long double largest = profile.loss_of(1e-30L);
    Corner last{0, profile.height(0)};
    // The mirror image below ratio 1 is as convex: there the slope is -1 + height - slope.
    EXPECT_GE(1 - last.height + 2 * profile.slope(0), 0);
    for (int i = 1; i <= 200; ++i) {
      const long double loss = largest * i * i / 40'000;
      SCOPED_TRACE(fmt::format("{} of the largest loss, {}", i, static_cast<double>(loss)));
      const Corner corner{loss, profile.height(loss)};
      const long double chord = slope_between(last, corner);
      EXPECT_LE(profile.slope(last.loss), chord * (1 - 1e-9L));
      EXPECT_LE(chord, profile.slope(corner.loss) * (1 - 1e-9L));
      last = corner;
    }
  }
}

TEST(MultisetProfileTest, TheLossOfAHeightIsOnItsSafeSide) {
  const MultisetProfile profile(1, 10, 1000);
  for (const long double height : {1e-4L, 1e-8L, 1e-20L, 1e-47L}) {
    SCOPED_TRACE(static_cast<double>(height));
    const long double loss = profile.loss_of(height);
    EXPECT_LE(profile.height(loss), height);
    EXPECT_GE(profile.height(loss * 0.999L), height);
  }
}

TEST(MultisetProfileTest, ManyOccurrencesAreAnInfiniteLossOfNearlyNothing) {
  const MultisetProfile profile(1, 1000, 1000);  // more than sixty occurrences: below 1/60!
  EXPECT_GT(profile.excess(), 0);
  EXPECT_LT(profile.excess(), 1e-59L);
  EXPECT_GE(profile.height(5000), profile.excess());
}

}  // namespace
}  // namespace undertone::verifier
