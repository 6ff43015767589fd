#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/accounting/loss_composition.hpp"
#include "shared/accounting/renyi.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// Releases as accountants see them. A shift is sensitivity / noise standard deviation of one release in which the
/// changed record takes part, under the neighbouring relation of the whole account.
struct GaussianEvent {
  releases::GaussianShift shift;
};
/// A fixed-size subset, drawn afresh without replacement; replace-one. Also Poisson sampling under replace-one.
struct SubsetGaussianEvent {
  double rate = 1.0;  // K/n
  releases::GaussianShift shift;
};
/// A fixed-size subset, drawn afresh and known to everybody; replace-one: what a secret draw costs where sums do not
/// keep the secret.
struct KnownSubsetGaussianEvent {
  double rate = 1.0;  // K/n
  releases::GaussianShift shift;
};
/// K draws with replacement from n; replace-one. @param shift of one occurrence
struct MultisetGaussianEvent {
  std::int64_t records = 0;
  std::int64_t draws = 0;
  releases::GaussianShift shift;
};
/// Poisson sampling; add/remove.
struct PoissonGaussianEvent {
  double rate = 1.0;
  releases::GaussianShift shift;
};
/// Continuous Laplace noise of scale sensitivity / epsilon. Not the discrete Laplace on integers, whose losses it does
/// not dominate: that is an ApproximateEvent.
struct LaplaceEvent {
  releases::Epsilon epsilon;
};
/// The exponential mechanism, or Gumbel noise on scores: epsilon-DP with losses within a range of epsilon.
struct ExponentialEvent {
  releases::Epsilon epsilon;
};
/// Any (epsilon, delta)-DP release, such as randomised response or a certified binomial sum. @param delta may be 0
struct ApproximateEvent {
  releases::Epsilon epsilon;
  double delta = 0.0;
};
/// Any rho-zCDP release: discrete Gaussians in several dimensions, generalised Gaussians.
struct ConcentratedEvent {
  Rho rho;
};
/// The same of a fixed-size subset, drawn afresh without replacement; replace-one. @see subset_zcdp_renyi
struct SubsetConcentratedEvent {
  double rate = 1.0;  // K/n
  Rho rho;            // for a record that was drawn
};
/// A round of replies that a shuffler mixed, as what it is close to: the pair of spec privacy-core E. How far the round
/// is from it in total variation is not in here: (1 + e^epsilon) times that comes off delta. @see clones_law
struct ClonesEvent {
  std::uint64_t others = 0;     // honest replies beside the one that differs
  double record_epsilon = 0.0;  // > 0
  double silo_epsilon = 0.0;    // > 0
};
using PrivacyEvent = std::variant<GaussianEvent, SubsetGaussianEvent, KnownSubsetGaussianEvent, MultisetGaussianEvent,
                                  PoissonGaussianEvent, LaplaceEvent, ExponentialEvent, ApproximateEvent,
                                  ConcentratedEvent, SubsetConcentratedEvent, ClonesEvent>;

/// The positions of a silo's secret permutation of its records, as a part of [0, 1), that a release reads. A record is
/// at one position, so what reads disjoint parts composes in parallel.
struct Footprint {
  double from = 0.0;
  double to = 1.0;
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

struct RepeatedEvent {
  PrivacyEvent event;
  std::uint64_t times = 1;
  Footprint footprint = {};
};

/// What one accountant says of all releases together.
struct Reading {
  std::string accountant;
  std::optional<Bracket> epsilon;  // lower: of the same releases, where the accountant knows it; else 0
  std::string note;                // why there is none, or how it was reached
};

/// Epsilon at a delta by every accountant that covers the releases. Each of them is an upper bound; the least is what
/// the system charges.
struct Account {
  double epsilon = 0.0;
  double epsilon_lower = 0.0;              // no accountant of the same laws can say less
  std::optional<double> epsilon_attained;  // no accountant at all can: some pair of neighbours reaches it
  std::vector<Reading> readings;
};

/// @param events fixed in advance; @param gap what numeric composition refines to
/// @return an error that names the parameter where a number is out of range, there are no or too many releases
[[nodiscard]] Result<Account> account(const std::vector<RepeatedEvent>& events, releases::Delta delta,
                                      double gap = 1e-3);

/// The releases whose footprint covers a position, for every position that differs: the cost is that of the dearest.
[[nodiscard]] Result<std::vector<std::vector<RepeatedEvent>>> by_position(const std::vector<RepeatedEvent>& events);

/// What is charged for releases that were planned: the least certified epsilon, rounded up.
[[nodiscard]] Result<double> charged_epsilon(const std::vector<RepeatedEvent>& events, releases::Delta delta);

}  // namespace undertone::accounting
