#pragma once

#include <cstdint>
#include <filesystem>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// Disk room that is set aside beside a ledger, as a file of zeros that shrinks while the ledger grows. Whatever else
/// fills the disk, there is room for what was promised.
class RoomReserve {
 public:
  explicit RoomReserve(const std::filesystem::path& ledger) : file_(ledger.string() + ".room") {}

  /// Sets so many bytes aside in place of those before. They are allocated and not only written down. What is given
  /// back may be up to 256 KiB more than was asked for.
  /// @return ErrorCode::NoRoom where the disk has not got them, and those before stay
  [[nodiscard]] Status keep(std::uint64_t bytes) const;
  /// That are set aside now.
  [[nodiscard]] std::uint64_t kept() const;

 private:
  [[nodiscard]] Status grow(std::uint64_t from, std::uint64_t to) const;

  std::filesystem::path file_;
};

}  // namespace undertone::silo
