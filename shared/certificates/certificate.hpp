#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "shared/certificates/party.hpp"

struct x509_st;
struct X509_name_st;

namespace undertone::certificates {

/// What a certificate says, as far as this system reads it.
struct CertificateFacts {
  Party party;
  std::string serial;  // hexadecimal
  std::time_t not_before = 0;
  std::time_t not_after = 0;
};

/// @return an error where the subject lacks a consortium (O), a role (OU) or a name (CN), or holds one twice
[[nodiscard]] Result<Party> party_of(const X509_name_st* subject);
[[nodiscard]] Result<CertificateFacts> facts_of(const x509_st* certificate);
[[nodiscard]] Result<CertificateFacts> read_certificate(std::string_view pem);
[[nodiscard]] Result<CertificateFacts> load_certificate(const std::filesystem::path& file);

/// Makes a P-256 key and a request that the consortium can sign; the key never leaves the file.
/// @param key_file written with mode 0600; an existing one is used again
/// @return the request, PEM
[[nodiscard]] Result<std::string> make_request(const Party& party, const std::filesystem::path& key_file);

}  // namespace undertone::certificates
