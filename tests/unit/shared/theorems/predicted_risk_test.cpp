#include "shared/theorems/predicted_risk.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace undertone::theorems {
namespace {

TEST(PredictedRiskTest, AreTheSourcesFormulas) {
  // (5 - 2)/(4 2), and nothing to draw.
  EXPECT_DOUBLE_EQ(silo_sampling_factor(5.0, 2.0), 0.375);
  EXPECT_EQ(silo_sampling_factor(5.0, 5.0), 0.0);
  EXPECT_EQ(silo_sampling_factor(1.0, 1.0), 0.0);
  // 4 3 2^2/(5 6) + 4 6 7/(3 3) = 1.6 + 18.666667.
  EXPECT_NEAR(accelerated_risk({5, 3.0}, 2.0, 6.0), 1.6 + 56.0 / 3.0, 1e-12);
  // With a modulus of 2: 8 6/(2 6) = 4 is less than 56/3; with one of 1/10 it is not.
  EXPECT_NEAR(accelerated_risk({5, 3.0}, 2.0, 6.0, 2.0), 1.6 + 4.0, 1e-12);
  EXPECT_NEAR(accelerated_risk({5, 3.0}, 2.0, 6.0, 0.1), 1.6 + 56.0 / 3.0, 1e-12);
  EXPECT_DOUBLE_EQ(multi_stage_risk(3.0, 4), 0.1875);
  // kappa 2, q = 3/4. Step by step from gap 8, each adding 2 V^2/beta = 2 0.5/4: 8 -> 6.25 -> 4.9375.
  EXPECT_NEAR(proximal_sgd_risk(8.0, 4.0, 2.0, 2, 0.5), 4.9375, 1e-12);
  // kappa 2, R = 96: contraction 24 2/96 = 1/2; floor (3/2)(0.1 + 0.4/2) = 0.45. 8 -> 4.45 -> 2.675.
  EXPECT_NEAR(prox_svrg_risk(8.0, 4.0, 2.0, 2, 96, 0.1, 0.4), 2.675, 1e-12);
  // 16 (3/(0.5 12) + 0.25) = 12.
  EXPECT_DOUBLE_EQ(spider_stationarity(3.0, 0.5, 12, 0.25), 12.0);
}

TEST(PredictedRiskTest, TheDirectFormsUpsilonMinimisesItsBound) {
  // Above 2 beta, at upsilon^2 = V^2 R (R+1) (R+2)/(3 D^2), no other upsilon has a lower bound.
  const double rounds = 50.0;
  const double best = std::sqrt(2.0 * rounds * (rounds + 1.0) * (rounds + 2.0) / (3.0 * 9.0));
  const double least = accelerated_risk({50, best}, 3.0, 2.0);
  for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
    EXPECT_GT(accelerated_risk({50, factor * best}, 3.0, 2.0), least) << factor;
}

TEST(PredictedRiskTest, RestartsTendToTheirFixedPoint) {
  // g = g/2 + f has the fixed point 2 f, f = (3/2) 0.4/2 = 0.3.
  EXPECT_NEAR(prox_svrg_risk(8.0, 4.0, 2.0, 60, 96, 0.0, 0.4), 0.6, 1e-12);
  // 4 kappa V^2/beta = 4 2 0.5/4.
  EXPECT_NEAR(proximal_sgd_risk(8.0, 4.0, 2.0, 400, 0.5), 1.0, 1e-12);
}

}  // namespace
}  // namespace undertone::theorems
