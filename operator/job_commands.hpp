#pragma once

#include <filesystem>

/// What can be asked of a job without a coordinator. Each returns an exit code.
namespace undertone::operators {

/// Everything that is wrong with a job's file, at once.
[[nodiscard]] int validate_job(const std::filesystem::path& job, bool json, bool full = false);
/// What each silo would release and pay, before anybody runs the job.
[[nodiscard]] int plan_job(const std::filesystem::path& job, bool json);

}  // namespace undertone::operators
