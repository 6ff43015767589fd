#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// Where the ledger's latest head lives outside the ledger's file, so that restoring an old copy of it is noticed.
class HeadStore {
 public:
  HeadStore() = default;
  HeadStore(const HeadStore&) = delete;
  HeadStore& operator=(const HeadStore&) = delete;
  virtual ~HeadStore() = default;
  /// @return nothing where no head was ever written
  [[nodiscard]] virtual Result<std::optional<std::string>> read() = 0;
  /// On disk when this returns without an error.
  [[nodiscard]] virtual Status write(std::string_view head) = 0;
};

/// A file on a path of the owner's choice: 64 KiB of lines, a head each, the last whole one counts and line feeds fill
/// the rest, so that a new head is written in place and a sync has no length to record. A line that a crash cut short
/// does not begin with { and end with }, and is as if it had not been written. A full file is replaced by its last
/// line, atomically.
class FileHeadStore final : public HeadStore {
 public:
  explicit FileHeadStore(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] Result<std::optional<std::string>> read() override;
  [[nodiscard]] Status write(std::string_view head) override;

 private:
  std::filesystem::path path_;
  std::size_t end_ = 0;  // of the last line that this process wrote; 0: none, or the file is to be replaced
};

}  // namespace undertone::silo
