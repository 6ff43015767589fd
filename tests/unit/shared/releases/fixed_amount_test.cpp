#include "shared/releases/fixed_amount.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::releases {
namespace {

TEST(FixedAmountTest, CostsAreRoundedUpAndLimitsDown) {
  // 0.1 is not a multiple of 2^-40: 0.1 * 2^40 = 109951162777.6
  EXPECT_EQ(EpsilonAmount::rounded_up(0.1)->to_string(), "109951162778");
  EXPECT_EQ(EpsilonAmount::rounded_down(0.1)->to_string(), "109951162777");
  EXPECT_EQ(EpsilonAmount::rounded_up(1.0)->to_string(), EpsilonAmount::rounded_down(1.0)->to_string());
}

TEST(FixedAmountTest, ASpendIsNeverRoundedToNothing) {
  EXPECT_EQ(EpsilonAmount::rounded_up(5e-324)->to_string(), "1");
  EXPECT_EQ(DeltaAmount::rounded_up(1e-40)->to_string(), "1");
  EXPECT_EQ(EpsilonAmount::rounded_up(0.0)->to_string(), "0");
}

TEST(FixedAmountTest, AMillionTinySpendsAddUp) {
  EpsilonAmount total = *EpsilonAmount::rounded_up(1000.0);
  const EpsilonAmount start = total;
  for (int i = 0; i < 1'000'000; ++i) total = *total.plus(*EpsilonAmount::rounded_up(5e-324));
  EXPECT_TRUE(total.units() - start.units() == 1'000'000U);
}

TEST(FixedAmountTest, RefusesWhatIsNoAmount) {
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL, 0x1p80}) {
    EXPECT_FALSE(EpsilonAmount::rounded_up(bad));
    EXPECT_FALSE(DeltaAmount::rounded_down(bad));
  }
}

TEST(FixedAmountTest, OverflowIsRefused) {
  const auto most = EpsilonAmount::from_units(~UInt128{0});
  EXPECT_FALSE(most.plus(EpsilonAmount::from_units(1)));
  EXPECT_FALSE(most.times(2));
  EXPECT_TRUE(most.plus(EpsilonAmount()));
}

TEST(FixedAmountTest, DecimalTextIsItsInverse) {
  for (const UInt128 units : {UInt128{0}, UInt128{1}, UInt128{1} << 100U, ~UInt128{0}}) {
    EXPECT_TRUE(parse_decimal(to_decimal(units)).value() == units);
  }
  for (const char* bad : {"", "01", "-1", "1e3", " 1", "340282366920938463463374607431768211456"})
    EXPECT_FALSE(parse_decimal(bad)) << bad;
}

TEST(FixedAmountTest, AsADoubleItIsRoundedUp) {
  const auto odd = EpsilonAmount::from_units((UInt128{1} << 60U) + 1);
  EXPECT_GT(odd.value_rounded_up(), 0x1p20);
  EXPECT_EQ(EpsilonAmount::from_units(UInt128{3} << 40U).value_rounded_up(), 3.0);
}

TEST(FixedAmountTest, TheLargestAmountsAreRoundedAtOnce) {
  // Of 2^-40 each: 2^88 is the double above, its predecessor the one below.
  const auto most = EpsilonAmount::from_units(~UInt128{0});
  EXPECT_EQ(most.value_rounded_up(), 0x1p88);
  EXPECT_EQ(most.value_rounded_down(), std::nextafter(0x1p88, 0.0));
  const auto above_half = EpsilonAmount::from_units((UInt128{1} << 127U) + 1);
  EXPECT_EQ(above_half.value_rounded_down(), 0x1p87);
  EXPECT_EQ(above_half.value_rounded_up(), std::nextafter(0x1p87, HUGE_VAL));
}

}  // namespace
}  // namespace undertone::releases
