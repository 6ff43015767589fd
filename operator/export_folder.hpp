#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::operators {

/// A file's name and its content.
using ExportedFile = std::pair<std::string, std::string>;

/// Whether a run's files may be written into the folder: it holds no run, or this one.
/// @return an error where it holds another run, or files of which nobody can say which run they are of
[[nodiscard]] Status check_export_folder(const std::filesystem::path& folder, const std::string& run);

/// Writes all files, or none: after an error the folder holds no file, and no folder is there, that was not there
/// before. A file of the same run that was there keeps its old content or has the new.
[[nodiscard]] Status write_export(const std::filesystem::path& folder, const std::vector<ExportedFile>& files);

}  // namespace undertone::operators
