#pragma once

#include <filesystem>

#include "shared/base/result.hpp"

namespace undertone {

/// Holds a file for one process at a time (flock); released when the process ends, however it ends. The file says which
/// process holds it, for whoever finds it held.
class FileLock {
 public:
  /// @return an error that names the process that holds it, where that is known, and says what to do
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& path);
  /// The same of a file that is there, by whatever name it is found: nothing is written to it. A database's own locks
  /// are of another kind, and go on beside this one; it is held for as long as the database is open, or longer.
  [[nodiscard]] static Result<FileLock> hold(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace undertone
