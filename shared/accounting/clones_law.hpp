#pragma once

#include <cstdint>

#include "shared/accounting/loss_law.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// The privacy loss of the pair that bounds a shuffled round,
///   P = (A + D, C - A + 1 - D), Q = (A + 1 - D, C - A + D),
/// C ~ Bin(others, e^-silo_epsilon), A ~ Bin(C, 1/2), D ~ Bern(e^record_epsilon / (e^record_epsilon + 1)): for whoever
/// composes rounds, where `clone_delta` is for one. From above: a few counts C together stand for the least of them
/// (one clone less is never better hidden, since anybody can add a fair coin), and the profile is its chords over 768
/// losses up to record_epsilon, which no loss exceeds. The law is the same in both orders.
/// The last few are remembered.
/// @return an error where others are above 10^8, or an epsilon is not above 0 and at most 50
/// Source: spec privacy-core E.1, E.2.
[[nodiscard]] Result<LossLawPtr> clones_law(std::uint64_t others, double record_epsilon, double silo_epsilon);

}  // namespace undertone::accounting
