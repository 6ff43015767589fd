#pragma once

#include <cstdint>
#include <optional>

#include "shared/base/result.hpp"
#include "shared/features/feature_map.hpp"
#include "shared/releases/quantities.hpp"
#include "shared/statistics/noise_law.hpp"
#include "shared/statistics/stated.hpp"

namespace undertone::statistics {

/// The noise that a map's coordinates get at a price: discrete Laplace of scale Delta_1 / epsilon on a step.
/// @param bound in units of the vector @param step of the lattice: 1 of counts
[[nodiscard]] LaplaceNoise laplace_noise(PairwiseBound bound, releases::Epsilon epsilon, double step);
/// Rounded Gaussian of standard deviation Delta_2 / mu; the rounding is below 2^-16 of it and left out.
[[nodiscard]] GaussianNoise gaussian_noise(PairwiseBound bound, releases::GaussianShift shift);

/// Which noise has the smaller variance per number at the same (epsilon, delta): Laplace iff Delta_1 / Delta_2 is below
/// about epsilon / (sqrt(2) mu). Without delta it is Laplace; where a map has no Laplace form, Gaussian.
/// @param bound of the Laplace form and of the Gaussian one
enum class NoiseKind : std::uint8_t { Laplace, Gaussian };
struct NoiseChoice {
  NoiseKind kind = NoiseKind::Laplace;
  std::optional<double> laplace_stddev;   // per number
  std::optional<double> gaussian_stddev;  // per number
};
/// @param laplace_step of the lattice that a Laplace release would have
/// @return an error where neither serves: no delta and no Laplace form
[[nodiscard]] Result<NoiseChoice> choose_noise(PairwiseBound bound, releases::Epsilon epsilon,
                                               std::optional<releases::Delta> delta, double laplace_step);

/// The half-width of the noise interval that every number of a question gets, before anybody answers.
/// @param noise of one silo @param silos that answer, all alike @return in units of the total
[[nodiscard]] Result<double> expected_half_width(const CoordinateNoise& noise, std::int64_t silos,
                                                 Confidence confidence);

}  // namespace undertone::statistics
