#pragma once

#include <cstdint>

namespace undertone::crypto {

/// Where random words came from, as a reply and a ledger say it.
enum class NoiseKind : std::uint8_t { Secure = 1, Test = 2 };

}  // namespace undertone::crypto
