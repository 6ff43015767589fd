#pragma once

#include <filesystem>

/// What can be asked of a job or a model without a coordinator. Each returns an exit code.
namespace undertone::lab {

/// Everything that is wrong with a job's file, at once.
[[nodiscard]] int validate_job(const std::filesystem::path& job, bool json);
/// What each silo would release and pay, before anybody runs the job.
[[nodiscard]] int plan_job(const std::filesystem::path& job, bool json);
/// Predictions of a model for the records of a CSV file: one line a record.
/// @param out a CSV file; "-" for standard output
[[nodiscard]] int predict(const std::filesystem::path& model, const std::filesystem::path& csv,
                          const std::filesystem::path& out, bool json);

}  // namespace undertone::lab
