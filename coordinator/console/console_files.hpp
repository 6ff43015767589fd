#pragma once

#include <span>
#include <string_view>

namespace undertone::coordinator {

/// A file of this folder, put into the program by CMake.
struct ConsoleFile {
  std::string_view path;
  std::string_view text;
};
[[nodiscard]] std::span<const ConsoleFile> console_files();

}  // namespace undertone::coordinator
