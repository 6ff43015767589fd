#include "shared/crypto/secure_bits.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <utility>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "shared/base/result.hpp"

namespace undertone::crypto {
namespace {

constexpr std::uint32_t kRefillsMax = 1U << 20U;
constexpr std::int64_t kSecondsMax = 600;

void operating_system_random(void* out, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(out);
  while (size > 0) {
    const ssize_t got = getrandom(bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    UNDERTONE_CHECK(got > 0);
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::int64_t monotonic_seconds() {
  timespec now{};
  UNDERTONE_CHECK(clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0);
  return now.tv_sec;
}

/// A stream cipher with 32 bytes of key and 16 of counter and nonce.
class StreamCipher {
 public:
  explicit StreamCipher(const char* name) : cipher_(EVP_CIPHER_fetch(nullptr, name, nullptr)) {
    UNDERTONE_CHECK(cipher_ != nullptr);
  }
  /// @param out becomes the key stream
  void generate(const unsigned char* key, unsigned char* out, std::size_t size) const {
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    UNDERTONE_CHECK(context != nullptr);
    std::memset(out, 0, size);
    int length = 0;
    UNDERTONE_CHECK(EVP_EncryptInit_ex2(context, cipher_.get(), key, key + 32, nullptr) == 1);
    UNDERTONE_CHECK(EVP_EncryptUpdate(context, out, &length, out, static_cast<int>(size)) == 1);
    EVP_CIPHER_CTX_free(context);  // wipes the key schedule
    UNDERTONE_CHECK(length == static_cast<int>(size));
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER* cipher) const noexcept { EVP_CIPHER_free(cipher); }
  };
  std::unique_ptr<EVP_CIPHER, Free> cipher_;
};

bool has_aes_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & (1UL << 3U)) != 0;  // HWCAP_AES
#else
  return false;
#endif
}

/// Stops the process unless the cipher's first 16 bytes for this key and counter are the published ones.
void check_known_answer(const StreamCipher& cipher, const char* key_and_counter, const char* answer) {
  std::array<unsigned char, 48> key{};
  std::memcpy(key.data(), key_and_counter, key.size());
  std::array<unsigned char, 16> out{};
  cipher.generate(key.data(), out.data(), out.size());
  UNDERTONE_CHECK(std::memcmp(out.data(), answer, out.size()) == 0);
}

const StreamCipher& chosen_cipher() {
  static const StreamCipher chosen = [] {
    // NIST SP 800-38A, F.5.5: the key stream is the first plaintext block xor the first ciphertext block.
    StreamCipher aes("AES-256-CTR");
    check_known_answer(aes,
                       "\x60\x3d\xeb\x10\x15\xca\x71\xbe\x2b\x73\xae\xf0\x85\x7d\x77\x81\x1f\x35\x2c\x07\x3b\x61\x08"
                       "\xd7\x2d\x98\x10\xa3\x09\x14\xdf\xf4\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd"
                       "\xfe\xff",
                       "\x0b\xdf\x7d\xf1\x59\x17\x16\x33\x5e\x9a\x8b\x15\xc8\x60\xc5\x02");
    // RFC 8439, 2.3.2.
    StreamCipher chacha("ChaCha20");
    check_known_answer(chacha,
                       "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"
                       "\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x01\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x4a\x00\x00"
                       "\x00\x00",
                       "\x10\xf1\xe7\xe4\xd1\x3b\x59\x15\x50\x0f\xdd\x1f\xa3\x20\x71\xc4");
    return has_aes_instructions() ? std::move(aes) : std::move(chacha);
  }();
  return chosen;
}

}  // namespace

void SecureBits::Unmap::operator()(Pages* pages) const noexcept {
  OPENSSL_cleanse(pages, sizeof(Pages));
  (void)::munmap(pages, sizeof(Pages));
}

SecureBits::SecureBits() {
  void* memory = ::mmap(nullptr, sizeof(Pages), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  UNDERTONE_CHECK(memory != MAP_FAILED);
  pages_.reset(static_cast<Pages*>(memory));
  UNDERTONE_CHECK(::madvise(memory, sizeof(Pages), MADV_WIPEONFORK) == 0);
  UNDERTONE_CHECK(::madvise(memory, sizeof(Pages), MADV_DONTDUMP) == 0);
  locked_ = ::mlock(memory, sizeof(Pages)) == 0;
  refill();
}

SecureBits SecureBits::from_os() { return {}; }

void SecureBits::mix_in_os() {
  std::array<std::uint64_t, kKeyWords> fresh{};
  operating_system_random(fresh.data(), sizeof fresh);
  for (std::size_t i = 0; i < kKeyWords; ++i) pages_->key[i] ^= fresh[i];
  OPENSSL_cleanse(fresh.data(), sizeof fresh);
  refills_ = 0;
  asked_at_seconds_ = monotonic_seconds();
}

void SecureBits::reseed() {
  mix_in_os();
  refill();
}

void SecureBits::refill() {
  UNDERTONE_CHECK(pages_ != nullptr);  // not a moved-from generator
  // New, or a child whose pages are empty: nothing of the key is known to anybody but the operating system.
  if (pages_->alive != kAlive || ++refills_ >= kRefillsMax || monotonic_seconds() - asked_at_seconds_ >= kSecondsMax)
    mix_in_os();
  pages_->alive = kAlive;
  auto* out = reinterpret_cast<unsigned char*>(pages_->words.data());
  chosen_cipher().generate(reinterpret_cast<const unsigned char*>(pages_->key.data()), out, sizeof pages_->words);
  // A generator that is stuck repeats its block.
  UNDERTONE_CHECK(std::memcmp(out, out + 16, 16) != 0);
  std::memcpy(pages_->key.data(), out, sizeof pages_->key);
  OPENSSL_cleanse(out, sizeof pages_->key);
  next_ = kKeyWords;
}

}  // namespace undertone::crypto
