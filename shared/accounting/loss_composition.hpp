#pragma once

#include <cstdint>
#include <vector>

#include "shared/accounting/loss_law.hpp"
#include "shared/base/result.hpp"

namespace undertone::accounting {

/// Releases of one kind in a composition.
struct RepeatedLaw {
  LossLawPtr law;
  std::uint64_t times = 1;
};

/// Both ends of a number that was computed: the truth about the composition of the given laws lies between.
struct Bracket {
  double lower = 0.0;
  double upper = 0.0;
};

/// How far the numeric composition may go.
struct CompositionLimits {
  double gap = 0.005;                              // refine until upper and lower differ by at most this, relatively
  std::size_t points_max = std::size_t{1} << 21U;  // of one convolution: about 100 bytes each
};

/// At most this many releases are composed numerically.
inline constexpr std::uint64_t kComposedMax = 100'000'000;

/// Epsilon of the composition at a delta, and delta at an epsilon: the privacy losses, discretised once so that the
/// result can only be too large and once so that it can only be too small, are convolved by FFT after an exponential
/// tilt towards the answer, so that round-off is relative to delta. What windows cut off and what the transform rounds
/// is bounded and added.
///   upper: connect-the-dots, each loss split between its neighbours on the grid so that P and Q keep their mass
///   lower: the losses of one cell become one outcome (post-processing), whose loss is rounded down to the grid
/// @return an error where there is nothing to compose, too much, or the grid would need more than `points_max`
/// Source: spec privacy-core D.2; connect-the-dots: Doroshenko et al. 2022; tilting: the Esscher transform.
[[nodiscard]] Result<Bracket> composed_epsilon(const std::vector<RepeatedLaw>& laws, releases::Delta delta,
                                               const CompositionLimits& limits = {});
[[nodiscard]] Result<Bracket> composed_delta(const std::vector<RepeatedLaw>& laws, double epsilon,
                                             const CompositionLimits& limits = {});

}  // namespace undertone::accounting
