#include "shared/certificates/party.hpp"

#include "shared/base/ids.hpp"
#include "shared/base/plain_text.hpp"

namespace undertone::certificates {

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::Coordinator:
      return "coordinator";
    case Role::Silo:
      return "silo";
    case Role::Shuffler:
      return "shuffler";
    case Role::Operator:
      return "operator";
    case Role::Viewer:
      return "viewer";
  }
  return "";
}

Result<Role> parse_role(std::string_view name) {
  for (const Role role : kRoles) {
    if (to_string(role) == name) return role;
  }
  return Error{
      ErrorCode::Unauthorized,
      fmt::format("expected the role coordinator, silo, shuffler, operator or viewer, got \"{}\"", plain_text(name))};
}

std::string describe(const Party& party) {
  return fmt::format("{} {} of {}", to_string(party.role), party.name, party.consortium);
}

Status check_party(const Party& party) {
  // Every name follows the rules of a silo's: it becomes a file's name and a word of logs.
  if (const Result<SiloId> name = SiloId::create(party.name); !name) return name.error();
  if (party.consortium.empty() || party.consortium.size() > 64 || !is_plain_text(party.consortium))
    return Error{ErrorCode::InvalidArgument, "a consortium's name has 1 to 64 bytes of plain text"};
  return {};
}

}  // namespace undertone::certificates
