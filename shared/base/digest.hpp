#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

struct evp_mac_ctx_st;
struct evp_md_ctx_st;

namespace undertone {

/// A SHA-256 value.
using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::string_view bytes);

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  [[nodiscard]] Digest finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

/// HMAC-SHA-256. @param key any length, secret
[[nodiscard]] Digest hmac_sha256(std::string_view key, std::string_view bytes);

/// HMAC-SHA-256 of bytes that come in pieces.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  void update(std::string_view bytes);
  [[nodiscard]] Digest finish();

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_mac_ctx_st, Free> context_;
};

[[nodiscard]] std::string_view as_bytes(const Digest& digest) noexcept;
[[nodiscard]] std::string to_hex(std::string_view bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);
[[nodiscard]] Result<std::string> from_hex(std::string_view hex);
[[nodiscard]] Result<Digest> digest_from_hex(std::string_view hex);
[[nodiscard]] Result<Digest> digest_from_bytes(std::string_view bytes);

}  // namespace undertone
