#include "shared/accounting/shuffled_credit.hpp"

#include <cmath>
#include <vector>

#include "shared/accounting/loss_law.hpp"
#include "shared/base/bisection.hpp"
#include "shared/base/remembered_searches.hpp"
#include "shared/base/work_meter.hpp"

namespace undertone::accounting {
namespace {

constexpr double kShiftGain = 1e-3;      // relative: less is not worth trusting anybody for
constexpr double kShiftAccuracy = 1e-3;  // of the shift
constexpr double kShiftMax = 16.0;       // of one release, as of any plan
constexpr double kEpsilonMax = 30.0;     // of a silo: e^-30 clones hide nothing
/// Of delta, for failures, and of that, for those of the record's epsilon. Both optima are flat: over a range of silos,
/// draws and rounds the shift changes by less than a hundredth between 0.5 and 0.8.
constexpr double kFailureShare = 0.65;
constexpr double kRecordShare = 0.65;

DrawnReports reports_of(const ShuffledRounds& rounds, releases::GaussianShift shift) {
  return {rounds.rate, rounds.drawn, shift};
}

/// The smallest epsilon, in whole units, at which a decreasing cost is at most `allowed`; nothing up to the largest.
template <class Cost>
std::optional<releases::EpsilonAmount> smallest_units(const Cost& cost, double allowed) {
  const auto enough = [&](double epsilon) { return cost(epsilon) <= allowed; };
  if (!enough(kEpsilonMax)) return std::nullopt;
  const double least = bisect_reals({0.0, kEpsilonMax}, enough, 50).high;
  const Result<releases::EpsilonAmount> units = releases::EpsilonAmount::rounded_up(least);
  if (!units) return std::nullopt;
  return *units;
}

/// What a credit lets the rounds cost; nothing where no accountant bounds them.
std::optional<double> charged(const ShuffledRounds& rounds, const ShufflerCredit& credit, releases::DeltaAmount delta) {
  if (credit.failure >= delta) return std::nullopt;
  const Result<releases::Delta> rest = releases::Delta::create(
      releases::DeltaAmount::from_units(delta.units() - credit.failure.units()).value_rounded_down());
  if (!rest) return std::nullopt;
  const Result<double> epsilon = charged_epsilon({{credit.event(rounds.silos), rounds.rounds}}, *rest);
  if (!epsilon) return std::nullopt;
  return *epsilon;
}

std::optional<CreditedShift> credit_within(const ShuffledRounds& rounds, releases::GaussianShift shift,
                                           const releases::Epsilon& epsilon, releases::DeltaAmount delta) {
  const Result<releases::DeltaAmount> failure =
      releases::DeltaAmount::rounded_down(delta.value_rounded_down() * kFailureShare);
  if (!failure) return std::nullopt;
  const std::optional<ShufflerCredit> credit = credit_at(rounds, shift, epsilon, *failure);
  if (!credit) return std::nullopt;
  const std::optional<double> cost = charged(rounds, *credit, delta);
  if (!cost || *cost > epsilon.value()) return std::nullopt;
  return CreditedShift{shift, *credit, *cost};
}

std::optional<CreditedShift> search(const ShuffledRounds& rounds, releases::GaussianShift local,
                                    const releases::Epsilon& epsilon, releases::DeltaAmount delta) {
  std::optional<CreditedShift> best;
  const auto try_shift = [&](double value) {
    if (WorkMeter::stopped()) return false;
    const Result<releases::GaussianShift> shift = releases::GaussianShift::create(value);
    if (!shift) return false;
    const std::optional<CreditedShift> credited = credit_within(rounds, *shift, epsilon, delta);
    if (!credited) return false;
    best = credited;
    return true;
  };
  double low = local.value() * (1.0 + kShiftGain);
  if (!try_shift(low)) return std::nullopt;
  double high = 2.0 * low;
  while (high < kShiftMax && try_shift(high)) {
    low = high;
    high *= 2.0;
  }
  // `best` is the low end's, whose try was the last to succeed.
  (void)bisect(
      SearchRange<double>{low, high}, [&](double shift) { return !try_shift(shift); },
      [](const SearchRange<double>& at) { return at.high > at.low * (1.0 + kShiftAccuracy); },
      [](const SearchRange<double>& at) { return std::sqrt(at.low * at.high); });
  return best;
}

}  // namespace

ClonesEvent ShufflerCredit::event(std::uint64_t silos) const {
  return {silos - 1, record_epsilon.value_rounded_up(), silo_epsilon.value_rounded_down()};
}

Result<releases::DeltaAmount> credit_failure(const ShuffledRounds& rounds, releases::GaussianShift shift,
                                             releases::EpsilonAmount record_epsilon,
                                             releases::EpsilonAmount silo_epsilon, const releases::Epsilon& epsilon) {
  UNDERTONE_TRY(const double variation,
                clones_total_variation(rounds.silos, reports_of(rounds, shift), record_epsilon.value_rounded_up(),
                                       silo_epsilon.value_rounded_down()));
  const double samplers = static_cast<double>(rounds.silos - 1) * 0x1p-80;
  return releases::DeltaAmount::rounded_up((1.0 + std::exp(epsilon.value())) * static_cast<double>(rounds.rounds) *
                                           (variation + samplers) * (1.0 + 1e-9));
}

std::optional<ShufflerCredit> credit_at(const ShuffledRounds& rounds, releases::GaussianShift shift,
                                        const releases::Epsilon& epsilon, releases::DeltaAmount failure) {
  const Result<releases::GaussianShift> silo_shift =
      releases::GaussianShift::create(shift.value() * static_cast<double>(rounds.drawn) * (1.0 + 0x1p-50));
  const Result<LossLawPtr> record =
      rounds.rate == 1.0 ? Result<LossLawPtr>(gaussian_law(shift)) : subset_gaussian_law(rounds.rate, shift);
  if (!silo_shift || !record || rounds.silos < 1) return std::nullopt;
  const LossLawPtr silo = gaussian_law(*silo_shift);
  const auto others = static_cast<double>(rounds.silos - 1);
  const double each = failure.value_rounded_down() / (1.0 + std::exp(epsilon.value())) /
                          static_cast<double>(rounds.rounds) * (1.0 - 1e-6) -
                      others * 0x1p-80;
  if (!(each > 0.0)) return std::nullopt;
  const std::optional<releases::EpsilonAmount> record_epsilon =
      smallest_units([&](double at) { return (*record)->delta(at) / (1.0 + std::exp(at)); }, kRecordShare * each);
  const std::optional<releases::EpsilonAmount> silo_epsilon =
      smallest_units([&](double at) { return others * silo->delta(at) * std::exp(-at); }, (1.0 - kRecordShare) * each);
  if (!record_epsilon || !silo_epsilon || record_epsilon->units() == 0 || silo_epsilon->units() == 0)
    return std::nullopt;
  const Result<releases::DeltaAmount> needed = credit_failure(rounds, shift, *record_epsilon, *silo_epsilon, epsilon);
  if (!needed || *needed > failure) return std::nullopt;
  return ShufflerCredit{*record_epsilon, *silo_epsilon, failure};
}

std::optional<CreditedShift> credited_shift(const ShuffledRounds& rounds, releases::GaussianShift local,
                                            const releases::Epsilon& epsilon, releases::DeltaAmount delta) {
  struct Promised {
    ShuffledRounds rounds;
    double local;
    double epsilon;
    releases::DeltaAmount delta;
    bool operator==(const Promised&) const = default;
  };
  using Found = std::optional<CreditedShift>;
  static RememberedSearches<Promised, Found> known(16);
  const Result<Found> found = known.find({rounds, local.value(), epsilon.value(), delta},
                                         [&]() -> Result<Found> { return search(rounds, local, epsilon, delta); });
  return found ? *found : std::nullopt;
}

std::optional<std::uint64_t> silos_for_gain(const ShuffledRounds& rounds, releases::GaussianShift local,
                                            const releases::Epsilon& epsilon, releases::DeltaAmount delta) {
  const Result<releases::GaussianShift> more = releases::GaussianShift::create(local.value() * (1.0 + kShiftGain));
  if (!more) return std::nullopt;
  ShuffledRounds at = rounds;
  for (at.silos = 2 * rounds.silos; at.silos <= kCreditedSilosMax; at.silos *= 2)
    if (credit_within(at, *more, epsilon, delta)) return at.silos;
  return std::nullopt;
}

}  // namespace undertone::accounting
