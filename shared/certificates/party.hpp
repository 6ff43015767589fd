#pragma once

#include <array>
#include <string>
#include <string_view>

#include "shared/base/result.hpp"

namespace undertone::certificates {

/// What a party of a consortium may be; its certificate's OU says it.
enum class Role { Coordinator, Silo, Shuffler, Operator, Viewer };
inline constexpr std::array kRoles = {Role::Coordinator, Role::Silo, Role::Shuffler, Role::Operator, Role::Viewer};
[[nodiscard]] std::string_view to_string(Role role) noexcept;
[[nodiscard]] Result<Role> parse_role(std::string_view name);

/// Who a certificate is for, as its subject says: O, OU, CN. The whole of it is the identity: a silo of another
/// consortium or an operator of the same name is somebody else.
struct Party {
  std::string consortium;
  Role role = Role::Silo;
  std::string name;  // 1 to 64 of [a-z0-9-]

  friend bool operator==(const Party&, const Party&) = default;
};

/// "silo clinic-1 of lakeside", for sentences.
[[nodiscard]] std::string describe(const Party& party);

/// Whether a party's consortium and name can stand in a certificate.
[[nodiscard]] Status check_party(const Party& party);

}  // namespace undertone::certificates
