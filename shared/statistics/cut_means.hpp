#pragma once

#include "shared/features/influence.hpp"

namespace undertone::statistics {

/// A bound on how heavy a number's tails are: E |x - about|^order <= bound^order.
struct MomentBound {
  double order = 2.0;  // k >= 2
  double bound = 0.0;  // r > 0, in the number's unit
};

/// By how much the mean of x is off, at most, where x is cut to about +- threshold:
/// r^k (k - 1)^(k - 1) / (k^k t^(k - 1)). What is cut off is (y - t)+ <= y^k (k - 1)^(k - 1) / (k^k t^(k - 1)) for
/// every y = |x - about|, with equality at y = k t / (k - 1). That is k^k / (k - 1)^k times less than the bound of the
/// source. It holds for records that a moment is of, and for the law that they are drawn from.
/// A smooth influence is off by B r^k / t^(k - 1) at most, with an order k of at most 3. @see smooth_bias
/// @param threshold t > 0
/// Source: spec heavy-tailed 2.1, with the sharp constant, and 2.2.
[[nodiscard]] double cut_bias(const MomentBound& moment, double threshold, Influence influence = Influence::Clip);

/// The threshold t for which noise * L t + cut_bias(t) is least, L the largest influence at a threshold of 1: of a clip
/// r (k - 1) / k noise^(-1 / k).
/// @param noise > 0: half the width of the interval that noise alone gives the mean, for a radius of 1
[[nodiscard]] double best_threshold(const MomentBound& moment, double noise, Influence influence = Influence::Clip);

}  // namespace undertone::statistics
