#pragma once

#include <filesystem>
#include <string>

#include "shared/base/result.hpp"

/// What can be asked of a job without a coordinator. Commands return an exit code.
namespace undertone::preview {

/// What `undertone plan --json` prints of a job.
/// @param text the job's; @param file that it is from, for errors and for the files that it names
/// @return an error where the job is not good
[[nodiscard]] Result<std::string> plan_of_job(const std::string& text, const std::filesystem::path& file);

/// Why a job is not good, as far as can be told without data, each problem on a line of its own.
[[nodiscard]] Status check_job(const std::string& text, const std::filesystem::path& file);

/// Everything that is wrong with a job's file, at once.
[[nodiscard]] int validate_job(const std::filesystem::path& job, bool json, bool full = false);
/// What each silo would release and pay, before anybody runs the job.
[[nodiscard]] int plan_job(const std::filesystem::path& job, bool json);

}  // namespace undertone::preview
