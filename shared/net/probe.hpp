#pragma once

#include "shared/net/dial.hpp"
#include "shared/net/session.hpp"

namespace undertone::net {

/// Tries the way to a service, and waits for the outcome: dials it, through the proxy if there is one, shakes hands
/// with this party's certificate, and hangs up without a word. So the service does not take it for the party's session.
/// @return whose certificate the service showed; an error in words where there is no way, or it lets this party not in
[[nodiscard]] Result<certificates::Party> probe(const Destination& to, Credentials& credentials,
                                                const SessionLimits& limits);

}  // namespace undertone::net
