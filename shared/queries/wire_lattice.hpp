#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/planning/plan.hpp"

namespace undertone::queries {

/// How a reply's integers cross the wire.
enum class ReplyType : std::uint8_t { I32 = 1, I64 = 2 };

/// The job's common lattice for released means: one power-of-two step for every silo.
struct WireLattice {
  ReplyType type = ReplyType::I64;
  int step_log2 = 0;
};

/// The largest magnitude that a value of the type may have.
[[nodiscard]] double largest(ReplyType type) noexcept;

/// An error where a release's mean, with 40 standard deviations of noise, does not fit the type, or the step is coarser
/// than a quarter of the noise it would round. Of a local run: where what its steps may add up to does not.
[[nodiscard]] Status check_fits(const planning::Release& release, const WireLattice& wire);

/// Converts a released (noised or public) sum to the mean on the wire lattice: post-processing of what is already
/// private, rounded to nearest, clamped to the type.
/// @param sum [d] lattice units of the release
[[nodiscard]] std::vector<std::int64_t> to_wire(std::span<const std::int64_t> sum, const planning::Release& release,
                                                const WireLattice& wire);

/// What a statistic's totals cross the wire on: whole records where they are counts with discrete Laplace noise, else
/// 2^-20 of the real unit, which every other Laplace lattice has and Gaussian ones are brought to. So do its reports,
/// but for bits, which are themselves.
[[nodiscard]] WireLattice statistic_lattice(const releases::Ask& ask);
/// A statistic's noised totals on that lattice: of Laplace noise themselves, of Gaussian noise rounded to nearest,
/// which is post-processing; clamped to the type, which noise leaves with probability below 2^-1000.
/// @param sum [d] lattice units of the release
[[nodiscard]] std::vector<std::int64_t> totals_to_wire(std::span<const std::int64_t> sum,
                                                       const planning::Release& release);

/// A mean's conversion of a point that is private already, such as the end of a local run. @param point [d]
[[nodiscard]] std::vector<std::int64_t> to_wire(const Eigen::VectorXd& point, const WireLattice& wire);

}  // namespace undertone::queries
