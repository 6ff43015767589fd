#pragma once

#include <cstdint>
#include <vector>

namespace undertone::verifier {

/// Equal releases by what bounds their Renyi divergences. Exactly one of the three is above 0.
struct ConcentratedGroup {
  /// A Gaussian's of this shift, also where it reads a subset: order x mu^2 / 2.
  long double mu = 0;
  /// epsilon-DP: at most randomised response's.
  long double pure_epsilon = 0;
  /// Losses in a range of epsilon: besides at most order x epsilon^2 / 8. Source: Cesar and Rogers 2021, Lemma 3.4.
  long double ranged_epsilon = 0;
  std::uint64_t rounds = 0;
};

/// Delta of all groups together, from above: with D the sum of their divergences, the least over orders a > 1 of
/// exp((a - 1)(D(a) - epsilon)) / (a - 1) x (1 - 1/a)^a. Source: Canonne, Kamath and Steinke 2020, Proposition 12.
/// @param epsilon finite, >= 0
[[nodiscard]] long double renyi_delta(const std::vector<ConcentratedGroup>& groups, long double epsilon);

}  // namespace undertone::verifier
