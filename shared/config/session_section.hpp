#pragma once

#include "shared/config/json_section.hpp"
#include "shared/net/session.hpp"

namespace undertone::config {

/// {"authority", "certificate", "key"}. @param folder that relative paths start from
[[nodiscard]] net::TlsFiles parse_tls(Section section, const std::filesystem::path& folder);

/// {"handshake_ms", "heartbeat_ms", "silence_ms", "outbox_bytes_max", "frame_bytes_max", "dimension_max"}, each with a
/// default.
[[nodiscard]] net::SessionLimits parse_session(Section section);

}  // namespace undertone::config
