#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone {

/// A file's bytes where the system has them: read from disk when they are looked at, and given back when memory is
/// short. Whoever maps a file sees to it that nobody shortens it meanwhile: a look at what is no longer there ends the
/// process. A file that is removed or replaced by another of its name stays as it was.
class MappedFile {
 public:
  /// @return an error that names the file where it is none, is empty or cannot be read
  [[nodiscard]] static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
  /// Gives the memory back that holds bytes which were looked at. They are read again when they are looked at again.
  void give_back() const noexcept;

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};

}  // namespace undertone
