#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone {

/// Reads a whole file. @param bytes_max a larger file is refused unread; of a device or a pipe no more is read
/// @return an error that names the file, never its content
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max);

/// Makes the folder that a file will stand in, for its owner alone, if it is not there.
[[nodiscard]] Status make_folder_for(const std::filesystem::path& file);

/// Makes a file, empty where it is not there yet, its owner's alone: nobody else reads it, nor what SQLite puts beside
/// it.
[[nodiscard]] Status make_private_file(const std::filesystem::path& file);

/// @return an error where anybody but its owner may read or write the file
[[nodiscard]] Status check_private_file(const std::filesystem::path& file);

/// Makes a file that another library wrote, and its name, survive a loss of power.
[[nodiscard]] Status sync_file(const std::filesystem::path& path);

/// Replaces a file's content: after a crash the file holds the old content or the new, whole. Synced before it returns.
/// What is new stands under a name that cannot be guessed until it is whole; a crash may leave such a file, `*.new`,
/// which nothing reads and no later write minds.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace undertone
