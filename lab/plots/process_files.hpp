#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "shared/base/result.hpp"

namespace undertone::lab {

/// A file without a name, for a child process to read or write: no path, no pipe that fills up.
class MemoryFile {
 public:
  /// @return a file that holds the content and is read from its beginning
  [[nodiscard]] static Result<MemoryFile> with(std::string_view content);
  MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Everything in it. @return an error where that is more than `bytes_max`
  [[nodiscard]] Result<std::string> content(std::size_t bytes_max) const;

 private:
  explicit MemoryFile(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace undertone::lab
