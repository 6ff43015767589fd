#pragma once

#include <filesystem>
#include <spawn.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::service {

/// What a program that is started finds at its descriptors, in the order of the calls; the others it inherits.
class SpawnFiles {
 public:
  SpawnFiles() { posix_spawn_file_actions_init(&actions_); }
  SpawnFiles(const SpawnFiles&) = delete;
  SpawnFiles& operator=(const SpawnFiles&) = delete;
  ~SpawnFiles() { posix_spawn_file_actions_destroy(&actions_); }

  /// `to` is the same file as `from`.
  void redirect(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  /// `descriptor` reads the file.
  void read(const std::filesystem::path& file, int descriptor);
  /// `descriptor` appends to the file, which is made with mode 0600 where there is none.
  void append(const std::filesystem::path& file, int descriptor);
  [[nodiscard]] const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// Starts a program; no shell reads the command.
/// @param command the program, looked up in PATH where it holds no slash, and its arguments
/// @param environment "NAME=value", before what this process has
/// @return the process, for waitpid
[[nodiscard]] Result<pid_t> spawn(const std::vector<std::string>& command, const SpawnFiles& files,
                                  const std::vector<std::string>& environment = {});

}  // namespace undertone::service
