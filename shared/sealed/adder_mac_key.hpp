#pragma once

#include "shared/base/ids.hpp"
#include "shared/sealed/reply_mac_key.hpp"

namespace undertone::sealed {

/// The reply key of messages that a shuffler opens to add them up. It is no secret, since it follows from the run: an
/// adder knows its silos by their TLS sessions. What it does is bind a box to its run, round, query and length, in the
/// one format that sealed replies have.
[[nodiscard]] sealed::ReplyMacKey adder_mac_key(const RunId& run);

}  // namespace undertone::sealed
