#pragma once

#include <filesystem>

namespace undertone::operators {

/// Predictions of a model for the records of a CSV file: one line a record.
/// @param out a CSV file; "-" for standard output
/// @return an exit code
[[nodiscard]] int predict(const std::filesystem::path& model, const std::filesystem::path& csv,
                          const std::filesystem::path& out, bool json);

}  // namespace undertone::operators
