#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "verifier/symmetric_profile.hpp"

namespace undertone::verifier {

/// Equal releases, each with all of the noise of its own.
struct SampledRelease {
  std::shared_ptr<const SymmetricProfile> profile;
  long double rounds;
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

/// A pair that dominates the profile's, with losses at 0, +-step, ..., +-cells * step.
[[nodiscard]] LossLaw law_above(const SymmetricProfile& profile, long double step, std::size_t cells);
/// A pair that the profile's dominates even without its excess, with such losses too.
[[nodiscard]] LossLaw law_below(const SymmetricProfile& profile, long double step, std::size_t cells);
/// A pair that dominates the profile's, with a few losses from -loss_max to loss_max: for bounds, not to be convolved.
[[nodiscard]] LossLaw law_sketched(const SymmetricProfile& profile, long double loss_max);

}  // namespace undertone::verifier
