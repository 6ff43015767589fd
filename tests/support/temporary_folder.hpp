#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace undertone::tests {

/// A folder that goes with its owner.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& within = std::filesystem::temp_directory_path()) {
    std::string pattern = (within / "undertone-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace undertone::tests
