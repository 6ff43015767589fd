#include "shared/statistics/cut_means.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::statistics {
namespace {

/// What is cut off a number is never more than the bound has room for, and one number reaches it.
TEST(CutMeansTest, TheBiasIsBoundedNumberByNumberAndOneReachesIt) {
  for (const double order : {2.0, 2.5, 4.0, 8.0}) {
    const double threshold = 3.0;
    double worst = 0.0;
    for (double y = 0.01; y < 400.0; y *= 1.001) {
      const double cut = std::max(0.0, y - threshold);
      const double room = cut_bias({order, y}, threshold);  // of a law that is y for certain
      EXPECT_LE(cut, room * (1.0 + 1e-12)) << y;
      worst = std::max(worst, cut / room);
    }
    EXPECT_GT(worst, 0.9999);
    const double at = order * threshold / (order - 1.0);
    EXPECT_NEAR(cut_bias({order, at}, threshold), at - threshold, 1e-12);
    // The source's bound is larger: by four with the second moment.
    EXPECT_GT(std::pow(2.0, order) / ((order - 1.0) * std::pow(threshold, order - 1.0)),
              2.0 * cut_bias({order, 2.0}, threshold));
  }
}

/// What a smooth influence takes from a number is never more than the bound has room for, and its threshold is the
/// best.
TEST(CutMeansTest, ASmoothInfluenceHasABiasAndAThresholdOfItsOwn) {
  const double threshold = 3.0;
  for (const double order : {2.0, 2.5, 3.0, 4.0}) {
    for (double y = 0.01; y < 400.0; y *= 1.01) {
      for (const double x : {-y, y}) {
        const double off = std::abs(x - influence_of(Influence::Smooth, x, threshold));
        EXPECT_LE(off, cut_bias({order, y}, threshold, Influence::Smooth) * (1.0 + 1e-12)) << order << " " << x;
      }
    }
    const MomentBound moment{order, 7.0};
    const double noise = 0.01;
    const auto half = [&](double t) {
      return noise * largest_influence(Influence::Smooth) * t + cut_bias(moment, t, Influence::Smooth);
    };
    const double best = best_threshold(moment, noise, Influence::Smooth);
    for (const double factor : {0.9, 0.99, 1.01, 1.1}) EXPECT_GT(half(best * factor), half(best));
  }
}

TEST(CutMeansTest, NoOtherThresholdHasANarrowerInterval) {
  for (const double order : {2.0, 3.0, 6.0}) {
    for (const double noise : {1e-6, 1e-2, 0.5}) {
      const MomentBound moment{order, 7.0};
      const auto half = [&](double threshold) { return noise * threshold + cut_bias(moment, threshold); };
      const double best = best_threshold(moment, noise);
      for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) EXPECT_GT(half(best * factor), half(best));
    }
  }
}

}  // namespace
}  // namespace undertone::statistics
