#pragma once

#include <cstdint>
#include <filesystem>

namespace undertone::operators {

/// Writes the leading principal components of a model of moments as a job's "projection", and shows their variances:
/// post-processing of what the run that made the model released and paid for.
/// @param out a file; standard output where it is empty or "-"
[[nodiscard]] int components(const std::filesystem::path& model, std::int64_t count, const std::filesystem::path& out);

}  // namespace undertone::operators
