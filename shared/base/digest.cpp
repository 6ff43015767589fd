#include "shared/base/digest.hpp"

#include <algorithm>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace undertone {

Digest sha256(std::string_view bytes) {
  Digest out{};
  unsigned int length = 0;
  UNDERTONE_CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, EVP_sha256(), nullptr) == 1);
  UNDERTONE_CHECK(length == out.size());
  return out;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  Digest out{};
  unsigned int length = 0;
  UNDERTONE_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
                       &length) != nullptr);
  UNDERTONE_CHECK(length == out.size());
  return out;
}

std::string_view as_bytes(const Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

std::string to_hex(const Digest& digest) { return to_hex(as_bytes(digest)); }

Result<std::string> from_hex(std::string_view hex) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (hex.size() % 2 != 0) return Error{ErrorCode::Malformed, "hexadecimal text of odd length"};
  std::string out;
  out.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return Error{ErrorCode::Malformed, fmt::format("not a hexadecimal digit at {}", i)};
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

Result<Digest> digest_from_bytes(std::string_view bytes) {
  Digest out{};
  if (bytes.size() != out.size()) {
    return Error{ErrorCode::Malformed, fmt::format("a digest has {} bytes, got {}", out.size(), bytes.size())};
  }
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Result<Digest> digest_from_hex(std::string_view hex) {
  const Result<std::string> bytes = from_hex(hex);
  if (!bytes) return bytes.error();
  return digest_from_bytes(*bytes);
}

}  // namespace undertone
