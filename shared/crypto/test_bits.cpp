#include "shared/crypto/test_bits.hpp"

#include <algorithm>
#include <openssl/evp.h>

#include "shared/base/byte_stream.hpp"
#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"

namespace undertone::crypto {
namespace {

constexpr std::size_t kFirstWords = 64;  // most streams end within them

const EVP_CIPHER* cipher() {
  struct Free {
    void operator()(EVP_CIPHER* fetched) const noexcept { EVP_CIPHER_free(fetched); }
  };
  static const std::unique_ptr<EVP_CIPHER, Free> fetched(EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr));
  UNDERTONE_CHECK(fetched != nullptr);
  return fetched.get();
}

}  // namespace

void TestBits::Free::operator()(evp_cipher_ctx_st* context) const noexcept { EVP_CIPHER_CTX_free(context); }

TestBits::TestBits(std::uint64_t seed, std::string_view purpose, InsecureForTestsOnly /*tag*/)
    : stream_(EVP_CIPHER_CTX_new()) {
  ByteWriter material;
  material.text("undertone test bits");
  material.u64(seed);
  material.text(purpose);
  const Digest key = sha256(material.bytes());
  constexpr std::array<unsigned char, 16> kCounter{};
  UNDERTONE_CHECK(stream_ != nullptr);
  UNDERTONE_CHECK(EVP_EncryptInit_ex2(stream_.get(), cipher(), reinterpret_cast<const unsigned char*>(key.data()),
                                      kCounter.data(), nullptr) == 1);
}

void TestBits::refill() {
  const std::size_t size = filled_ == 0 ? kFirstWords : words_.size();
  auto* out = reinterpret_cast<unsigned char*>(words_.data());
  std::fill_n(words_.begin(), size, 0);
  int length = 0;
  const int bytes = static_cast<int>(size * sizeof(std::uint64_t));
  UNDERTONE_CHECK(EVP_EncryptUpdate(stream_.get(), out, &length, out, bytes) == 1 && length == bytes);
  next_ = 0;
  filled_ = size;
}

}  // namespace undertone::crypto
