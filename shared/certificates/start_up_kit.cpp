#include "shared/certificates/start_up_kit.hpp"

#include <nlohmann/json.hpp>

#include "shared/base/files.hpp"
#include "shared/certificates/authority.hpp"
#include "shared/config/json_section.hpp"

namespace undertone::certificates {

Status write_party(const std::filesystem::path& folder, const Party& party) {
  const nlohmann::ordered_json out = {{"format", "undertone.party/1"},
                                      {"consortium", party.consortium},
                                      {"role", to_string(party.role)},
                                      {"name", party.name}};
  return write_file_atomically(folder / kit::kParty, out.dump(2) + "\n");
}

Result<Party> read_party(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kit::kParty;
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 1U << 16U));
  config::Problems problems(file.string());
  config::Section root(document.root, "", problems);
  (void)root.choice<int>("format", {{"undertone.party/1", 1}}, "what this file is");
  Party party;
  party.consortium = root.text("consortium", "the consortium's name");
  party.role = root.choice<Role>("role",
                                 {{"coordinator", Role::Coordinator},
                                  {"silo", Role::Silo},
                                  {"shuffler", Role::Shuffler},
                                  {"operator", Role::Operator},
                                  {"viewer", Role::Viewer}},
                                 "what the party is");
  party.name = root.text("name", "its name");
  root.finish();
  if (!problems.none()) return problems.error();
  if (Status good = check_party(party); !good)
    return Error{ErrorCode::InvalidConfig, fmt::format("{}: {}", file.string(), good.error().message)};
  return party;
}

Result<InitDone> init_party(const std::filesystem::path& folder, bool renew) {
  UNDERTONE_TRY(const Party party, read_party(folder));
  const std::filesystem::path key = folder / (renew ? "key.next.pem" : kit::kKey);
  const std::filesystem::path request = folder / (renew ? "request.next.pem" : kit::kRequest);
  if (renew) {
    std::error_code ignored;
    std::filesystem::remove(key, ignored);  // of a renewal that was never signed
  }
  UNDERTONE_TRY(const std::string pem, make_request(party, key));
  UNDERTONE_TRY(write_file_atomically(request, pem));
  UNDERTONE_TRY(const Authority::RequestFacts facts, Authority::read_request(pem));
  InitDone done{request, ""};
  done.instructions = fmt::format(
      "{}\n"
      "The key is {} and stays here. Send {} to the consortium, which signs it:\n"
      "  undertone provision sign --authority DIR/authority {}\n"
      "and tell them, by another way than mail, the key's digest:\n"
      "  {}\n",
      describe(party), key.string(), request.string(), request.filename().string(), facts.key_sha256);
  done.instructions += renew ? fmt::format(
                                   "Then put the new certificate and {} in place of {} and {}; a running "
                                   "program takes them up by itself.\n",
                                   key.filename().string(), kit::kCertificate, kit::kKey)
                             : fmt::format("Put the certificate they send back here as {}.\n", kit::kCertificate);
  return done;
}

}  // namespace undertone::certificates
