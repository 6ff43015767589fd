#include "shared/net/tls.hpp"

#include <array>
#include <memory>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace undertone::net {
namespace {

namespace ssl = boost::asio::ssl;

/// The single value of a subject's field; empty where it is absent, repeated or longer than 64 bytes.
std::string subject_field(const X509_NAME* subject, int field) {
  const int at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), field, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), field, at) >= 0) return {};
  const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, value);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> guard(text, [](unsigned char* p) { OPENSSL_free(p); });
  if (size <= 0 || size > 64) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

}  // namespace

Result<std::unique_ptr<ssl::context>> make_tls_context(const TlsFiles& files, Side side) {
  auto context =
      std::make_unique<ssl::context>(side == Side::Client ? ssl::context::tls_client : ssl::context::tls_server);
  boost::system::error_code error;
  const auto failed = [&error](const std::filesystem::path& path, const char* what) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}: {}", path.string(), what, error.message())};
  };
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_3_VERSION);
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  if (error) return failed(files.authority, "TLS cannot be set up");
  context->load_verify_file(files.authority.string(), error);
  if (error) return failed(files.authority, "expected the consortium's certificate in PEM form");
  context->use_certificate_chain_file(files.certificate.string(), error);
  if (error) return failed(files.certificate, "expected this party's certificate in PEM form");
  context->use_private_key_file(files.key.string(), ssl::context::pem, error);
  if (error) return failed(files.key, "expected the private key of the certificate in PEM form");
  return context;
}

Result<PeerIdentity> peer_identity(ssl_st* connection) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(connection), &X509_free);
  if (!certificate || SSL_get_verify_result(connection) != X509_V_OK) {
    return Error{ErrorCode::Unauthorized, "the peer showed no certificate of the consortium"};
  }
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  PeerIdentity identity{subject_field(subject, NID_organizationName),
                        subject_field(subject, NID_organizationalUnitName), subject_field(subject, NID_commonName)};
  if (identity.consortium.empty() || identity.role.empty() || identity.name.empty()) {
    return Error{ErrorCode::Unauthorized, "the peer's certificate lacks a consortium (O), a role (OU) or a name (CN)"};
  }
  return identity;
}

}  // namespace undertone::net
