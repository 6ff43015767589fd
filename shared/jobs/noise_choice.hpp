#pragma once

#include <cstdint>

#include "shared/algorithms/method.hpp"
#include "shared/config/section.hpp"

namespace undertone::jobs {

/// Who chooses the noise of a job's releases. Whoever it is, each silo's accountant charges what it costs, and refuses
/// where that is more than was promised.
struct NoiseChoice {
  enum class By : std::uint8_t { Accountant, Theorem, Hand };
  By by = By::Accountant;
  double noise_multiplier = 0.0;  // by hand: noise / sensitivity of every training release
};

[[nodiscard]] NoiseChoice parse_noise_choice(config::Section section);

/// How one silo's gradients are asked for under the choice.
/// @param shape without shifts
/// @return an error where a theorem's conditions fail for this silo
[[nodiscard]] Result<algorithms::GradientShape> with_noise(const NoiseChoice& choice, algorithms::GradientShape shape,
                                                           const algorithms::Method& method,
                                                           const releases::SiloFacts& facts);

}  // namespace undertone::jobs
