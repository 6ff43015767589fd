#include "shared/theorems/predicted_risk.hpp"

#include <cmath>

namespace undertone::theorems {

double silo_sampling_factor(double silos, double answering) {
  UNDERTONE_CHECK(answering >= 1.0 && answering <= silos);
  return silos > 1.0 ? (silos - answering) / ((silos - 1.0) * answering) : 0.0;
}

double accelerated_risk(const algorithms::AcceleratedStage& stage, double distance, double variance,
                        double strong_convexity) {
  UNDERTONE_CHECK(stage.rounds >= 1 && stage.upsilon > 0.0 && distance >= 0.0 && variance >= 0.0);
  const double rounds = static_cast<double>(stage.rounds);
  double noise = 4.0 * variance * (rounds + 2.0) / (3.0 * stage.upsilon);
  if (strong_convexity > 0.0) noise = std::min(noise, 8.0 * variance / (strong_convexity * (rounds + 1.0)));
  return 4.0 * stage.upsilon * distance * distance / (rounds * (rounds + 1.0)) + noise;
}

double multi_stage_risk(double gap, std::uint64_t stages) {
  UNDERTONE_CHECK(gap >= 0.0);
  return gap * std::exp2(-static_cast<double>(stages));
}

double proximal_sgd_risk(double gap, double smoothness, double strong_convexity, std::uint64_t rounds,
                         double variance) {
  UNDERTONE_CHECK(gap >= 0.0 && strong_convexity > 0.0 && smoothness >= strong_convexity && variance >= 0.0);
  const double kappa = smoothness / strong_convexity;
  const double left = std::pow(1.0 - 1.0 / (2.0 * kappa), static_cast<double>(rounds));
  return left * gap + (1.0 - left) * 4.0 * kappa * variance / smoothness;
}

double prox_svrg_risk(double gap, double smoothness, double strong_convexity, std::uint64_t restarts,
                      std::uint64_t rounds, double silo_variance, double noise_variance) {
  UNDERTONE_CHECK(gap >= 0.0 && strong_convexity > 0.0 && rounds >= 1 && silo_variance >= 0.0 && noise_variance >= 0.0);
  const double contraction = 24.0 * smoothness / (strong_convexity * static_cast<double>(rounds));
  const double floor = 3.0 / strong_convexity * (silo_variance + noise_variance / 2.0);
  for (std::uint64_t restart = 0; restart < restarts; ++restart) gap = contraction * gap + floor;
  return gap;
}

double spider_stationarity(double gap, double step_size, std::uint64_t rounds, double anchor_variance) {
  UNDERTONE_CHECK(gap >= 0.0 && step_size > 0.0 && rounds >= 1 && anchor_variance >= 0.0);
  return 16.0 * (gap / (step_size * static_cast<double>(rounds)) + anchor_variance);
}

}  // namespace undertone::theorems
