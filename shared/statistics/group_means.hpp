#pragma once

#include <cstddef>
#include <vector>

#include "shared/base/result.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// Noised totals of a group's records, added up over silos: of 1, of u in [-1, 1], and of u^2.
struct GroupMoments {
  double count = 0.0;
  double sum = 0.0;
  double square = 0.0;
};
/// Variances of the Gaussian noise on each of them, the same for all groups.
struct GroupMomentsNoise {
  double count = 0.0;
  double sum = 0.0;
  double square = 0.0;
};

/// mean(first) - mean(second), whose interval is of all differences that the unbiased contrast
///   G(delta) = T1 C2 - T2 C1 - delta C1 C2
/// does not reject: an inequality of second degree. It needs no division, and it is [-2, 2] where the set has no end.
/// No value where a count is within four standard deviations of its noise. Source: spec survival 7.3, row 48.
[[nodiscard]] Stated state_mean_difference(const GroupMoments& first, const GroupMoments& second,
                                           const GroupMomentsNoise& noise, Confidence confidence, bool sampling);

/// A test of the hypothesis that groups have the same mean.
struct MeansTest {
  double statistic = 0.0;  // chi-squared
  std::size_t degrees = 1;
  double p_value = 1.0;
  double common_mean = 0.0;       // in [-1, 1], of three groups or more
  bool largest_variance = false;  // groups of little spread: each is given the largest variance that its mean allows
};
/// Two groups are compared by the contrast at 0. Of more groups the statistic is the least, over theta, of the sum of
/// (T_g - theta C_g)^2 over their variances, and it is chi-squared of one degree fewer than there are groups.
/// @param groups two or more
/// Source: spec survival 7.3, rows 47 and 49. A number of two values is better tested by a table.
[[nodiscard]] MeansTest test_means(const std::vector<GroupMoments>& groups, const GroupMomentsNoise& noise);

}  // namespace undertone::statistics
