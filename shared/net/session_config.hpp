#pragma once

#include "shared/config/json_section.hpp"
#include "shared/net/link.hpp"
#include "shared/net/session.hpp"

namespace undertone::net {

/// {"authority", "certificate", "key"}. @param folder that relative paths start from
[[nodiscard]] TlsFiles parse_tls(config::Section section, const std::filesystem::path& folder);

/// {"handshake_ms", "heartbeat_ms", "silence_ms", "stall_ms", "outbox_bytes_max", "frame_bytes_max", "dimension_max"},
/// each with a default.
[[nodiscard]] SessionLimits parse_session(config::Section section);

/// {"name", "host", "port"} of a service that is dialled; other keys are the caller's to take.
[[nodiscard]] LinkAddress parse_link(config::Section& section);

/// A list of shufflers to dial, where the optional key "shufflers" is there.
[[nodiscard]] std::vector<LinkAddress> parse_shufflers(config::Section& root);

}  // namespace undertone::net
