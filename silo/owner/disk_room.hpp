#pragma once

#include <cstdint>
#include <filesystem>

#include "shared/base/result.hpp"

namespace undertone::silo {

/// What a disk has to have free for an agent to answer: a silo whose ledger cannot grow refuses everything.
inline constexpr std::uintmax_t kRoomLeast = std::uintmax_t{64} << 10U;  // a transaction with its log

/// Whether a file can grow where it stands, or where it will.
/// @return an error that names the file: no room of so many bytes, or a disk that is mounted read-only
[[nodiscard]] Status check_room(const std::filesystem::path& file, std::uintmax_t bytes = kRoomLeast);

}  // namespace undertone::silo
