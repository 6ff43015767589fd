#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "verifier/ledger_texts.hpp"
#include "verifier/problems.hpp"

namespace undertone::verifier {

/// Of the bytes as stored.
constexpr std::size_t kBodyBytesMax = std::size_t{1} << 20;

/// A row of `entries`, as stored.
struct Entry {
  std::int64_t sequence = 0;
  Bytes previous;
  Bytes body;
  Bytes hash;
  Bytes signature;
};

/// What the head file says.
struct Head {
  bool missing = false;
  std::optional<Entry> entry;  // the file holds no hash: it is computed from the rest
};

/// Empty if OpenSSL fails, which no stored digest of 32 bytes equals.
[[nodiscard]] Bytes sha256(std::initializer_list<std::string_view> parts);

/// The hash that an entry of this sequence, previous and body should have.
[[nodiscard]] Bytes content_hash(const Entry& entry);

/// Whether the entry's signature is Ed25519's of it, by its hash, as the head of this ledger.
/// @param public_key 32 bytes
/// @param ledger the hash of entry 1, 32 bytes
[[nodiscard]] bool is_signed(std::string_view public_key, std::string_view ledger, const Entry& entry);

/// Neither missing nor with an entry when the file is not what the format says, which is then a problem.
[[nodiscard]] Head read_head(const std::filesystem::path& path, Problems& problems);

}  // namespace undertone::verifier
