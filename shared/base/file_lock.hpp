#pragma once

#include <filesystem>

#include "shared/base/result.hpp"

namespace undertone {

/// Holds a file for one process at a time (flock); released when the process ends, however it ends.
class FileLock {
 public:
  [[nodiscard]] static Result<FileLock> acquire(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace undertone
