#include "operator/advise_command.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::operators {
namespace {

TEST(PublicAdviceTest, NamesTheBestOfThree) {
  // V^2 = 1: 100 public records have an error of .1; silos of .1 too: both together 1 / root 200.
  const PublicAdvice even = public_advice(1.0, 100.0, 0.01, 0.001);
  EXPECT_NEAR(even.public_alone, 0.1, 1e-15);
  EXPECT_NEAR(even.silos_alone, 0.1, 1e-15);
  EXPECT_NEAR(even.both, std::sqrt(0.005), 1e-15);
  EXPECT_EQ(even.best, "both");
  EXPECT_NEAR(even.even, 100.0, 1e-9);
  // Without noise the silos' own sampling would leave 1/(100 + 1000); with it 1/(100 + 100).
  EXPECT_NEAR(1.0 / (even.free + 100.0), 1.21 / (even.free + 1000.0), 1e-12);
  EXPECT_EQ(public_advice(1.0, 1e6, 0.01, 0.001).best, "public_alone");
  EXPECT_EQ(public_advice(1.0, 2.0, 0.001, 0.0009).best, "silos_alone");
  // Where noise is next to nothing, privacy is free already.
  EXPECT_EQ(public_advice(1.0, 10.0, 0.01, 0.0099).free, 0.0);
}

TEST(PublicAdviceTest, BothTogetherAreNeverWorse) {
  for (double records = 1.0; records < 1e6; records *= 3.0) {
    for (double silos = 1e-6; silos < 1.0; silos *= 7.0) {
      const PublicAdvice advice = public_advice(2.0, records, silos, silos / 2.0);
      EXPECT_LT(advice.both, std::min(advice.public_alone, advice.silos_alone));
      // The factor that both gain in squared error lies in (1, 2): spec public-data 2.4.
      const double gain = std::pow(std::min(advice.public_alone, advice.silos_alone) / advice.both, 2);
      EXPECT_GT(gain, 1.0);
      EXPECT_LE(gain, 2.0 + 1e-12);
    }
  }
}

TEST(PublicAdviceTest, RatesAreTheSources) {
  // n^2 epsilon^2 / (d ln(1/delta)) = 10^8 / (100 * 11.5129).
  const PublicRate rate = public_rate(2.0, 100.0, 10'000.0, 400.0, 1.0, 1e-5);
  EXPECT_NEAR(rate.helps_above, 1e8 / (100.0 * std::log(1e5)), 1e-6);
  EXPECT_NEAR(rate.public_alone, 2.0 / 20.0, 1e-15);
  EXPECT_NEAR(rate.protected_alone, 2.0 * (std::sqrt(100.0 * std::log(1e5)) / 10'000.0 + 0.01), 1e-15);
}

}  // namespace
}  // namespace undertone::operators
