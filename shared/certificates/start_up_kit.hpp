#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "shared/certificates/party.hpp"

namespace undertone::certificates {

/// The files of a party's start-up kit, by name.
namespace kit {
inline constexpr const char* kParty = "party.json";
inline constexpr const char* kAuthority = "authority.crt";
inline constexpr const char* kRevoked = "revoked.crl";
inline constexpr const char* kCertificate = "certificate.pem";
inline constexpr const char* kKey = "key.pem";
inline constexpr const char* kRequest = "request.pem";
}  // namespace kit

/// party.json: who a kit is for.
[[nodiscard]] Status write_party(const std::filesystem::path& folder, const Party& party);
[[nodiscard]] Result<Party> read_party(const std::filesystem::path& folder);

/// What was made, and what its owner does next.
struct InitDone {
  std::filesystem::path request;
  std::string instructions;
};

/// Makes the party's key and signing request in its kit: the key never leaves the folder.
/// @param renew makes a new key and its request beside the old ones, as key.next.pem and request.next.pem
[[nodiscard]] Result<InitDone> init_party(const std::filesystem::path& folder, bool renew);

}  // namespace undertone::certificates
