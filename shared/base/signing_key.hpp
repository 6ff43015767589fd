#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"

struct evp_pkey_st;

namespace undertone {

/// An Ed25519 key (OpenSSL). The ledger signs its head with it; the key of the data set's digest is derived from it.
class SigningKey {
 public:
  static constexpr std::size_t kPublicBytes = 32;
  static constexpr std::size_t kSignatureBytes = 64;

  /// From 32 secret bytes: the simulator's and the tests' keys.
  [[nodiscard]] static Result<SigningKey> from_seed(std::string_view seed);
  /// Reads the PEM file, or makes a key from the operating system's randomness and writes it with mode 0600.
  [[nodiscard]] static Result<SigningKey> load_or_create(const std::filesystem::path& path);

  [[nodiscard]] std::string public_key() const;
  [[nodiscard]] std::string sign(std::string_view bytes) const;
  /// HMAC-SHA-256 under a key that only the owner of this key can derive. @param purpose separates uses
  [[nodiscard]] Digest keyed_digest(std::string_view purpose, std::string_view bytes) const;
  /// The same of bytes that come in pieces.
  [[nodiscard]] HmacSha256 keyed_digest(std::string_view purpose) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  explicit SigningKey(evp_pkey_st* key) : key_(key) {}
  std::unique_ptr<evp_pkey_st, Free> key_;
};

[[nodiscard]] bool verify_signature(std::string_view public_key, std::string_view bytes, std::string_view signature);

}  // namespace undertone
