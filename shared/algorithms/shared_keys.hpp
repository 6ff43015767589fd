#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/algorithms/sgd/server_step.hpp"
#include "shared/releases/rounds_max.hpp"

namespace undertone::config {
class Section;
}

/// Keys of a job's `algorithm` that several algorithms read, each with one meaning and one range.
namespace undertone::algorithms::keys {

inline constexpr double kNumberMax = 1e9;
inline constexpr double kNumberMin = 1e-12;  // of what is divided by: its inverse is far from infinite
inline constexpr std::size_t kPhasesMax = 64;

/// A whole number from 1.
[[nodiscard]] std::uint64_t count(config::Section& section, const char* key, const char* about,
                                  std::uint64_t most = releases::kRoundsMax);
[[nodiscard]] std::uint64_t rounds(config::Section& section);
[[nodiscard]] double step_size(config::Section& section);
[[nodiscard]] double draw_fraction(config::Section& section);
/// A public beta for the clip of differences, if the job has one.
[[nodiscard]] std::optional<double> smoothness(config::Section& section);
/// K: a silo's own steps in a round.
[[nodiscard]] std::uint64_t local_steps(config::Section& section);
/// b: records of one of them. @param least from which on; from 1 the key may be left out
[[nodiscard]] std::uint32_t local_batch(config::Section& section, std::uint32_t least);
/// Of methods whose phase i reads a part of n/2^i records.
[[nodiscard]] std::vector<config::Section> phases(config::Section& section);
/// How far a phase may go from where it began. @param phase one of them
[[nodiscard]] double phase_radius(config::Section& phase);
/// This reads how long the steps are, from round to round.
[[nodiscard]] StepSchedule step_schedule(config::Section& section);
/// This reads what the coordinator steps along.
[[nodiscard]] ServerOptimiser server_optimiser(config::Section& section);
/// Of the choice of an output.
[[nodiscard]] std::uint64_t seed(config::Section& section);

}  // namespace undertone::algorithms::keys
