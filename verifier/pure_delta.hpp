#pragma once

#include <cstdint>
#include <vector>

#include "verifier/ledger_texts.hpp"

namespace undertone::verifier {

/// Equal epsilon-DP releases.
struct PureGroup {
  UInt128 epsilon = 0;  // in units of 2^-40
  std::uint64_t rounds = 0;
};

/// Delta of as many randomised responses, which are epsilon-DP and leak all that such a release may, from below: every
/// outcome is added up, of the largest epsilons first, and those that would be too many outcomes are left out.
/// Source: Kairouz, Oh and Viswanath 2015, Theorem 3.3.
/// @param groups their epsilons together below 2^100 units
/// @param epsilon in units of 2^-40
[[nodiscard]] long double pure_delta_below(std::vector<PureGroup> groups, UInt128 epsilon);

}  // namespace undertone::verifier
