#pragma once

#include <cstdint>
#include <optional>

#include "verifier/symmetric_profile.hpp"

namespace undertone::verifier {

/// A round of `others` + 1 messages in an unknown order, of which one differs: the two multisets are no further apart
/// than (A + D, C - A + 1 - D) and (A + 1 - D, C - A + D), C of Bin(others, e^-silo_epsilon), A of Bin(C, 1/2) and D
/// one with probability 1 / (1 + e^-record_epsilon), but for what `mixed_variation` says. Source: privacy-core.md,
/// section E.
struct Mixing {
  std::uint64_t others = 0;
  long double record_epsilon = 0;
  long double silo_epsilon = 0;
};

/// What every message is: Gaussian noise on the sum of a fresh uniform subset of `drawn` of `population` records.
struct MixedReports {
  /// Of a message in which the changed record was drawn: sensitivity under its replacement over standard deviation.
  long double mu = 0;
  std::int64_t drawn = 1;
  std::int64_t population = 1;
};

/// The profile of the two multisets from above, a corner for each of some losses from 0 to record_epsilon: the masses
/// of all pairs (C, A) are added up one by one, each under its own loss.
/// @return nothing for more than 10^5 others, or epsilons that are not above 0 and at most 50
[[nodiscard]] std::optional<Polygon> mixed_profile(const Mixing& mixing);

/// How far such a round is, in total variation, from one that the two multisets bound:
///   g G(ln(1 + (e^record_epsilon - 1) / g); mu) / (1 + e^record_epsilon) + others e^-silo_epsilon G(silo_epsilon; K
///   mu)
/// with g = K/n: between two data sets of a silo that share no record K replacements lie.
[[nodiscard]] long double mixed_variation(const Mixing& mixing, const MixedReports& reports);

/// Delta of so many such rounds at this epsilon, certified to be at least that of the pairs' composition.
/// @return nothing where an argument is out of range
[[nodiscard]] std::optional<long double> mixed_delta(const Mixing& mixing, std::uint64_t rounds, long double epsilon);

}  // namespace undertone::verifier
