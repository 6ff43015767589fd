#include "shared/certificates/authority.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "shared/base/digest.hpp"
#include "shared/base/files.hpp"
#include "shared/certificates/openssl_types.hpp"

namespace undertone::certificates {

using detail::openssl_failed;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kAuthorityRole = "authority";

/// Positive and of 127 random bits, so that serials are not guessed and do not collide.
Result<detail::Integer> random_serial() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return openssl_failed("no randomness");
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7fU) | 0x40U);
  const detail::Number number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  detail::Integer serial(BN_to_ASN1_INTEGER(number.get(), nullptr));
  if (!serial) return openssl_failed("a serial number");
  return serial;
}

Status add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const detail::Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
    return openssl_failed("a certificate's extension");
  return {};
}

Result<std::string> to_pem(X509* certificate) {
  const detail::Bio out = detail::writing();
  if (PEM_write_bio_X509(out.get(), certificate) != 1) return openssl_failed("a certificate cannot be written");
  return detail::written(out);
}

constexpr std::string_view kKeys = "P-256, Ed25519, or RSA or RSA-PSS of at least 3072 bits";

/// The kinds of key that are signed are listed, not the ones that are not: there are many weak ones.
Status check_key(EVP_PKEY* key) {
  constexpr int kRsaBitsMin = 3072;
  const int bits = EVP_PKEY_get_bits(key);
  const bool rsa = EVP_PKEY_is_a(key, "RSA") == 1 || EVP_PKEY_is_a(key, "RSA-PSS") == 1;
  if (EVP_PKEY_is_a(key, "ED25519") == 1 || (rsa && bits >= kRsaBitsMin)) return {};
  std::array<char, 80> group{};
  const bool curve = EVP_PKEY_is_a(key, "EC") == 1;
  if (curve && EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) != 1) group[0] = '\0';
  // A curve that is spelt out may have a generator of its own, whatever it is like (CVE-2020-0601).
  std::array<char, 16> encoding{};
  if (curve)
    (void)EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_EC_ENCODING, encoding.data(), encoding.size(), nullptr);
  const bool spelt_out = std::string_view(encoding.data()) != OSSL_PKEY_EC_ENCODING_GROUP;
  if (curve && !spelt_out && std::string_view(group.data()) == SN_X9_62_prime256v1) return {};
  const char* kind = EVP_PKEY_get0_type_name(key);
  const std::string found = curve && spelt_out ? std::string("EC on a curve that is spelt out, by parameters")
                            : curve ? fmt::format("EC on {}", group[0] == '\0' ? "a curve of its own" : group.data())
                                    : fmt::format("{} of {} bits", kind == nullptr ? "unknown" : kind, bits);
  return Error{ErrorCode::Unauthorized, fmt::format("the request's key is {}, expected {}", found, kKeys)};
}

Result<detail::Request> parse_request(const std::string& pem) {
  detail::Request request(PEM_read_bio_X509_REQ(detail::reading(pem).get(), nullptr, nullptr, nullptr));
  if (!request) return Error{ErrorCode::InvalidArgument, "expected a signing request in PEM form"};
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr)
    return Error{ErrorCode::Unauthorized, fmt::format("the request's key is of no known kind, expected {}", kKeys)};
  UNDERTONE_TRY(check_key(key));
  if (X509_REQ_verify(request.get(), key) != 1)
    return Error{ErrorCode::Unauthorized, "the signing request is not signed with the key it is for"};
  return request;
}

Result<std::string> key_digest(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return openssl_failed("a public key");
  std::string out = to_hex(sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  return out;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string out;
  for (const std::string& host : hosts) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool is_address =
        inet_pton(AF_INET, host.c_str(), address.data()) == 1 || inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", is_address ? "IP" : "DNS", host);
  }
  return out;
}

}  // namespace

struct Authority::Secret {
  detail::Key key;
  detail::Certificate certificate;
};

