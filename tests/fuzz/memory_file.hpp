#pragma once

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/base/result.hpp"

namespace undertone::fuzz {

/// A file without a disk, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("input", MFD_CLOEXEC)) { UNDERTONE_CHECK(descriptor_ >= 0); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void hold(std::string_view content) const {
    UNDERTONE_CHECK(::ftruncate(descriptor_, 0) == 0);
    UNDERTONE_CHECK(::pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size()));
  }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace undertone::fuzz
