#include <array>
#include <cstring>
#include <openssl/evp.h>
#include <sodium.h>

// What signs and verifies in fuzzers without sanitizers, where the linker puts it in the place of OpenSSL's Ed25519
// (--wrap): a keyed hash that costs a fiftieth. A signature is still a function of the key and of every byte, and one
// that was changed does not verify. What such a fuzzer finds is run again with the true signatures.

namespace {

/// The key of the signature at hand: a target has one thread, and says whose before it signs or verifies.
std::array<unsigned char, 32> g_key{};

int remember(EVP_PKEY* key) {
  std::size_t size = g_key.size();
  return EVP_PKEY_get_raw_public_key(key, g_key.data(), &size);
}

std::array<unsigned char, 64> signature_of(const unsigned char* bytes, std::size_t size) {
  std::array<unsigned char, 64> out{};
  crypto_generichash(out.data(), out.size(), bytes, size, g_key.data(), g_key.size());
  return out;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the linker asks for these names
extern "C" {

int __wrap_EVP_DigestSignInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY* key) {
  return remember(key);
}

int __wrap_EVP_DigestVerifyInit(EVP_MD_CTX*, EVP_PKEY_CTX**, const EVP_MD*, ENGINE*, EVP_PKEY* key) {
  return remember(key);
}

int __wrap_EVP_DigestSign(EVP_MD_CTX*, unsigned char* out, std::size_t* out_size, const unsigned char* bytes,
                          std::size_t size) {
  const std::array<unsigned char, 64> made = signature_of(bytes, size);
  std::memcpy(out, made.data(), made.size());
  *out_size = made.size();
  return 1;
}

int __wrap_EVP_DigestVerify(EVP_MD_CTX*, const unsigned char* signature, std::size_t signature_size,
                            const unsigned char* bytes, std::size_t size) {
  const std::array<unsigned char, 64> made = signature_of(bytes, size);
  return signature_size == made.size() && std::memcmp(signature, made.data(), made.size()) == 0 ? 1 : 0;
}
}
// NOLINTEND(bugprone-reserved-identifier)
