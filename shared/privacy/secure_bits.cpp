#include "shared/privacy/secure_bits.hpp"

#include <cerrno>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/random.h>
#include <utility>

#include "shared/base/result.hpp"

namespace undertone::privacy {
namespace {

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

}  // namespace

std::atomic<std::uint64_t> SecureBits::forks_{0};

SecureBits::SecureBits() : words_(std::make_unique<Words>()) {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks_.fetch_add(1, std::memory_order_relaxed); });
  UNDERTONE_CHECK(registered == 0);
  rekey_from_os();
}

SecureBits SecureBits::from_os() { return SecureBits(); }

SecureBits::SecureBits(SecureBits&& other) noexcept
    : words_(std::move(other.words_)),
      key_(other.key_),
      next_(std::exchange(other.next_, kWords)),
      process_(other.process_) {
  OPENSSL_cleanse(other.key_.data(), sizeof other.key_);
}

SecureBits& SecureBits::operator=(SecureBits&& other) noexcept {
  if (this != &other) {
    std::swap(words_, other.words_);
    std::swap(key_, other.key_);
    std::swap(next_, other.next_);
    std::swap(process_, other.process_);
  }
  return *this;
}

SecureBits::~SecureBits() {
  OPENSSL_cleanse(key_.data(), sizeof key_);
  if (words_) OPENSSL_cleanse(words_->data(), sizeof(Words));
}

void SecureBits::rekey_from_os() {
  operating_system_random(key_.data(), sizeof key_);
  process_ = current_process();
}

void SecureBits::refill() {
  UNDERTONE_CHECK(words_ != nullptr);                  // not a moved-from generator
  if (process_ != current_process()) rekey_from_os();  // a forked child shares the parent's key
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  UNDERTONE_CHECK(context != nullptr);
  const auto* key = reinterpret_cast<const unsigned char*>(key_.data());
  auto* out = reinterpret_cast<unsigned char*>(words_->data());
  std::memset(out, 0, sizeof(Words));
  int length = 0;
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr);
  UNDERTONE_CHECK(cipher != nullptr && EVP_EncryptInit_ex2(context, cipher, key, key + 32, nullptr) == 1);
  UNDERTONE_CHECK(EVP_EncryptUpdate(context, out, &length, out, static_cast<int>(sizeof(Words))) == 1);
  EVP_CIPHER_CTX_free(context);
  UNDERTONE_CHECK(length == static_cast<int>(sizeof(Words)));
  // A generator that is stuck repeats its block.
  UNDERTONE_CHECK(std::memcmp(out, out + 16, 16) != 0);
  std::memcpy(key_.data(), out, sizeof key_);
  OPENSSL_cleanse(out, sizeof key_);
  next_ = kKeyWords;
}

}  // namespace undertone::privacy
