#include "operator/provision.hpp"
#include "shared/config/json_section.hpp"
#include "tests/fuzz/target.hpp"

namespace undertone::fuzz {
namespace {

/// What a consortium agrees on: whoever is let in can be certified, and has a kit's folder of its own.
void consortium(std::string_view input) {
  const auto document = config::parse_json(input, "consortium.json");
  if (!document) return;
  config::Problems problems("consortium.json");
  const auto parsed = operators::parse_consortium(document->root, problems);
  UNDERTONE_CHECK(parsed.has_value() == problems.none());
  if (!parsed) return;
  UNDERTONE_CHECK(parsed->parties.size() >= 2);
  for (const operators::ConsortiumParty& party : parsed->parties) {
    UNDERTONE_CHECK(certificates::check_party(party.party).has_value());
    UNDERTONE_CHECK(party.party.name.find('/') == std::string::npos);
  }
}

const Target kTarget("consortium", consortium);

}  // namespace
}  // namespace undertone::fuzz
