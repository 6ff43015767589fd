#include "shared/net/session_config.hpp"

namespace undertone::net {

TlsFiles parse_tls(config::Section section, const std::filesystem::path& folder) {
  TlsFiles files{folder / section.text("authority"), folder / section.text("certificate"),
                 folder / section.text("key")};
  section.finish();
  return files;
}

SessionLimits parse_session(config::Section section) {
  SessionLimits limits;
  const auto milliseconds = [&section](const char* key, std::chrono::milliseconds& value) {
    if (section.has(key)) value = std::chrono::milliseconds(section.integer(key, 10, 3'600'000));
  };
  milliseconds("handshake_ms", limits.handshake);
  milliseconds("heartbeat_ms", limits.heartbeat);
  milliseconds("silence_ms", limits.silence);
  if (section.has("outbox_bytes_max"))
    limits.outbox_bytes = static_cast<std::size_t>(section.integer("outbox_bytes_max", 1 << 16, std::int64_t{1} << 40));
  if (section.has("frame_bytes_max"))
    limits.wire.frame_bytes_max = static_cast<std::uint32_t>(section.integer("frame_bytes_max", 1 << 10, 1 << 30));
  if (section.has("dimension_max"))
    limits.wire.dimension_max = static_cast<std::uint64_t>(section.integer("dimension_max", 1, std::int64_t{1} << 32));
  if (limits.heartbeat >= limits.silence) section.problem("heartbeat_ms", "expected less than silence_ms");
  section.finish();
  return limits;
}

}  // namespace undertone::net
