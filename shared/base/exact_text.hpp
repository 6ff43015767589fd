#pragma once

#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace undertone {

/// A number to the last bit, for texts that two programs must write alike: its 64 bits in hexadecimal.
[[nodiscard]] inline std::string exact_text(double value) {
  return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value));
}

}  // namespace undertone
