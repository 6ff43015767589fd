#pragma once

#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/privacy/quantities.hpp"

namespace undertone::privacy {

/// What a round that is permuted by an honest shuffler guarantees, if all parties run one randomizer with the same
/// public state, messages carry nothing but their content, and N counts the messages that were really shuffled from
/// honest parties. Clone probability e^-epsilon_0 (Feldman, McMillan, Talwar 2021); the 2 / (e^epsilon_0 + 1) of later
/// work was withdrawn for general randomizers and is not here.
/// Source: spec privacy-core E.

/// The closed form, for epsilon_0 <= ln(N / (16 ln(2/delta))). @return an error beyond that
/// Source: Feldman, McMillan, Talwar 2021, Theorem 3.1.
[[nodiscard]] Result<double> shuffled_epsilon_closed(std::uint64_t messages, Epsilon local, Delta delta);

/// delta at an epsilon of two parties' worth of difference hidden by clones: the hockey-stick divergence of
///   P = (A + D, C - A + 1 - D), Q = (A + 1 - D, C - A + D),
/// C ~ Bin(others, e^-silo), A ~ Bin(C, 1/2), D ~ Bern(e^record / (e^record + 1)), rounded up.
[[nodiscard]] double clone_delta(std::uint64_t others, double record_epsilon, double silo_epsilon, double epsilon);

/// The smallest epsilon of N messages that are each epsilon_0-DP for any two inputs, numerically; at most epsilon_0.
[[nodiscard]] Result<double> shuffled_epsilon(std::uint64_t messages, Epsilon local, Delta delta);

/// Of silos that do not look alike: messages are record_epsilon-DP between neighbouring data sets of one silo and
/// silo_epsilon-DP between any two data sets of silos; both pure. At most record_epsilon.
[[nodiscard]] Result<double> shuffled_silos_epsilon(std::uint64_t silos, Epsilon record, Epsilon silo, Delta delta);

/// One shuffled round of Gaussian reports.
struct ShuffledRound {
  double local_epsilon = 0.0;   // of one report, unshuffled, at the same delta
  double epsilon = 0.0;         // min(local, the best bound found)
  double record_epsilon = 0.0;  // where it was found; 0 where there is no gain
  double silo_epsilon = 0.0;
  double total_variation = 0.0;  // tau of that bound
  [[nodiscard]] bool gains() const noexcept { return epsilon < local_epsilon; }
};
/// Gaussian reports of `silos` silos with noise common to all: the two-epsilon bound of spec privacy-core E.2 minimised
/// over (record_epsilon, silo_epsilon). @param record_shift between neighbouring data sets of the smallest silo
/// @param silo_shift between any two data sets
[[nodiscard]] Result<ShuffledRound> shuffled_gaussians(std::uint64_t silos, GaussianShift record_shift,
                                                       GaussianShift silo_shift, Delta delta);

}  // namespace undertone::privacy