Authority::Authority(std::filesystem::path folder, std::string consortium, std::unique_ptr<Secret> secret)
    : folder_(std::move(folder)), consortium_(std::move(consortium)), secret_(std::move(secret)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

Result<Authority> Authority::create(const std::filesystem::path& folder, const std::string& consortium,
                                    std::time_t not_before, std::time_t not_after) {
  if (Status good = check_party({consortium, Role::Coordinator, "authority"}); !good) return good.error();
  if (std::filesystem::exists(folder / "authority.key"))
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: holds an authority already", folder.string())};
  UNDERTONE_TRY(make_folder_for(folder / "authority.key"));
  UNDERTONE_TRY(detail::Key key, detail::make_key(folder / "authority.key"));
  detail::Certificate certificate(X509_new());
  UNDERTONE_TRY(detail::Integer serial, random_serial());
  const detail::Name name = detail::make_name(consortium, kAuthorityRole, consortium);
  X509* raw = certificate.get();
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 || X509_set_serialNumber(raw, serial.get()) != 1 ||
      X509_set_subject_name(raw, name.get()) != 1 || X509_set_issuer_name(raw, name.get()) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(raw), not_before) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(raw), not_after) == nullptr || X509_set_pubkey(raw, key.get()) != 1) {
    return openssl_failed("the authority's certificate");
  }
  for (const auto& [kind, value] :
       {std::pair(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
        std::pair(NID_key_usage, "critical,keyCertSign,cRLSign"), std::pair(NID_subject_key_identifier, "hash")}) {
    UNDERTONE_TRY(add_extension(raw, raw, kind, value));
  }
  if (X509_sign(raw, key.get(), EVP_sha256()) == 0) return openssl_failed("the authority's certificate");
  UNDERTONE_TRY(const std::string pem, to_pem(raw));
  UNDERTONE_TRY(write_file_atomically(folder / "authority.crt", pem));
  Authority authority(folder, consortium, std::make_unique<Secret>(Secret{std::move(key), std::move(certificate)}));
  UNDERTONE_TRY(authority.store_register());
  UNDERTONE_TRY(authority.write_revocations(not_before));
  return authority;
}

Result<Authority> Authority::open(const std::filesystem::path& folder) {
  UNDERTONE_TRY(detail::Key key, detail::load_key(folder / "authority.key"));
  UNDERTONE_TRY(const std::string pem, read_file(folder / "authority.crt", 1U << 20U));
  detail::Certificate certificate(PEM_read_bio_X509(detail::reading(pem).get(), nullptr, nullptr, nullptr));
  if (!certificate || X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: authority.crt is not the certificate of authority.key", folder.string())};
  }
  Authority authority(folder, "", std::make_unique<Secret>(Secret{std::move(key), std::move(certificate)}));
  UNDERTONE_TRY(authority.load_register());
  return authority;
}

Status Authority::store_register() const {
  Json issued = Json::array();
  for (const Issued& entry : issued_) {
    issued.push_back({{"role", to_string(entry.facts.party.role)},
                      {"name", entry.facts.party.name},
                      {"serial", entry.facts.serial},
                      {"key_sha256", entry.key_sha256},
                      {"not_before", entry.facts.not_before},
                      {"not_after", entry.facts.not_after},
                      {"revoked", entry.revoked}});
  }
  const Json out = {{"format", "undertone.register/1"}, {"consortium", consortium_}, {"issued", std::move(issued)}};
  return write_file_atomically(folder_ / "register.json", out.dump(2) + "\n");
}

Status Authority::load_register() {
  const std::filesystem::path file = folder_ / "register.json";
  UNDERTONE_TRY(const std::string text, read_file(file, 64U << 20U));
  try {
    const Json document = Json::parse(text);
    consortium_ = document.at("consortium").get<std::string>();
    for (const Json& entry : document.at("issued")) {
      UNDERTONE_TRY(const Role role, parse_role(entry.at("role").get<std::string>()));
      issued_.push_back({{{consortium_, role, entry.at("name").get<std::string>()},
                          entry.at("serial").get<std::string>(),
                          entry.at("not_before").get<std::time_t>(),
                          entry.at("not_after").get<std::time_t>()},
                         entry.at("key_sha256").get<std::string>(),
                         entry.at("revoked").get<std::time_t>()});
    }
  } catch (const Json::exception& exception) {
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}", file.string(), exception.what())};
  }
  return {};
}

Result<Authority::RequestFacts> Authority::read_request(const std::string& pem) {
  UNDERTONE_TRY(const detail::Request request, parse_request(pem));
  UNDERTONE_TRY(Party party, party_of(X509_REQ_get_subject_name(request.get())));
  UNDERTONE_TRY(std::string digest, key_digest(X509_REQ_get0_pubkey(request.get())));
  return RequestFacts{std::move(party), std::move(digest)};
}

