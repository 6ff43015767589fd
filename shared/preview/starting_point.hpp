#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "shared/jobs/job.hpp"

/// This says what a bound on a run's result is worth beside where the run starts.
namespace undertone::preview {

/// The most that a bound's measure can be at the starting point.
struct StartingPoint {
  double most = 0.0;  // of the bound's measure
  std::string why;    // "the zero model's loss"
};

/// Finds the least number that public facts prove: the loss of the zero model, since no optimum's is below 0; the gap
/// that the theorem reckons with; the longest gradient that the public bounds allow, times the domain's diameter; its
/// square, of a squared gradient.
/// @param measure of the bound: "excess risk" @return nothing where no such number is known
[[nodiscard]] std::optional<StartingPoint> starting_point(const jobs::Job& job, std::string_view measure);

/// Returns a sentence where the bound is no better than the starting point, so that it promises nothing. The sentence
/// says from how many times as many records, and from how many times the epsilon, the bound would be better. It is
/// empty where the bound is better, or where nothing is known of the starting point.
/// @param text of the job, which is planned again with four times its records and twice its epsilon, and so on, until
/// the bound is better, up to `kRecordsMoreMax` and `kEpsilonMoreMax` times or until the plans have taken
/// `kIdleWorkMax`
[[nodiscard]] std::string idle_bound_warning(const std::string& text, const std::filesystem::path& file,
                                             const jobs::Job& job, const algorithms::RiskBound& bound);
inline constexpr int kRecordsMoreMax = 4096;
inline constexpr int kEpsilonMoreMax = 32;
inline constexpr std::uint64_t kIdleWorkMax = std::uint64_t{1} << 29U;  // operations of a WorkMeter, for both together

}  // namespace undertone::preview
