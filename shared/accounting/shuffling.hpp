#pragma once

#include <cstdint>

#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// What a round that is permuted by an honest shuffler guarantees, if all parties run one randomizer with the same
/// public state, messages carry nothing but their content, and N counts the messages that were really shuffled from
/// honest parties. Clone probability e^-epsilon_0 (Feldman, McMillan, Talwar 2021); the 2 / (e^epsilon_0 + 1) of later
/// work was withdrawn for general randomizers and is not here.
/// Source: spec privacy-core E.

/// The closed form, for epsilon_0 <= ln(N / (16 ln(2/delta))). @return an error beyond that
/// Source: Feldman, McMillan, Talwar 2021, Theorem 3.1.
[[nodiscard]] Result<double> shuffled_epsilon_closed(std::uint64_t messages, releases::Epsilon local,
                                                     releases::Delta delta);

/// delta at an epsilon of two parties' worth of difference hidden by clones: the hockey-stick divergence of
///   P = (A + D, C - A + 1 - D), Q = (A + 1 - D, C - A + D),
/// C ~ Bin(others, e^-silo), A ~ Bin(C, 1/2), D ~ Bern(e^record / (e^record + 1)), rounded up.
[[nodiscard]] double clone_delta(std::uint64_t others, double record_epsilon, double silo_epsilon, double epsilon);

/// The smallest epsilon of N messages that are each epsilon_0-DP for any two inputs, numerically; at most epsilon_0.
[[nodiscard]] Result<double> shuffled_epsilon(std::uint64_t messages, releases::Epsilon local, releases::Delta delta);

/// Of silos that do not look alike: messages are record_epsilon-DP between neighbouring data sets of one silo and
/// silo_epsilon-DP between any two data sets of silos; both pure. At most record_epsilon.
[[nodiscard]] Result<double> shuffled_silos_epsilon(std::uint64_t silos, releases::Epsilon record,
                                                    releases::Epsilon silo, releases::Delta delta);

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
[[nodiscard]] Result<ShuffledRound> shuffled_gaussians(std::uint64_t silos, releases::GaussianShift record_shift,
                                                       releases::GaussianShift silo_shift, releases::Delta delta);

/// What every silo of a round reports: the noised sum of `drawn` of its records, drawn afresh and secretly.
struct DrawnReports {
  double rate = 1.0;              // drawn / records of the silo, at least
  std::int64_t drawn = 1;         // K
  releases::GaussianShift shift;  // of a report in which the changed record was drawn
};
/// The two-epsilon bound for such reports (Theorem 38 of the source has K = 1). Its two pairs are
///   record: neighbouring data sets of one silo. Drawn without replacement, the dominating profile of fixed-size
///   subsets
///     at rate K/n holds in both orders (spec privacy-core D.2): delta_r(epsilon_r).
///   silo: any two data sets. Both laws are mixtures, over the subset, of Gaussians about a sum of K vectors of at most
///     the clip norm; any two such sums are K replacements apart, so any two components have a shift of at most K mu,
///     and the hockey-stick divergence is jointly convex: delta_s(epsilon_s) = G(epsilon_s; K mu).
/// The joint statement of E.2 asks no more of (epsilon_r, delta_r) and (epsilon_s, delta_s) than that.
/// @param silos honest ones alone, the silo itself among them
[[nodiscard]] Result<ShuffledRound> shuffled_reports(std::uint64_t silos, const DrawnReports& reports,
                                                     releases::Delta delta);

/// tau: how far, in total variation, a round of such reports is from one of which the clones' pair is a bound.
/// @return above 0, rounded up
[[nodiscard]] Result<double> clones_total_variation(std::uint64_t silos, const DrawnReports& reports,
                                                    double record_epsilon, double silo_epsilon);

}  // namespace undertone::accounting
