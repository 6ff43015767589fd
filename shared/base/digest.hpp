#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone {

/// A SHA-256 value.
using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);

/// HMAC-SHA-256. @param key any length, secret
[[nodiscard]] Digest hmac_sha256(std::string_view key, std::string_view bytes);

[[nodiscard]] std::string_view as_bytes(const Digest& digest) noexcept;
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);
[[nodiscard]] Result<std::string> from_hex(std::string_view hex);
[[nodiscard]] Result<Digest> digest_from_hex(std::string_view hex);
[[nodiscard]] Result<Digest> digest_from_bytes(std::string_view bytes);

}  // namespace undertone
