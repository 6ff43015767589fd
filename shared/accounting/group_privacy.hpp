#pragma once

#include <cstdint>
#include <vector>

#include "shared/accounting/loss_composition.hpp"

namespace undertone::accounting {

/// Gaussian releases of a run that protected records, as they look to somebody who has several of these records.
struct GroupRelease {
  releases::GaussianShift shift;  // of one record that is replaced, in a release that it is in
  std::int64_t draws = 1;         // K records, drawn afresh and in secret; the whole population: all are read
  std::int64_t population = 1;    // n
  bool with_replacement = false;  // K independent draws
  std::uint64_t times = 1;
  friend bool operator==(const GroupRelease&, const GroupRelease&) = default;
};

/// Epsilon at a delta of all these releases together where up to `members` of the records are replaced at once: what a
/// run of records promises a person who has so many of them, and no more. That n is public stays true of it: it is no
/// guarantee for persons. Of a draw without replacement j of her k records are in it with the hypergeometric
/// probability, and then the sum moves by j shifts at most.
/// @param members k, from 1 to 10,000
/// The last few are remembered.
/// @return both ends of the numeric composition; an error where a number is out of range
/// Source: spec person-unit 3.2 and 10.
[[nodiscard]] Result<Bracket> group_epsilon(const std::vector<GroupRelease>& releases, std::int64_t members,
                                            releases::Delta delta, const CompositionLimits& limits = {});

/// The law of one of them.
[[nodiscard]] Result<LossLawPtr> group_law(const GroupRelease& release, std::int64_t members);

}  // namespace undertone::accounting
