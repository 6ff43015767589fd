#pragma once

#include <cstdint>
#include <optional>

#include "shared/releases/rounds_max.hpp"

namespace undertone::config {
class Section;
}

/// Keys of a job's `algorithm` that several algorithms read, each with one meaning and one range.
namespace undertone::algorithms::keys {

inline constexpr double kNumberMax = 1e9;

/// A whole number from 1.
[[nodiscard]] std::uint64_t count(config::Section& section, const char* key, const char* about,
                                  std::uint64_t most = releases::kRoundsMax);
[[nodiscard]] std::uint64_t rounds(config::Section& section);
[[nodiscard]] double step_size(config::Section& section);
[[nodiscard]] double draw_fraction(config::Section& section);
/// A public beta for the clip of differences, if the job has one.
[[nodiscard]] std::optional<double> smoothness(config::Section& section);
/// Of the choice of an output.
[[nodiscard]] std::uint64_t seed(config::Section& section);

}  // namespace undertone::algorithms::keys
