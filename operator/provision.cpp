#include "operator/provision.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <set>

#include "shared/base/digest.hpp"
#include "shared/base/files.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/service/clock.hpp"

namespace undertone::operators {
namespace {

using certificates::Authority;
using certificates::Role;
namespace kit = certificates::kit;
using Json = nlohmann::ordered_json;

constexpr std::time_t kDay = std::time_t{24} * 3600;
constexpr std::time_t kClockSkew = 3600;  // a certificate is valid a little before it was made
constexpr const char* kConsortiumCopy = "consortium.json";

Json tls_section() {
  return {{"authority", kit::kAuthority},
          {"certificate", kit::kCertificate},
          {"key", kit::kKey},
          {"revoked", kit::kRevoked}};
}

Json example_schema() {
  return {
      {"label", {{"column", "outcome"}, {"negative", "no"}, {"positive", "yes"}}},
      {"features", Json::array({{{"column", "age"}, {"min", 0}, {"max", 120}},
                                {{"column", "sex"}, {"categories", {"female", "male"}}, {"others_allowed", true}}})}};
}

bool is_address(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(family, host.c_str(), bytes.data()) == 1;
}
bool is_ipv4(const std::string& host) { return is_address(AF_INET, host); }
bool is_ipv6(const std::string& host) { return is_address(AF_INET6, host); }

/// Every address of the machine: those of IPv6, too, where the party is reached at one.
std::string listens_at(const ConsortiumParty& self) {
  return std::any_of(self.hosts.begin(), self.hosts.end(), is_ipv6) ? "::" : "0.0.0.0";
}

Json coordinator_file(const Consortium& consortium, const ConsortiumParty& self) {
  return {{"format", "undertone.coordinator/1"},
          {"consortium", consortium.name},
          {"name", self.party.name},
          {"listen", {{"host", listens_at(self)}, {"port", self.port}}},
          {"tls", tls_section()},
          {"store", "state/store.sqlite"},
          {"results", "results"},
          {"http", {{"host", "127.0.0.1"}, {"port", self.port + 1}, {"tls", true}}}};
}

Json silo_file(const Consortium& consortium, const ConsortiumParty& self, const ConsortiumParty& coordinator) {
  return {{"format", "undertone.silo/1"},
          {"silo", self.party.name},
          {"consortium", consortium.name},
          {"coordinator", {{"host", coordinator.hosts.front()}, {"port", coordinator.port}}},
          {"tls", tls_section()},
          {"datasets",
           Json::array(
               {{{"name", "main"},
                 {"csv", "data.csv"},
                 {"schema", consortium.schema},
                 {"holdout_fraction", 0.2},
                 {"holdout_seed", 1},
                 {"holdout_public", false},
                 {"ledger",
                  {{"path", "state/main.sqlite"}, {"head", "heads/main.head.json"}, {"key", "state/ledger.key"}}}}})},
          {"policy",
           {{"models", {"logistic", "least_squares"}},
            {"algorithms", {"noisy_minibatch_sgd"}},
            {"units", {"record"}},
            {"records_min", 50},
            {"cohort_min", 2},
            {"epsilon_max", 1},
            {"delta_max", kNewPolicyDeltaMax},
            {"epsilon_total", 4},
            {"delta_total", 1e-4},
            {"approval", "manual"},
            {"projections", true},
            {"release_interval_ms", 0}}},
          {"desk", "state/desk.sqlite"},
          {"statements", "statements"}};
}

Json shuffler_file(const Consortium& consortium, const ConsortiumParty& self) {
  return {{"format", "undertone.shuffler/1"},
          {"consortium", consortium.name},
          {"name", self.party.name},
          {"listen", {{"host", listens_at(self)}, {"port", self.port}}},
          {"tls", tls_section()},
          {"store", "state/batches.sqlite"},
          {"sealing_key", "sealing.key"}};
}

/// Where the shufflers are dialled, as far as the consortium's file says.
Json shuffler_addresses(const Consortium& consortium) {
  Json out = Json::array();
  for (const ConsortiumParty& party : consortium.parties) {
    if (party.party.role != Role::Shuffler || party.hosts.empty()) continue;
    out.push_back({{"name", party.party.name}, {"host", party.hosts.front()}, {"port", party.port}});
  }
  return out;
}

Json operator_file(const Consortium& consortium, const ConsortiumParty& self, const ConsortiumParty& coordinator) {
  return {{"format", "undertone.operator/1"},
          {"consortium", consortium.name},
          {"operator", self.party.name},
          {"url", fmt::format("https://127.0.0.1:{}", coordinator.port + 1)},
          {"tls", tls_section()}};
}

/// Three steps: what to run first, what to edit, what to run then.
std::string readme_of(const ConsortiumParty& self, bool with_keys) {
  const auto first = [&](const char* program) {
    return fmt::format("1. You are the {}. ", describe(self.party)) +
           (with_keys ? std::string("Key and certificate are here already: for tests, since keys travelled.\n")
                      : fmt::format("`{} init --kit .` makes your key; send request.pem, put the answer here as "
                                    "certificate.pem.\n",
                                    program));
  };
  switch (self.party.role) {
    case Role::Coordinator:
      return first("undertone-coordinator") +
             "2. Edit coordinator.json (docs/configuration.md).\n3. `undertone-coordinator serve --config "
             "coordinator.json`\n";
    case Role::Silo:
      return first("undertone-silo") +
             "2. Edit silo.json: csv, schema, policy; `undertone-silo check --config silo.json` reads the data and "
             "sends nothing.\n3. `undertone-silo run --config silo.json`\n";
    case Role::Operator:
      return first("undertone") + "2. Edit the url in operator.json.\n3. `undertone status --config operator.json`\n";
    case Role::Viewer:
      return first("undertone") +
             "2. Edit the url in operator.json.\n3. `undertone status --config operator.json`, or open the url in a "
             "browser that has your certificate. You see all runs and change none.\n";
    case Role::Shuffler:
      return first("undertone-shuffler") +
             "2. Edit shuffler.json: store on an encrypted volume that no backup reads; `undertone-shuffler key "
             "--config "
             "shuffler.json` prints what jobs name you with.\n3. `undertone-shuffler run --config shuffler.json`\n";
  }
  return {};
}

Result<std::string> issue(Authority& authority, const Consortium& consortium, const std::string& request) {
  UNDERTONE_TRY(const Authority::RequestFacts asked, Authority::read_request(request));
  const auto listed = std::find_if(consortium.parties.begin(), consortium.parties.end(),
                                   [&](const ConsortiumParty& p) { return p.party == asked.party; });
  if (listed == consortium.parties.end()) {
    return Error{ErrorCode::Unauthorized,
                 fmt::format("the consortium's file does not name the {}", describe(asked.party))};
  }
  const std::time_t now = service::wall_clock();
  return authority.sign(request, {now - kClockSkew, now + consortium.certificate_days * kDay, listed->hosts});
}

Status write_kit(const std::filesystem::path& folder, const Consortium& consortium, const ConsortiumParty& self,
                 Authority& authority, bool with_keys) {
  if (Status made = make_folder_for(folder / kit::kParty); !made) return made;
  if (Status written = certificates::write_party(folder, self.party); !written) return written;
  for (const auto& [from, to] : {std::pair(authority.certificate_file(), kit::kAuthority),
                                 std::pair(authority.revocation_file(), kit::kRevoked)}) {
    UNDERTONE_TRY(const std::string content, read_file(from, 16U << 20U));
    if (Status written = write_file_atomically(folder / to, content); !written) return written;
  }
  const auto coordinator = std::find_if(consortium.parties.begin(), consortium.parties.end(),
                                        [](const ConsortiumParty& p) { return p.party.role == Role::Coordinator; });
  Json document;
  switch (self.party.role) {
    case Role::Coordinator:
      document = coordinator_file(consortium, self);
      break;
    case Role::Silo:
      document = silo_file(consortium, self, *coordinator);
      break;
    case Role::Operator:
    case Role::Viewer:
      document = operator_file(consortium, self, *coordinator);
      break;
    case Role::Shuffler:
      document = shuffler_file(consortium, self);
      break;
  }
  if (const Json shufflers = shuffler_addresses(consortium);
      !shufflers.empty() && (self.party.role == Role::Coordinator || self.party.role == Role::Silo)) {
    document["shufflers"] = shufflers;
  }
  const Role program = self.party.role == Role::Viewer ? Role::Operator : self.party.role;  // whose file it reads
  const std::string name = fmt::format("{}.json", to_string(program));
  if (Status written = write_file_atomically(folder / name, document.dump(2) + "\n"); !written) return written;
  if (with_keys) {
    UNDERTONE_TRY(const std::string request, certificates::make_request(self.party, folder / kit::kKey));
    UNDERTONE_TRY(const std::string certificate, issue(authority, consortium, request));
    if (Status written = write_file_atomically(folder / kit::kCertificate, certificate); !written) return written;
  }
  return write_file_atomically(folder / "README", readme_of(self, with_keys));
}

/// Each becomes a name in a certificate: nothing that separates names there may stand in one.
void check_hosts(config::Section& section, const std::vector<std::string>& hosts) {
  constexpr std::size_t kLengthMax = 253;  // of a name in DNS
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const std::string& host : hosts) {
    const bool plain = !host.empty() && host.size() <= kLengthMax && std::all_of(host.begin(), host.end(), [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '.' || c == ':' || c == '-';
    });
    // No name ends in a label of digits alone: what looks like an address is one, or a slip.
    const std::string last = host.substr(host.rfind('.') + 1);
    const bool numeric = !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
    if (!plain) {
      section.problem("hosts", fmt::format("expected names or addresses, got \"{}\"", host));
    } else if (host.find(':') != host.npos && !is_ipv6(host)) {
      section.problem("hosts",
                      fmt::format("expected names or addresses, without a port, which has a key of its own, got "
                                  "\"{}\"",
                                  host));
    } else if (numeric && host.find(':') == host.npos && !is_ipv4(host)) {
      section.problem("hosts", fmt::format("expected names or addresses, and \"{}\" is no IPv4 address", host));
    }
  }
}

/// Where a shuffler is reached. Without hosts it has a certificate, and the other kits do not say where it is.
void parse_reached(config::Section& section, ConsortiumParty& out) {
  constexpr std::uint16_t kPort = 7445;
  if (section.has("hosts"))
    out.hosts = section.texts("hosts", "of a shuffler: names or addresses it is reached at; silos dial the first");
  check_hosts(section, out.hosts);
  out.port = section.has("port") ? static_cast<std::uint16_t>(section.integer(
                                       "port", 1, 65535, "of a shuffler: for silos and the coordinator (default 7445)"))
                                 : kPort;
}

void parse_parties(config::Section& root, const char* key, Role role, const std::string& consortium, bool required,
                   std::vector<ConsortiumParty>& out) {
  if (!required && !root.has(key)) return;
  for (config::Section section : root.objects(key, 1, 10'000, "who takes part as this; each gets a kit")) {
    ConsortiumParty party{{consortium, role, section.text("name", "1 to 64 of [a-z0-9-]")}, {}, 0};
    const Status good = certificates::check_party(party.party);
    if (!good && !party.party.name.empty()) section.problem("name", good.error().message);
    if (role == Role::Shuffler) parse_reached(section, party);
    section.finish();
    out.push_back(std::move(party));
  }
}

}  // namespace

Result<Consortium> parse_consortium(const nlohmann::json& document, config::Problems& problems) {
  config::Section root(document, "", problems);
  (void)root.choice<int>("format", {{"undertone.consortium/1", 1}}, "what this file is");
  Consortium out;
  out.name = root.text("consortium", "its name, at most 64 bytes; it stands in every certificate");
  out.authority_days = root.has("authority_days")
                           ? root.integer("authority_days", 1, 36'500, "how long the authority lasts (default 3650)")
                           : 3650;
  out.certificate_days =
      root.has("certificate_days")
          ? root.integer("certificate_days", 1, 3650, "how long a party's certificate lasts (default 365)")
          : 365;
  config::Section coordinator = root.object("coordinator", "the service that drives the jobs");
  ConsortiumParty hub;
  hub.party = {out.name, Role::Coordinator, coordinator.text("name", "1 to 64 of [a-z0-9-]")};
  hub.hosts = coordinator.texts("hosts", "names or addresses it is reached at; silos dial the first", {1});
  check_hosts(coordinator, hub.hosts);
  hub.port = static_cast<std::uint16_t>(
      coordinator.integer("port", 1, 65534, "for silos; the HTTP service is one above it, on loopback"));
  coordinator.finish();
  const Status good = certificates::check_party(hub.party);
  if (!good && !hub.party.name.empty() && !out.name.empty()) root.problem("coordinator", good.error().message);
  hub.hosts.emplace_back("127.0.0.1");
  hub.hosts.emplace_back("localhost");
  out.parties.push_back(std::move(hub));
  parse_parties(root, "silos", Role::Silo, out.name, true, out.parties);
  parse_parties(root, "shufflers", Role::Shuffler, out.name, false, out.parties);
  parse_parties(root, "operators", Role::Operator, out.name, false, out.parties);
  parse_parties(root, "viewers", Role::Viewer, out.name, false, out.parties);
  std::set<std::pair<Role, std::string>> seen;
  for (const ConsortiumParty& party : out.parties) {
    if (!seen.emplace(party.party.role, party.party.name).second)
      root.problem("silos", fmt::format("the {} \"{}\" stands twice", to_string(party.party.role), party.party.name));
  }
  root.finish();
  if (!problems.none()) return problems.error();
  out.schema = example_schema();
  return out;
}

Result<Consortium> load_consortium(const std::filesystem::path& file) {
  UNDERTONE_TRY(const config::JsonDocument document, config::load_json(file, 4U << 20U));
  config::Problems problems(file.string());
  return parse_consortium(document.root, problems);
}

Result<std::vector<std::filesystem::path>> provision(const std::filesystem::path& consortium_file,
                                                     const std::filesystem::path& out, bool with_keys) {
  UNDERTONE_TRY(const Consortium consortium, load_consortium(consortium_file));
  const std::time_t now = service::wall_clock();
  UNDERTONE_TRY(Authority authority, Authority::create(out / "authority", consortium.name, now - kClockSkew,
                                                       now + consortium.authority_days * kDay));
  UNDERTONE_TRY(const std::string text, read_file(consortium_file, 4U << 20U));
  if (Status kept = write_file_atomically(out / "authority" / kConsortiumCopy, text); !kept) return kept.error();
  std::vector<std::filesystem::path> kits;
  for (const ConsortiumParty& party : consortium.parties) {
    const std::filesystem::path folder =
        out / "kits" / fmt::format("{}-{}", to_string(party.party.role), party.party.name);
    if (Status written = write_kit(folder, consortium, party, authority, with_keys); !written) return written.error();
    kits.push_back(folder);
  }
  return kits;
}

ConfirmKey key_has_digest(std::string digest) {
  return [digest = std::move(digest)](const Authority::RequestFacts& asked) -> Status {
    const Result<std::string> expected = from_hex(digest);
    if (!expected || expected->size() != Digest().size()) {
      return Error{ErrorCode::InvalidArgument,
                   "the key's digest: expected 64 hexadecimal digits, as `init` printed them to the party"};
    }
    if (to_hex(*expected) == asked.key_sha256) return {};
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("nothing was signed: the digest of the request's key is {}, expected {}; somebody else may "
                    "have made this request",
                    asked.key_sha256, to_hex(*expected))};
  };
}

Result<Signed> sign_request(const std::filesystem::path& folder, const std::filesystem::path& request,
                            const ConfirmKey& confirm) {
  UNDERTONE_TRY(Authority authority, Authority::open(folder));
  UNDERTONE_TRY(const Consortium consortium, load_consortium(folder / kConsortiumCopy));
  UNDERTONE_TRY(const std::string pem, read_file(request, 1U << 16U));
  const Result<Authority::RequestFacts> asked = Authority::read_request(pem);
  if (!asked) return Error{asked.error().code, fmt::format("{}: {}", request.string(), asked.error().message)};
  if (const Status confirmed = confirm(*asked); !confirmed) return confirmed.error();
  const std::time_t now = service::wall_clock();
  std::size_t still_valid = 0;
  for (const certificates::Issued& issued : authority.issued()) {
    if (issued.facts.party == asked->party && issued.revoked == 0 && issued.facts.not_after > now) ++still_valid;
  }
  UNDERTONE_TRY(std::string certificate, issue(authority, consortium, pem));
  return Signed{std::move(certificate), asked->party, asked->key_sha256, authority.issued().back().facts.not_after,
                still_valid};
}

Result<std::size_t> revoke_party(const std::filesystem::path& folder, Role role, const std::string& name) {
  UNDERTONE_TRY(Authority authority, Authority::open(folder));
  Result<std::size_t> revoked = authority.revoke(role, name, service::wall_clock());
  if (revoked && *revoked == 0)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("no certificate of the {} {} is left to revoke", to_string(role), name)};
  return revoked;
}

}  // namespace undertone::operators
