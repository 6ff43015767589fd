#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shared/certificates/authority.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::operators {

/// A party as the consortium's file names it.
struct ConsortiumParty {
  certificates::Party party;
  std::vector<std::string> hosts;  // of a coordinator or shuffler
  std::uint16_t port = 0;
};

/// The largest delta of one job that a new silo's policy allows, until its owner changes it.
inline constexpr double kNewPolicyDeltaMax = 1e-5;

/// What a consortium agrees on before anything runs.
struct Consortium {
  std::string name;
  std::int64_t authority_days = 0;
  std::int64_t certificate_days = 0;
  std::vector<ConsortiumParty> parties;  // one coordinator, at least one silo
  nlohmann::ordered_json schema;         // for the silos' configurations; an example where the file has none
};

[[nodiscard]] Result<Consortium> load_consortium(const std::filesystem::path& file);
/// The parser behind it. @param problems may be a recording one
[[nodiscard]] Result<Consortium> parse_consortium(const nlohmann::json& document, config::Problems& problems);

/// Makes an authority and one start-up kit a party:
///   OUT/authority/   stays with the consortium
///   OUT/kits/ROLE-NAME/   for the party: party.json, authority.crt, revoked.crl, configuration, README
/// @param with_keys for tests: makes every key here and signs it, so that nothing is left to do
/// @return the kits' folders
[[nodiscard]] Result<std::vector<std::filesystem::path>> provision(const std::filesystem::path& consortium_file,
                                                                   const std::filesystem::path& out, bool with_keys);

/// Told of a request before it is signed. @return an error where its key is not the one that the party names by another
/// way than the request came: a name in a request proves nothing
using ConfirmKey = std::function<Status(const certificates::Authority::RequestFacts& asked)>;

/// @param digest of the party's public key, 64 hexadecimal digits, as `init` printed it and the party read it out
[[nodiscard]] ConfirmKey key_has_digest(std::string digest);

struct Signed {
  std::string certificate;  // PEM
  certificates::Party party;
  std::string key_sha256;
  std::time_t not_after = 0;
  std::size_t still_valid = 0;  // earlier certificates of the party that are neither expired nor revoked
};
/// Signs a party's request, if the consortium's file names the party and its key is confirmed. A party that has a
/// certificate gets another one: that is renewal.
[[nodiscard]] Result<Signed> sign_request(const std::filesystem::path& authority, const std::filesystem::path& request,
                                          const ConfirmKey& confirm);

/// @return how many certificates were revoked
[[nodiscard]] Result<std::size_t> revoke_party(const std::filesystem::path& authority, certificates::Role role,
                                               const std::string& name);

}  // namespace undertone::operators
