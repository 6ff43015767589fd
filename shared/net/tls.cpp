#include "shared/net/tls.hpp"

#include <array>
#include <boost/asio/ssl/error.hpp>
#include <ctime>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "shared/base/files.hpp"
#include "shared/certificates/openssl_types.hpp"
#include "shared/service/clock.hpp"

namespace undertone::net {
namespace {

namespace ssl = boost::asio::ssl;
using certificates::CertificateFacts;
using service::utc_minute;

Result<std::unique_ptr<ssl::context>> make_context(const TlsFiles& files, Side side) {
  auto context =
      std::make_unique<ssl::context>(side == Side::Client ? ssl::context::tls_client : ssl::context::tls_server);
  boost::system::error_code error;
  const auto failed = [&error](const std::filesystem::path& path, const char* what) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}: {}", path.string(), what, error.message())};
  };
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_3_VERSION);
  // No session is taken up again: whoever comes back shows a certificate that may have been revoked meanwhile.
  SSL_CTX_set_num_tickets(context->native_handle(), 0);
  SSL_CTX_set_session_cache_mode(context->native_handle(), SSL_SESS_CACHE_OFF);
  context->set_verify_mode(
      side == Side::OpenServer ? ssl::verify_peer : ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  if (error) return failed(files.authority, "TLS cannot be set up");
  context->load_verify_file(files.authority.string(), error);
  if (error) return failed(files.authority, "expected the consortium's certificate in PEM form");
  context->use_certificate_chain_file(files.certificate.string(), error);
  if (error) return failed(files.certificate, "expected this party's certificate in PEM form");
  context->use_private_key_file(files.key.string(), ssl::context::pem, error);
  if (error) return failed(files.key, "expected the private key of the certificate in PEM form");
  return context;
}

/// @return the SHA-256 of the public key, of those in the authority's file, that signed the list; empty if none did
std::string signer_of(X509_CRL* list, const std::string& authorities_pem) {
  namespace detail = certificates::detail;
  const detail::Bio in = detail::reading(authorities_pem);
  std::string signer;
  while (signer.empty()) {
    const detail::Certificate authority(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
    if (!authority) break;
    EVP_PKEY* key = X509_get0_pubkey(authority.get());
    if (key == nullptr || X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(list)) != 0 ||
        X509_CRL_verify(list, key) != 1) {
      continue;
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    if (X509_pubkey_digest(authority.get(), EVP_sha256(), digest.data(), &size) == 1)
      signer.assign(reinterpret_cast<const char*>(digest.data()), size);
  }
  ERR_clear_error();  // of the file's end, or of a signature that is not theirs: the next handshake is not to find it
  return signer;
}

RevocationAge age_of(const X509_CRL* list) {
  RevocationAge age;
  std::tm issued{};
  if (ASN1_TIME_to_tm(X509_CRL_get0_lastUpdate(list), &issued) == 1) age.issued = timegm(&issued);
  const certificates::detail::Integer number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(list, NID_crl_number, nullptr, nullptr)));
  std::int64_t value = 0;
  if (number && ASN1_INTEGER_get_int64(&value, number.get()) == 1) age.number = value;
  return age;
}

bool is_older(const RevocationAge& age, const RevocationAge& than) {
  // Numbers only rise; a clock may have been set back.
  if (age.number && than.number && *age.number != *than.number) return *age.number < *than.number;
  return age.issued < than.issued;
}

std::string show_age(const RevocationAge& age) {
  return utc_minute(age.issued) + (age.number ? fmt::format(", number {}", *age.number) : "");
}

struct Revocations {
  std::set<std::string> serials;
  std::string signer;
  RevocationAge age;
};

/// Makes the context refuse what the list revokes. @param newest its signer's list must not be older than that
Result<Revocations> apply_revocations(ssl::context& context, const TlsFiles& files,
                                      const std::map<std::string, RevocationAge>& newest) {
  const std::filesystem::path& file = files.revoked;
  UNDERTONE_TRY(const std::string pem, read_file(file, 16U << 20U));
  UNDERTONE_TRY(const std::string authorities, read_file(files.authority, 1U << 20U));
  namespace detail = certificates::detail;
  const detail::RevocationList list(PEM_read_bio_X509_CRL(detail::reading(pem).get(), nullptr, nullptr, nullptr));
  if (!list)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: expected a revocation list in PEM form", file.string())};
  Revocations out{{}, signer_of(list.get(), authorities), age_of(list.get())};
  if (out.signer.empty()) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: expected a revocation list that the authority of {} signed",
                                                       file.string(), files.authority.string())};
  }
  if (const auto known = newest.find(out.signer); known != newest.end() && is_older(out.age, known->second)) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: this revocation list is of {}, a newer one of {} was in use: the older list is not "
                             "taken up, since it may lack what was revoked meanwhile",
                             file.string(), show_age(out.age), show_age(known->second))};
  }
  if (X509_cmp_current_time(X509_CRL_get0_lastUpdate(list.get())) > 0) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: this revocation list is of {}, which is still to come: the authority's clock or this "
                             "machine's is wrong",
                             file.string(), utc_minute(out.age.issued))};
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context.native_handle());
  if (X509_STORE_add_crl(store, list.get()) != 1 || X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK) != 1)
    return detail::openssl_failed("the revocation list");
  STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list.get());
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const ASN1_INTEGER* serial = X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i));
    const detail::Number number(ASN1_INTEGER_to_BN(serial, nullptr));
    const std::unique_ptr<char, void (*)(char*)> hex(BN_bn2hex(number.get()), [](char* p) { OPENSSL_free(p); });
    if (hex) out.serials.insert(hex.get());
  }
  return out;
}

