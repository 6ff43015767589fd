#include "shared/certificates/certificate.hpp"

#include <openssl/pem.h>

#include "shared/base/files.hpp"
#include "shared/certificates/openssl_types.hpp"

namespace undertone::certificates {

using detail::Bio;

namespace detail {

Error openssl_failed(const char* what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return {ErrorCode::Internal, fmt::format("{}: {}", what, text.data())};
}

Name make_name(std::string_view consortium, std::string_view role, std::string_view name) {
  Name out(X509_NAME_new());
  const auto add = [&out](const char* field, std::string_view value) {
    UNDERTONE_CHECK(X509_NAME_add_entry_by_txt(out.get(), field, MBSTRING_UTF8,
                                               reinterpret_cast<const unsigned char*>(value.data()),
                                               static_cast<int>(value.size()), -1, 0) == 1);
  };
  add("O", consortium);
  add("OU", role);
  add("CN", name);
  return out;
}

Result<Key> load_key(const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string pem, read_file(file, 1U << 16U));
  Key key(PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, nullptr, nullptr));
  if (!key)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: expected a private key in PEM form", file.string())};
  return key;
}

Result<Key> make_key(const std::filesystem::path& file) {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (!key) return openssl_failed("a key cannot be made");
  const Bio out = writing();
  if (PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return openssl_failed("a key cannot be written");
  UNDERTONE_TRY(write_file_atomically(file, written(out)));
  return key;
}

}  // namespace detail

namespace {

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

std::time_t to_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return timegm(&parts);
}

}  // namespace

Result<Party> party_of(const X509_NAME* subject) {
  const std::string consortium = subject_field(subject, NID_organizationName);
  const std::string role_name = subject_field(subject, NID_organizationalUnitName);
  const std::string name = subject_field(subject, NID_commonName);
  if (consortium.empty() || role_name.empty() || name.empty()) {
    return Error{ErrorCode::Unauthorized, "the certificate lacks a consortium (O), a role (OU) or a name (CN)"};
  }
  UNDERTONE_TRY(const Role role, parse_role(role_name));
  Party party{consortium, role, name};
  if (Status good = check_party(party); !good) return Error{ErrorCode::Unauthorized, good.error().message};
  return party;
}

Result<CertificateFacts> facts_of(const X509* certificate) {
  UNDERTONE_TRY(Party party, party_of(X509_get_subject_name(certificate)));
  const detail::Number serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (!serial) return detail::openssl_failed("a certificate's serial number");
  const std::unique_ptr<char, void (*)(char*)> hex(BN_bn2hex(serial.get()), [](char* p) { OPENSSL_free(p); });
  return CertificateFacts{std::move(party), hex.get(), to_time(X509_get0_notBefore(certificate)),
                          to_time(X509_get0_notAfter(certificate))};
}

Result<CertificateFacts> read_certificate(std::string_view pem) {
  const detail::Certificate certificate(PEM_read_bio_X509(detail::reading(pem).get(), nullptr, nullptr, nullptr));
  if (!certificate) return Error{ErrorCode::InvalidConfig, "expected a certificate in PEM form"};
  return facts_of(certificate.get());
}

Result<CertificateFacts> load_certificate(const std::filesystem::path& file) {
  UNDERTONE_TRY(const std::string pem, read_file(file, 1U << 20U));
  Result<CertificateFacts> facts = read_certificate(pem);
  if (!facts) return Error{facts.error().code, fmt::format("{}: {}", file.string(), facts.error().message)};
  return facts;
}

Result<std::string> make_request(const Party& party, const std::filesystem::path& key_file) {
  UNDERTONE_TRY(check_party(party));
  UNDERTONE_TRY(detail::Key key,
                std::filesystem::exists(key_file) ? detail::load_key(key_file) : detail::make_key(key_file));
  const detail::Request request(X509_REQ_new());
  const detail::Name subject = detail::make_name(party.consortium, to_string(party.role), party.name);
  const Bio out = detail::writing();
  if (!request || X509_REQ_set_subject_name(request.get(), subject.get()) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0 ||
      PEM_write_bio_X509_REQ(out.get(), request.get()) != 1) {
    return detail::openssl_failed("a signing request cannot be made");
  }
  return detail::written(out);
}

}  // namespace undertone::certificates
