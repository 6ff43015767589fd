#pragma once

#include <filesystem>

namespace undertone::operators {

/// Writes a job that starts at a model's weights: the job with them as its "initial", and with their digest. The model
/// must read what the job's model reads, and be of its shape. What is written is validated first.
/// @param out a file; standard output where it is empty or "-"
[[nodiscard]] int warm_start(const std::filesystem::path& job, const std::filesystem::path& model,
                             const std::filesystem::path& out);

}  // namespace undertone::operators
