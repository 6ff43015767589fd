#include "shared/base/digest.hpp"

#include <algorithm>
#include <array>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>

#include "shared/base/spans.hpp"

namespace undertone {

namespace {

/// The value of each byte as a hexadecimal digit in lower case; -1 where it is none.
constexpr std::array<std::int8_t, 256> kHexValues = [] {
  std::array<std::int8_t, 256> out{};
  for (std::int8_t& value : out) value = -1;
  for (std::size_t i = 0; i < 10; ++i) out['0' + i] = static_cast<std::int8_t>(i);
  for (std::size_t i = 0; i < 6; ++i) out['a' + i] = static_cast<std::int8_t>(10 + i);
  return out;
}();

/// Fetched once: every implicit fetch walks the provider's tables under a lock.
const EVP_MD* fetched_sha256() {
  static const EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  UNDERTONE_CHECK(algorithm != nullptr);
  return algorithm;
}

}  // namespace

Digest sha256(std::string_view bytes) {
  const Span span(Activity::Hashing);
  Digest out{};
  unsigned int length = 0;
  UNDERTONE_CHECK(EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, fetched_sha256(), nullptr) == 1);
  UNDERTONE_CHECK(length == out.size());
  return out;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  UNDERTONE_CHECK(context_ != nullptr && EVP_DigestInit_ex2(context_.get(), fetched_sha256(), nullptr) == 1);
}

void Sha256::update(std::string_view bytes) {
  const Span span(Activity::Hashing);
  UNDERTONE_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Digest Sha256::finish() {
  Digest out{};
  unsigned int length = 0;
  UNDERTONE_CHECK(EVP_DigestFinal_ex(context_.get(), out.data(), &length) == 1 && length == out.size());
  return out;
}

Digest hmac_sha256(std::string_view key, std::string_view bytes) {
  const Span span(Activity::Hashing);
  Digest out{};
  unsigned int length = 0;
  UNDERTONE_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(),
                       &length) != nullptr);
  UNDERTONE_CHECK(length == out.size());
  return out;
}

void HmacSha256::Free::operator()(evp_mac_ctx_st* context) const noexcept { EVP_MAC_CTX_free(context); }

HmacSha256::HmacSha256(std::string_view key) {
  EVP_MAC* algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  UNDERTONE_CHECK(algorithm != nullptr);
  context_.reset(EVP_MAC_CTX_new(algorithm));
  EVP_MAC_free(algorithm);
  std::string hash = "SHA256";
  const std::array parameters = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, hash.data(), 0),
                                 OSSL_PARAM_construct_end()};
  UNDERTONE_CHECK(context_ != nullptr &&
                  EVP_MAC_init(context_.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(),
                               parameters.data()) == 1);
}

void HmacSha256::update(std::string_view bytes) {
  UNDERTONE_CHECK(EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) ==
                  1);
}

Digest HmacSha256::finish() {
  Digest out{};
  std::size_t length = 0;
  UNDERTONE_CHECK(EVP_MAC_final(context_.get(), out.data(), &length, out.size()) == 1 && length == out.size());
  return out;
}

std::string_view as_bytes(const Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(2 * bytes.size(), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = kDigits[byte >> 4U];
    out[2 * i + 1] = kDigits[byte & 15U];
  }
  return out;
}

std::string to_hex(const Digest& digest) { return to_hex(as_bytes(digest)); }

Result<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return Error{ErrorCode::Malformed, "hexadecimal text of odd length"};
  std::string out(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = kHexValues[static_cast<unsigned char>(hex[2 * i])];
    const int low = kHexValues[static_cast<unsigned char>(hex[2 * i + 1])];
    if (high < 0 || low < 0) return Error{ErrorCode::Malformed, fmt::format("not a hexadecimal digit at {}", 2 * i)};
    out[i] = static_cast<char>(high * 16 + low);
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
  UNDERTONE_TRY(const std::string bytes, from_hex(hex));
  return digest_from_bytes(bytes);
}

}  // namespace undertone
