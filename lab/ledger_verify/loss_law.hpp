#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace undertone::ledger_verify {

/// A corner of a profile: its height at a loss.
struct Corner {
  long double loss;
  long double height;
};
/// A convex profile by its corners, straight between them in e^loss, horizontal after the last.
using Polygon = std::vector<Corner>;

/// One of equal Gaussian releases from a fresh uniform subset. Its profile is the symmetric one of privacy-core.md,
/// section D.2: h(ratio) = rate * G(ln(1 + (ratio - 1) / rate); mu) at ratio = e^loss >= 1, with G the Gaussian's, and
/// below 1 what h(ratio) = 1 - ratio + ratio * h(1 / ratio) makes of it.
/// Or any release whose profile is given, from a loss of 0 on, by a polygon.
struct SampledRelease {
  long double mu;
  long double rate;  // 1 of a polygon
  long double rounds;
  std::shared_ptr<const Polygon> polygon = nullptr;

  [[nodiscard]] long double profile(long double loss) const;
  /// Derivative of the profile by the ratio.
  [[nodiscard]] long double slope(long double loss) const;
  /// A positive loss above which all rounds together have at most this delta.
  [[nodiscard]] long double loss_max(long double delta) const;
};

/// The pair of discrete laws whose profile is a polygon where the ratio is at least 1, and its mirror image below. By
/// the symmetry `mass` is both what the second law gives to `loss` and what the first gives to -loss; the first gives
/// e^loss times as much to `loss`.
struct LossLaw {
  struct Atom {
    long double loss;
    long double mass;
  };
  long double at_zero = 1;
  long double at_infinity = 0;
  std::vector<Atom> atoms;

  /// Logarithm of the mean of e^(tilt * loss) under the first law, without what is at infinity.
  [[nodiscard]] long double log_moment(long double tilt) const;
};

/// A pair that dominates the release's, with losses at 0, +-step, ..., +-cells * step.
[[nodiscard]] LossLaw law_above(const SampledRelease& release, long double step, std::size_t cells);
/// A pair that the release's dominates, with such losses too.
[[nodiscard]] LossLaw law_below(const SampledRelease& release, long double step, std::size_t cells);
/// A pair that dominates the release's, with a few losses from -loss_max to loss_max: for bounds, not to be convolved.
[[nodiscard]] LossLaw law_sketched(const SampledRelease& release, long double loss_max);

}  // namespace undertone::ledger_verify
