#pragma once

#include <filesystem>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone {

/// Replaces a file's content: after a crash the file holds the old content or the new, whole. Synced before it returns.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace undertone
