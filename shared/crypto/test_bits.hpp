#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "shared/crypto/noise_kind.hpp"

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX

namespace undertone::crypto {

struct InsecureForTestsOnly {};

/// Reproducible words for tests and the simulator: AES-256 in counter mode, keyed by the SHA-256 of (seed, purpose).
/// What is drawn with it is not private. Linked by `undertone`, `undertone-silo-test` and tests, never by
/// `undertone-silo`.
class TestBits {
 public:
  static constexpr NoiseKind kKind = NoiseKind::Test;
  /// @param purpose what the words are for, such as run, round, silo: equal purposes give equal words
  TestBits(std::uint64_t seed, std::string_view purpose, InsecureForTestsOnly tag);
  [[nodiscard]] std::uint64_t word() {
    if (next_ == filled_) refill();
    return words_[next_++];
  }

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const noexcept;
  };
  void refill();
  std::unique_ptr<evp_cipher_ctx_st, Free> stream_;
  std::array<std::uint64_t, 512> words_{};
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace undertone::crypto
