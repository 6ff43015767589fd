#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace undertone::ledger_verify {

/// An amount in the format's units: 2^-40 for epsilon and shift squared, 2^-80 for delta.
__extension__ typedef unsigned __int128 UInt128;
using Bytes = std::string;

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kRunBytes = 48;
constexpr std::size_t kSignatureBytes = 64;

/// Two lower-case digits a byte.
[[nodiscard]] std::string to_hex(std::string_view bytes);

/// Bytes of any length, for a message.
[[nodiscard]] std::string shown(std::string_view bytes);

/// Refuses upper case, so that bytes have one spelling.
/// @param size in bytes, 0 for any but none
[[nodiscard]] std::optional<Bytes> from_hex(std::string_view text, std::size_t size);

/// Digits only and no leading zero, so that an amount has one spelling.
/// @return below 2^128
[[nodiscard]] std::optional<UInt128> parse_amount(std::string_view text);

/// A round or a sequence, spelled as an amount.
/// @return below 2^63
[[nodiscard]] std::optional<std::int64_t> parse_index(std::string_view text);

}  // namespace undertone::ledger_verify
