#pragma once

#include "shared/config/json_section.hpp"
#include "shared/net/session.hpp"

namespace undertone::net {

/// {"authority", "certificate", "key"}. @param folder that relative paths start from
[[nodiscard]] TlsFiles parse_tls(config::Section section, const std::filesystem::path& folder);

/// {"handshake_ms", "heartbeat_ms", "silence_ms", "outbox_bytes_max", "frame_bytes_max", "dimension_max"}, each with a
/// default.
[[nodiscard]] SessionLimits parse_session(config::Section section);

}  // namespace undertone::net
