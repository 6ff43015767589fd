#include "shared/base/signing_key.hpp"

#include <array>
#include <cstdio>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "shared/base/files.hpp"
#include "shared/base/spans.hpp"

namespace undertone {
namespace {

const unsigned char* raw(std::string_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

void SigningKey::Free::operator()(evp_pkey_st* key) const noexcept { EVP_PKEY_free(key); }

Result<SigningKey> SigningKey::from_seed(std::string_view seed) {
  if (seed.size() != 32) return Error{ErrorCode::InvalidArgument, "an Ed25519 seed has 32 bytes"};
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size());
  UNDERTONE_CHECK(key != nullptr);
  return SigningKey(key);
}

Result<SigningKey> SigningKey::load_or_create(const std::filesystem::path& path) {
  const Error unusable{ErrorCode::InvalidConfig,
                       fmt::format("{}: expected an Ed25519 private key in PEM form", path.string())};
  if (std::filesystem::exists(path)) {
    if (const Status kept = check_private_file(path); !kept) return kept.error();
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) return unusable;
    EVP_PKEY* key = PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr);
    if (key == nullptr) return unusable;
    SigningKey out(key);
    if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519) return unusable;
    return out;
  }
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  UNDERTONE_CHECK(key != nullptr);
  SigningKey out(key);
  // An OpenSSL memory BIO overwrites what it gives back.
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> pem(BIO_new(BIO_s_mem()), &BIO_free_all);
  char* text = nullptr;
  UNDERTONE_CHECK(pem != nullptr &&
                  PEM_write_bio_PrivateKey(pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  const long size = BIO_get_mem_data(pem.get(), &text);
  if (const Status written = write_file_atomically(path, {text, static_cast<std::size_t>(size)}); !written)
    return Error{ErrorCode::StorageFailed, fmt::format("the new key cannot be written: {}", written.error().message)};
  return out;
}

std::string SigningKey::public_key() const {
  std::string out(kPublicBytes, '\0');
  std::size_t size = out.size();
  UNDERTONE_CHECK(EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1);
  return out;
}

std::string SigningKey::sign(std::string_view bytes) const {
  const Span span(Activity::Signing);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string out(kSignatureBytes, '\0');
  std::size_t size = out.size();
  UNDERTONE_CHECK(context != nullptr);
  UNDERTONE_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1);
  UNDERTONE_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, raw(bytes),
                                 bytes.size()) == 1);
  return out;
}

Digest SigningKey::keyed_digest(std::string_view purpose, std::string_view bytes) const {
  HmacSha256 digest = keyed_digest(purpose);
  digest.update(bytes);
  return digest.finish();
}

HmacSha256 SigningKey::keyed_digest(std::string_view purpose) const {
  std::array<unsigned char, 32> secret{};
  std::size_t size = secret.size();
  UNDERTONE_CHECK(EVP_PKEY_get_raw_private_key(key_.get(), secret.data(), &size) == 1);
  const std::string_view key(reinterpret_cast<const char*>(secret.data()), secret.size());
  const Digest derived = hmac_sha256(key, fmt::format("undertone {}", purpose));
  OPENSSL_cleanse(secret.data(), secret.size());
  return HmacSha256(as_bytes(derived));
}

bool verify_signature(std::string_view public_key, std::string_view bytes, std::string_view signature) {
  const Span span(Activity::Signing);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_key), public_key.size()), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return key != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(bytes), bytes.size()) == 1;
}

}  // namespace undertone
