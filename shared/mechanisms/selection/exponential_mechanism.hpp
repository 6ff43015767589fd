#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/base/result.hpp"
#include "shared/crypto/noise_bits.hpp"
#include "shared/noise/discrete_samplers.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::mechanisms {

/// A selection is among at most this many candidates.
inline constexpr std::size_t kCandidatesMax = std::size_t{1} << 24U;
/// A score has at most this magnitude, and so has a score range.
inline constexpr std::int64_t kScoreMax = std::int64_t{1} << 62U;

/// How far replacing one record moves the difference of two candidates' scores, at most, over all candidates and all
/// data sets: max |(s_i - s_k) - (s'_i - s'_k)|, in units of the scores' lattice. A shift that all scores share moves
/// no choice and does not count.
class ScoreRange {
 public:
  /// The range itself, where the candidates' geometry gives it. @param range in 1 .. kScoreMax
  [[nodiscard]] static Result<ScoreRange> of_differences(std::int64_t range);
  /// Where all that is known is how far one score moves, |s_i - s'_i| <= change. Two scores may then move apart, so the
  /// range is 2 change. This is also the case of records whose contributions to every score lie in one interval of
  /// length `change`. @param change in 1 .. kScoreMax / 2
  [[nodiscard]] static Result<ScoreRange> of_each_score(std::int64_t change);

  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  friend bool operator==(const ScoreRange&, const ScoreRange&) = default;

 private:
  explicit ScoreRange(std::int64_t value) noexcept : value_(value) {}
  std::int64_t value_;
};

/// One of m candidates, the better the higher its score:
///   P[j] proportional to exp(epsilon s_j / R), exactly,
/// with integer scores and R their range under replacement of one record. In terms of the change D of a single score
/// this is exp(epsilon s_j / (2 D)), the textbook's weight. It is the law of the largest s_j + Gumbel(R / epsilon).
///
/// Cost: epsilon-DP and epsilon^2 / 8-zCDP. ln P[j] - ln P'[j] = (epsilon / R) (s_j - s'_j) + ln(Z' / Z): over j it
/// ranges over an interval of length epsilon at most, and both laws sum to one, so the interval holds 0. That is
/// epsilon-DP, and bounded range, of which epsilon^2 / 8 is the zCDP.
/// Source: McSherry and Talwar 2007; Dong, Durfee, Rogers 2020; spec non-euclidean 1.5 P1, 3.5.
///
/// Only the index is protected. Scores, and what else is computed from them, are releases of their own.
class ExponentialMechanism {
 public:
  /// @param epsilon rounded down to a multiple of 2^-40, so that every probability is a function of integers
  /// @return an error where nothing is left of it, or it is above 1024
  [[nodiscard]] static Result<ExponentialMechanism> create(releases::Epsilon epsilon, ScoreRange range);

  /// What a selection costs, exactly.
  [[nodiscard]] releases::EpsilonAmount epsilon() const noexcept { return epsilon_; }
  [[nodiscard]] ScoreRange range() const noexcept { return range_; }
  /// The same for accountants.
  [[nodiscard]] accounting::ExponentialEvent event() const;
  /// epsilon^2 / 8, rounded up.
  [[nodiscard]] accounting::Rho rho() const;
  /// Of s_best - s_selected, at most, in units of score: (R / epsilon) ln m. @param candidates >= 1
  /// Source: spec non-euclidean 1.5 P1.
  [[nodiscard]] double expected_loss_max(std::size_t candidates) const;

  /// Draws a candidate: rejection from the uniform law, where candidate j is taken with probability
  /// exp(-epsilon (s_best - s_j) / R). No floating-point number decides, and nothing is cut off.
  ///
  /// Work: a try succeeds with probability sum_j w_j / m >= 1 / m, since the best has weight w = 1. So the expected
  /// number of tries is m / sum_j w_j <= m, a draw ends with probability 1, and more than 56 m tries have probability
  /// below 2^-80. A try draws some five words.
  ///
  /// Time: the number of tries is random around m / sum_j w_j, which depends on the scores. Whoever may not learn that
  /// must not see how long a selection took: the reply waits for its fixed time.
  /// @param scores [1 .. kCandidatesMax], each of magnitude at most kScoreMax
  template <crypto::NoiseBits Bits>
  [[nodiscard]] std::size_t select(std::span<const std::int64_t> scores, Bits& bits) const {
    const std::int64_t best = best_of(scores);
    while (true) {
      const auto candidate = static_cast<std::size_t>(crypto::uniform_below(bits, scores.size()));
      const releases::UInt128 behind = distance(best, scores[candidate]);
      if (noise::detail::bernoulli_exp(behind * epsilon_.units(), whole_, bits)) return candidate;
    }
  }

  /// The law of `select`, in double precision: for audits and tests. @param scores as for `select`
  [[nodiscard]] std::vector<long double> law(std::span<const std::int64_t> scores) const;

 private:
  ExponentialMechanism(releases::EpsilonAmount epsilon, ScoreRange range) noexcept;
  /// The highest score; stops the process where the scores are not what `select` takes.
  [[nodiscard]] static std::int64_t best_of(std::span<const std::int64_t> scores);
  /// best - score, which a signed word may not hold.
  [[nodiscard]] static std::uint64_t distance(std::int64_t best, std::int64_t score) noexcept {
    return static_cast<std::uint64_t>(best) - static_cast<std::uint64_t>(score);
  }
  releases::EpsilonAmount epsilon_;
  ScoreRange range_;
  releases::UInt128 whole_;  // R in units of 2^-40, as epsilon_ is: the rate is epsilon_ / whole_ per unit of score
};

}  // namespace undertone::mechanisms
