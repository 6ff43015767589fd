#pragma once

#include <cstdint>
#include <optional>

#include "shared/accounting/accountant.hpp"
#include "shared/accounting/shuffling.hpp"
#include "shared/releases/fixed_amount.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// Rounds of Gaussian reports of one kind that pass a shuffler, as far as a record meets them.
struct ShuffledRounds {
  std::uint64_t silos = 1;      // honest ones, the record's own among them
  double rate = 1.0;            // K/n, at least
  std::int64_t drawn = 1;       // K
  std::int64_t population = 1;  // n
  std::uint64_t rounds = 1;
  friend bool operator==(const ShuffledRounds&, const ShuffledRounds&) = default;
};

/// What the replies of others are worth to a plan: each round is the clones' pair at these epsilons (ClonesEvent), but
/// for the part of delta that pays for how far it is from that pair.
struct ShufflerCredit {
  releases::EpsilonAmount record_epsilon;
  releases::EpsilonAmount silo_epsilon;
  releases::DeltaAmount failure;  // at least credit_failure

  [[nodiscard]] ClonesEvent event(std::uint64_t silos) const;
};

/// (1 + e^epsilon) times the total variation of all rounds: what the credit has to pay at this shift, rounded up. The
/// composition over adaptive rounds of laws that are each within tau of bounded ones is within rounds x tau of a
/// bounded one. Others' messages take part in hiding the record, so what their samplers may deviate counts too, 2^-80
/// each.
[[nodiscard]] Result<releases::DeltaAmount> credit_failure(const ShuffledRounds& rounds, releases::GaussianShift shift,
                                                           releases::EpsilonAmount record_epsilon,
                                                           releases::EpsilonAmount silo_epsilon,
                                                           const releases::Epsilon& epsilon);

/// The credit whose failure is so much of delta: the smallest epsilons that it pays for.
/// @return nothing where no reply could hide another: a silo's epsilon would be above 30
[[nodiscard]] std::optional<ShufflerCredit> credit_at(const ShuffledRounds& rounds, releases::GaussianShift shift,
                                                      const releases::Epsilon& epsilon, releases::DeltaAmount failure);

/// Rounds that are credited at most: the search composes them some twenty times, within seconds.
inline constexpr std::uint64_t kCreditedRoundsMax = 20'000;

/// The largest shift at which rounds that are mixed keep (epsilon, delta), and the credit that says so.
struct CreditedShift {
  releases::GaussianShift shift;
  ShufflerCredit credit;
  double epsilon = 0.0;  // of all rounds, at the delta that the failure leaves
};
/// @param local the largest shift without a shuffler
/// @param delta of the mechanism and the credit's failure together
/// @return nothing where mixing allows no shift that is larger by a thousandth: then it is worth nothing; and for
/// more than kCreditedRoundsMax rounds. The last few are remembered.
[[nodiscard]] std::optional<CreditedShift> credited_shift(const ShuffledRounds& rounds, releases::GaussianShift local,
                                                          const releases::Epsilon& epsilon,
                                                          releases::DeltaAmount delta);

/// Where `silos_for_gain` stops looking: a job has fewer silos.
inline constexpr std::uint64_t kCreditedSilosMax = std::uint64_t{1} << 17U;

/// The first doubling of the silos with which mixing would allow a larger shift than the local one, if all else stays.
/// @return nothing up to kCreditedSilosMax
[[nodiscard]] std::optional<std::uint64_t> silos_for_gain(const ShuffledRounds& rounds, releases::GaussianShift local,
                                                          const releases::Epsilon& epsilon,
                                                          releases::DeltaAmount delta);

}  // namespace undertone::accounting
