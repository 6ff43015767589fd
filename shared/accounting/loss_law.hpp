#pragma once

#include <cstdint>
#include <memory>

#include "shared/base/result.hpp"
#include "shared/releases/quantities.hpp"

namespace undertone::accounting {

/// P[e < L < infinity] and Q[e < L] of the privacy loss L = ln(dP/dQ).
struct LossTails {
  long double p = 0.0L;
  long double q = 0.0L;
};

/// The privacy loss of one release: of a pair (P, Q) that dominates both orders of every pair of neighbours, so that
/// the composition of such pairs dominates adaptive composition whose sequence of pairs is fixed in advance. Where one
/// pair cannot serve both orders (Poisson sampling under add/remove) there is a law for each.
/// Tails have a relative error below 1e-15 towards large losses.
/// Source: spec privacy-core D.2; dominating pairs: Zhu, Dong, Wang 2022.
class LossLaw {
 public:
  LossLaw() = default;
  LossLaw(const LossLaw&) = delete;
  LossLaw& operator=(const LossLaw&) = delete;
  virtual ~LossLaw() = default;
  [[nodiscard]] virtual LossTails above(long double loss) const = 0;
  /// P's mass of an infinite loss.
  [[nodiscard]] virtual double infinite() const { return 0.0; }
  /// The hockey-stick divergence of order e^epsilon, any epsilon: the smallest delta of one release.
  [[nodiscard]] double delta(double epsilon) const;
};
using LossLawPtr = std::shared_ptr<const LossLaw>;

/// N(0, 1) against N(mu, 1).
[[nodiscard]] LossLawPtr gaussian_law(releases::GaussianShift shift);

/// A Gaussian release of a fixed-size subset, drawn afresh and secretly without replacement, under replacement of one
/// record: the symmetric dominating profile of spec privacy-core D.2, valid for both orders and under composition.
/// @param rate K/n in (0, 1] @param shift of a release in which the changed record was drawn
[[nodiscard]] Result<LossLawPtr> subset_gaussian_law(double rate, releases::GaussianShift shift);

/// A Gaussian release of a fixed-size subset that everybody knows: with probability 1 - rate nothing of the changed
/// record is in it, else it is a Gaussian release. Holds whatever the rest of the sum makes of the draw, as long as
/// sums over the same draw are within the shift. @param rate K/n in (0, 1]
[[nodiscard]] Result<LossLawPtr> known_subset_gaussian_law(double rate, releases::GaussianShift shift);

/// The same release, as bad as it is attained: ((1 - rate) N(0, 1) + rate N(mu, 1), N(0, 1)), or the reverse. No upper
/// bound under composition: only to know how far the bound above can be from the truth.
[[nodiscard]] Result<LossLawPtr> subset_gaussian_attained_law(double rate, releases::GaussianShift shift, bool reverse);

/// A Gaussian release of K records drawn with replacement from n, under replacement of one record: the water-filled
/// profile of spec privacy-core D.2. @param shift of one occurrence
/// @param cut so many occurrences that all of them together have at most this probability count as an infinite loss
[[nodiscard]] Result<LossLawPtr> multiset_gaussian_law(std::int64_t records, std::int64_t draws,
                                                       releases::GaussianShift shift, double cut = 1e-24);

/// Poisson sampling under add/remove of one record, either order. Neither offered to jobs nor a bound for
/// replace-one; only to compare with published figures. @param shift of the record's one contribution
[[nodiscard]] Result<LossLawPtr> poisson_gaussian_law(double rate, releases::GaussianShift shift, bool added);

/// Laplace noise of scale sensitivity / epsilon on one number, or any vector by its l1 sensitivity.
[[nodiscard]] LossLawPtr laplace_law(releases::Epsilon epsilon);

/// Any (epsilon, delta)-DP release. @param delta in [0, 1)
[[nodiscard]] Result<LossLawPtr> approximate_dp_law(releases::Epsilon epsilon, double delta);

/// Discrete Gaussian noise of variance sigma^2 on one integer that changes by at most `sensitivity`.
/// Only one coordinate: in more dimensions the zCDP bound holds and this law does not.
[[nodiscard]] Result<LossLawPtr> discrete_gaussian_law(double variance, std::int64_t sensitivity);

}  // namespace undertone::accounting