Result<std::string> Authority::sign(const std::string& request_pem, const Issue& issue) {
  const Result<detail::Request> request = parse_request(request_pem);
  if (!request) return request.error();
  UNDERTONE_TRY(const RequestFacts asked, read_request(request_pem));
  if (asked.party.consortium != consortium_) {
    return Error{ErrorCode::Unauthorized,
                 fmt::format("the request is for the {}, this authority is of {}", describe(asked.party), consortium_)};
  }
  // Nothing of the request but its public key and the three names enters the certificate.
  const detail::Certificate certificate(X509_new());
  UNDERTONE_TRY(const detail::Integer serial, random_serial());
  const detail::Name subject = detail::make_name(consortium_, to_string(asked.party.role), asked.party.name);
  X509* raw = certificate.get();
  X509* issuer = secret_->certificate.get();
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 || X509_set_serialNumber(raw, serial.get()) != 1 ||
      X509_set_subject_name(raw, subject.get()) != 1 || X509_set_issuer_name(raw, X509_get_subject_name(issuer)) != 1 ||
      ASN1_TIME_set(X509_getm_notBefore(raw), issue.not_before) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(raw), issue.not_after) == nullptr ||
      X509_set_pubkey(raw, X509_REQ_get0_pubkey(request->get())) != 1) {
    return openssl_failed("a certificate");
  }
  std::vector<std::pair<int, std::string>> extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                                         {NID_key_usage, "critical,digitalSignature"},
                                                         {NID_authority_key_identifier, "keyid"}};
  if (!issue.hosts.empty()) extensions.emplace_back(NID_subject_alt_name, alternative_names(issue.hosts));
  for (const auto& [kind, value] : extensions) {
    UNDERTONE_TRY(add_extension(raw, issuer, kind, value));
  }
  if (X509_sign(raw, secret_->key.get(), EVP_sha256()) == 0) return openssl_failed("a certificate");
  UNDERTONE_TRY(const std::string pem, to_pem(raw));
  UNDERTONE_TRY(const CertificateFacts facts, facts_of(raw));
  issued_.push_back({facts, asked.key_sha256, 0});
  UNDERTONE_TRY(store_register());
  return pem;
}

Result<std::size_t> Authority::revoke(Role role, const std::string& name, std::time_t now) {
  std::size_t revoked = 0;
  for (Issued& entry : issued_) {
    if (entry.facts.party.role != role || entry.facts.party.name != name || entry.revoked != 0) continue;
    entry.revoked = now;
    ++revoked;
  }
  UNDERTONE_TRY(store_register());
  UNDERTONE_TRY(write_revocations(now));
  return revoked;
}

Status Authority::write_revocations(std::time_t now) const {
  const detail::RevocationList list(X509_CRL_new());
  X509_CRL* raw = list.get();
  const detail::Time issued(ASN1_TIME_set(nullptr, now));
  // The list does not expire before the authority: an institution that misses a mail is not cut off.
  const ASN1_TIME* until = X509_get0_notAfter(secret_->certificate.get());
  if (raw == nullptr || X509_CRL_set_version(raw, X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(raw, X509_get_subject_name(secret_->certificate.get())) != 1 ||
      X509_CRL_set1_lastUpdate(raw, issued.get()) != 1 || X509_CRL_set1_nextUpdate(raw, until) != 1) {
    return openssl_failed("the revocation list");
  }
  // A list with fewer entries than another is the older one: entries stay. So their number orders the lists of a
  // second.
  const detail::Integer list_number(ASN1_INTEGER_new());
  const auto entries =
      std::count_if(issued_.begin(), issued_.end(), [](const Issued& entry) { return entry.revoked != 0; });
  if (!list_number || ASN1_INTEGER_set_int64(list_number.get(), entries) != 1 ||
      X509_CRL_add1_ext_i2d(raw, NID_crl_number, list_number.get(), 0, 0) != 1) {
    return openssl_failed("the revocation list");
  }
  for (const Issued& entry : issued_) {
    if (entry.revoked == 0) continue;
    BIGNUM* number = nullptr;
    if (BN_hex2bn(&number, entry.facts.serial.c_str()) == 0) return openssl_failed("a serial number");
    const detail::Number guard(number);
    const detail::Integer serial(BN_to_ASN1_INTEGER(number, nullptr));
    const detail::Time when(ASN1_TIME_set(nullptr, entry.revoked));
    std::unique_ptr<X509_REVOKED, detail::Freer<X509_REVOKED_free>> revoked(X509_REVOKED_new());
    if (!revoked || X509_REVOKED_set_serialNumber(revoked.get(), serial.get()) != 1 ||
        X509_REVOKED_set_revocationDate(revoked.get(), when.get()) != 1 ||
        X509_CRL_add0_revoked(raw, revoked.get()) != 1) {
      return openssl_failed("the revocation list");
    }
    (void)revoked.release();  // the list owns it now
  }
  const detail::Bio out = detail::writing();
  if (X509_CRL_sort(raw) != 1 || X509_CRL_sign(raw, secret_->key.get(), EVP_sha256()) == 0 ||
      PEM_write_bio_X509_CRL(out.get(), raw) != 1) {
    return openssl_failed("the revocation list");
  }
  return write_file_atomically(revocation_file(), detail::written(out));
}

}  // namespace undertone::certificates
