#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

/// Owners of OpenSSL's objects; for this folder alone.
namespace undertone::certificates::detail {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using Request = std::unique_ptr<X509_REQ, Freer<X509_REQ_free>>;
using RevocationList = std::unique_ptr<X509_CRL, Freer<X509_CRL_free>>;
using Name = std::unique_ptr<X509_NAME, Freer<X509_NAME_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freer<BN_free>>;
using Integer = std::unique_ptr<ASN1_INTEGER, Freer<ASN1_INTEGER_free>>;
using Time = std::unique_ptr<ASN1_TIME, Freer<ASN1_TIME_free>>;

[[nodiscard]] inline Bio reading(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
[[nodiscard]] inline Bio writing() { return Bio(BIO_new(BIO_s_mem())); }
[[nodiscard]] inline std::string written(const Bio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// A step of OpenSSL that fails only when memory or the library does.
[[nodiscard]] Error openssl_failed(const char* what);

[[nodiscard]] Name make_name(std::string_view consortium, std::string_view role, std::string_view name);
[[nodiscard]] Result<Key> load_key(const std::filesystem::path& file);
/// P-256, written with mode 0600.
[[nodiscard]] Result<Key> make_key(const std::filesystem::path& file);

}  // namespace undertone::certificates::detail
