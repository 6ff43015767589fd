#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "verifier/loss_law.hpp"

namespace undertone::verifier {

/// Two laws of sums of losses, each tilted: the mass of a sum s is multiplied by e^(tilt * s) and divided by the total.
struct TiltedSums {
  /// The mass of a sum of i steps is in the element i modulo the size, together with the sums that many steps away.
  /// Real parts are of the laws above, imaginary parts of the laws below.
  std::vector<std::complex<double>> masses;
  /// Allowance for the root of the sum of squares of the errors by round-off.
  double error;
};

/// @param above, below one law per release, with losses at multiples of step
/// @param points a power of two
[[nodiscard]] TiltedSums tilted_sums(const std::vector<SampledRelease>& releases, const std::vector<LossLaw>& above,
                                     const std::vector<LossLaw>& below, long double tilt, long double step,
                                     std::size_t points);

}  // namespace undertone::verifier
