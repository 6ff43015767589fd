#pragma once

#include <cstdint>
#include <vector>

namespace undertone::statistics {

/// The binomial law where it is not negligible: within n p +- (12 sd + 40).
struct BinomialWeights {
  std::int64_t first = 0;       // s of the first weight
  std::vector<double> weights;  // P[S = first + i]
  double left_out = 0.0;        // P[S is outside], with rounding; rounded up, some 1e-13
};
/// @param trials n >= 0 @param probability p in [0, 1]
[[nodiscard]] BinomialWeights binomial_weights(std::int64_t trials, double probability);

}  // namespace undertone::statistics
