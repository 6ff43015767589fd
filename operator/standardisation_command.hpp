#pragma once

#include <filesystem>

namespace undertone::operators {

/// Writes what a run of statistics found of columns, their means and variances, as the "standardisation" of a job that
/// learns of them: post-processing of what that run released and paid for. Features of which it found nothing, and
/// indicators, stay as they are. A variance is raised where noise makes it too small to divide by.
/// @param result the result.json of a run of statistics with variances or covariances
/// @param job whose data names the features; a standardisation that it has is not looked at
/// @param out a file; standard output where it is empty or "-" @param ready where it is not empty: a file that the job
/// is written to instead, with its standardisation, and validated
[[nodiscard]] int standardisation(const std::filesystem::path& result, const std::filesystem::path& job,
                                  const std::filesystem::path& out, const std::filesystem::path& ready);

}  // namespace undertone::operators
