#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "shared/base/result.hpp"

namespace undertone::statistics {

/// A public standardisation (u - mean) / scale of d features in [-1, 1], from noised moments.
struct PaidStandardisation {
  Eigen::VectorXd mean;      // [d], in [-1, 1]
  Eigen::VectorXd scale;     // [d], > 0
  double clip_radius = 0.0;  // 1.3 sqrt(d + 1): what standardised records are cut to
};
/// s^2 = the noised variance, raised to at least min(1/3, max(0.02, 2.4 sd(mean))).
/// @param first [d] means of u @param second [d] of u^2 @param mean_noise_stddev of each mean, > 0
/// Source: Sun, Suresh and Menon 2307.11106; spec statistics 13.
[[nodiscard]] Result<PaidStandardisation> standardisation_from_moments(const Eigen::VectorXd& first,
                                                                       const Eigen::VectorXd& second,
                                                                       double mean_noise_stddev);

/// How much of mu^2 a standardisation should have.
struct StandardisationShare {
  double noise_ratio = 0.0;  // r = 2 sqrt(d) kappa / (mu n): noise of a mean in feature sds at the full budget
  double share = 0.0;        // clip(20 r^2, 0.02, 0.2); 0 where it does not pay
};
/// @param bound_ratio kappa > 0: half-width of the bounds / standard deviation of a feature, a public guess
[[nodiscard]] Result<StandardisationShare> standardisation_share(Eigen::Index features, double bound_ratio,
                                                                 double shift, std::int64_t records);

}  // namespace undertone::statistics