/// Changes whenever a file was replaced or written.
std::string stamp_of(const TlsFiles& files) {
  std::string stamp;
  for (const std::filesystem::path& file : {files.authority, files.certificate, files.key, files.revoked}) {
    struct stat facts {};
    if (file.empty() || ::stat(file.c_str(), &facts) != 0) {
      stamp += "absent;";
      continue;
    }
    stamp += fmt::format("{}:{}:{}.{};", facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  return stamp;
}

const char* reason_of(long verify_result) {
  switch (verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the peer's certificate has expired (or this machine's clock is wrong)";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the peer's certificate is not valid yet: one of the two clocks is wrong";
    case X509_V_ERR_CERT_REVOKED:
      return "the peer's certificate was revoked";
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
      return "the revocation list is not valid now (or this machine's clock is wrong)";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_INVALID_CA:
      return "the peer's certificate is not of this consortium's authority";
    default:
      return nullptr;
  }
}

/// What the peer's alert, or the shape of what it sent, says.
const char* reason_of(int library_reason) {
  switch (library_reason) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "the peer says that this party's certificate has expired";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "the peer says that this party's certificate was revoked";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "the peer says that this party's certificate is not of its consortium's authority";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return "the peer does not accept this party's certificate: not valid yet by its clock, or malformed";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "the peer showed no certificate";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return "the peer speaks HTTP here, not TLS";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
      return "the peer does not speak TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "the peer speaks an older TLS than 1.3";
    default:
      return nullptr;
  }
}

}  // namespace

Result<Credentials> Credentials::load(const TlsFiles& files, Side side, const certificates::Party& self) {
  Credentials out;
  out.files_ = files;
  out.side_ = side;
  out.self_ = self;
  if (const Result<bool> read = out.refresh(); !read) return read.error();
  return out;
}

Result<bool> Credentials::refresh() {
  std::string stamp = stamp_of(files_);
  if (stamp == stamp_) return false;
  stamp_ = stamp;  // a bad set of files is complained about once, not at every look
  UNDERTONE_TRY(CertificateFacts own, certificates::load_certificate(files_.certificate));
  if (own.party != self_) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: the certificate is for the {}, the configuration is of the {}",
                             files_.certificate.string(), describe(own.party), describe(self_))};
  }
  const std::time_t now = service::wall_clock();
  if (now < own.not_before || now > own.not_after) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: valid from {} to {}, this machine's clock says {}", files_.certificate.string(),
                             utc_minute(own.not_before), utc_minute(own.not_after), utc_minute(now))};
  }
  UNDERTONE_TRY(std::unique_ptr<ssl::context> context, make_context(files_, side_));
  Revocations revoked;
  if (!files_.revoked.empty()) {
    UNDERTONE_TRY(Revocations applied, apply_revocations(*context, files_, newest_));
    revoked = std::move(applied);
  }
  context_ = std::move(context);
  own_ = std::move(own);
  revoked_ = std::move(revoked.serials);
  if (!revoked.signer.empty()) newest_[revoked.signer] = revoked.age;
  return true;
}

Result<CertificateFacts> peer_facts(ssl_st* connection) {
  const certificates::detail::Certificate certificate(SSL_get1_peer_certificate(connection));
  if (!certificate || SSL_get_verify_result(connection) != X509_V_OK) {
    return Error{ErrorCode::Unauthorized, "the peer showed no certificate of the consortium"};
  }
  return certificates::facts_of(certificate.get());
}

std::string describe_tls_failure(ssl_st* connection, const boost::system::error_code& error) {
  const long verified = SSL_get_verify_result(connection);
  if (const char* reason = reason_of(verified)) return reason;
  if (verified != X509_V_OK) return fmt::format("the peer's certificate: {}", X509_verify_cert_error_string(verified));
  if (error.category() == boost::asio::error::get_ssl_category()) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    if (const char* known = reason_of(reason)) return known;
  }
  return error.message();
}

}  // namespace undertone::net
