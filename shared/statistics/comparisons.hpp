#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// A point and its interval.
struct Located {
  double value = 0.0;  // moved into the interval where it is outside
  Interval interval;
};
/// The interval of a - b, their noise and samples independent: two silos, or disjoint cells of one.
/// Source: Zou and Donner 2008 (MOVER); spec statistics 10.
[[nodiscard]] Interval mover_difference(Located a, Located b);
/// Both intervals of a difference of two stated numbers. @return without a population interval where one has none
[[nodiscard]] Stated state_difference(const Stated& a, const Stated& b);

/// Noised totals of a group whose size nobody knows: of 1, of u in [-1, 1], and of u^2 where it was released.
struct GroupTotals {
  double count = 0.0;
  double sum = 0.0;
  std::optional<double> square;
  NoiseLaw count_noise;
  NoiseLaw sum_noise;
  double square_noise_variance = 0.0;
};
/// The mean of a group, sum / count, by Fieller's inversion. Where the count is within four standard deviations of its
/// noise: [-1, 1], and no value.
///
/// It holds for persons as well, each of whom adds (c, s) = (m / k, sum of u / k) for m <= k records. These lie in the
/// triangle with the corners (0, 0), (1, 1) and (1, -1). For x = s - t c with mean 0 the convex x^2 is largest on the
/// corners, where its mean is E c (1 - t^2): what a group's records have, with c in place of 0 or 1.
/// @return an error where a number is not finite
/// Source: Fieller 1954; spec statistics 10.
[[nodiscard]] Result<Stated> state_group_mean(const GroupTotals& group, Confidence confidence, bool sampling);

}  // namespace undertone::statistics
