#pragma once

#include <vector>

#include "shared/accounting/allocation.hpp"
#include "shared/accounting/loss_composition.hpp"
#include "shared/accounting/pass_profile.hpp"
#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// Other releases that read records of an allocation's: evaluations, anchors. Each has a pair that dominates it
/// whatever was said before, and draws nothing from what hides the parts.
struct Besides {
  double gaussian = 0.0;               // shift of all Gaussian releases of every record together; 0 is none
  std::vector<RepeatedLaw> laws = {};  // of all others
};

/// What an allocation costs in all its epochs, together with other releases that read the same records: evaluations,
/// anchors. One pass with nothing besides is evaluated directly; one pass beside Gaussian releases of every record by
/// its losses, each with the Gaussian profile of what is left of epsilon (`delta_beside_gaussian`); else the law of a
/// pass is composed numerically. The latter two are some percent of delta dearer. All numbers are upper bounds,
/// whatever the grid. Replace-one; secret are the parts of all records, their sizes where they are bins, and what the
/// laws besides count on. Interleaved epochs and other releases may be composed so, in whatever order and however
/// questions depend on answers: for bins by theorem A, whose likelihoods are then products, sum_r w_r l_r of each pass
/// times that of each release besides, given every other record's bins; taken from the last release to the first, each
/// factor is replaced by its dominating pair (the others' factors are non-negative constants there) and each bin by the
/// lemma's extremal one. For fixed sizes because the order of interactive mechanisms does not matter (Vadhan and Zhang
/// 2023). The whole plan of releases is fixed in advance: neither an odometer nor a filter can take this credit.

/// Delta at epsilon. @param around about what delta is: below a thousandth of it nothing is resolved
/// @return an error where the releases are too many or too loud to be composed
[[nodiscard]] Result<double> allocation_delta(const Allocation& allocation, const Besides& besides,
                                              releases::Epsilon epsilon, releases::Delta around, AllocationGrid grid);

/// The smallest epsilon >= 0 that was found to meet delta: of one pass, with Gaussian releases of every record besides,
/// to 1e-6 and never above that of its loudest part beside them, of a composition to 1e-3. A plan that was scaled to a
/// target is held to `allocation_delta` at the target's epsilon: this may be above that epsilon by its own accuracy.
[[nodiscard]] Result<double> allocation_epsilon(const Allocation& allocation, const Besides& besides,
                                                releases::Delta delta);

/// The largest factor (to some 1e-4; beside Gaussian releases 1e-3) by which all shifts may be multiplied: delta at
/// epsilon was evaluated at it, on the grid for charging, and is at most the target. @param besides as they are, not
/// scaled
/// @return an error where the releases besides leave nothing
[[nodiscard]] Result<double> allocation_scale(const Allocation& shape, const Besides& besides,
                                              releases::Epsilon epsilon, releases::Delta delta);

}  // namespace undertone::accounting
