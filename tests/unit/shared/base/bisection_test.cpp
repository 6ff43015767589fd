#include "shared/base/bisection.hpp"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace undertone {
namespace {

TEST(BisectionTest, IntegersEndAtNeighboursOnBothSidesOfTheEdge) {
  for (std::int64_t edge = 1; edge <= 100; ++edge) {
    SCOPED_TRACE(edge);
    const SearchRange<std::int64_t> found =
        bisect_integers(SearchRange<std::int64_t>{0, 100}, [&](std::int64_t at) { return at >= edge; });
    EXPECT_EQ(found.low, edge - 1);
    EXPECT_EQ(found.high, edge);
  }
}

TEST(BisectionTest, TheEndsAreNeverTried) {
  const SearchRange<std::uint64_t> found =
      bisect_integers(SearchRange<std::uint64_t>{3, 7}, [](std::uint64_t at) { return at <= 3 || at >= 7; });
  EXPECT_EQ(found.low, 6U);  // 5, then 6, do not hold
  EXPECT_EQ(found.high, 7U);
}

TEST(BisectionTest, RealsKeepTheEdgeBetweenThem) {
  const auto holds = [](double x) { return x * x >= 2.0; };
  const SearchRange<double> found = bisect_reals({1.0, 2.0}, holds, 60);
  EXPECT_FALSE(holds(found.low));
  EXPECT_TRUE(holds(found.high));
  EXPECT_EQ(found.high, std::nextafter(found.low, std::numeric_limits<double>::infinity()));  // 60 halvings exceed 52
}

TEST(BisectionTest, StopsAtTheAccuracyOrAfterTheHalvings) {
  const auto holds = [](double x) { return x >= 0.6; };
  EXPECT_EQ(bisect_reals({0.0, 1.0}, holds, 2).low, 0.5);  // 0.5 does not, 0.75 does
  EXPECT_EQ(bisect_reals({0.0, 1.0}, holds, 2).high, 0.75);
  const SearchRange<double> near = bisect_reals({0.0, 1.0}, holds, 100, 0.25);  // 0.75 - 0.5 > 0.25 * 0.75: 0.625 holds
  EXPECT_EQ(near.low, 0.5);
  EXPECT_EQ(near.high, 0.625);
}

}  // namespace
}  // namespace undertone
