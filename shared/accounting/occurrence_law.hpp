#pragma once

#include <vector>

#include "shared/accounting/loss_law.hpp"

namespace undertone::accounting {

/// How often what changes between neighbours is in one release: P[not at all], and P[j times] for j = 1, 2, ...
struct Occurrences {
  long double never = 0.0L;
  std::vector<long double> times;
};

/// A Gaussian release in which what changes stands so often, each time with this shift: the water-filled profile of
/// spec privacy-core D.2, whose proof asks nothing of the law of the occurrences. The same in both orders.
/// @param shift of one occurrence
/// @param cut so many occurrences that all of them together have at most this probability count as an infinite loss
[[nodiscard]] LossLawPtr occurrence_gaussian_law(Occurrences occurrences, releases::GaussianShift shift, double cut);

}  // namespace undertone::accounting
