#pragma once

#include <span>

#include "shared/base/result.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// One silo's estimate and the variance of its whole error, noise and sampling, raised as in MeanVariance.
struct SiloEstimate {
  double value = 0.0;
  double variance = 0.0;  // > 0
};
/// The mean that a silo's own mean is drawn around, where silos are a sample of many.
struct RandomEffects {
  double heterogeneity = 0.0;     // Q, chi-square with N - 1 degrees of freedom where silos do not differ
  double between_variance = 0.0;  // tau^2
  double equality_p_value = 1.0;  // P[chi-square >= Q]
  double mean = 0.0;
  Interval interval;  // t with N - 1 degrees of freedom, Hartung and Knapp
};
/// @param silos five or more: with fewer the interval does not hold and there is an error
/// Source: DerSimonian and Laird 1986; Hartung and Knapp 2001; spec statistics 11.
[[nodiscard]] Result<RandomEffects> random_effects(std::span<const SiloEstimate> silos, Confidence confidence);

}  // namespace undertone::statistics
