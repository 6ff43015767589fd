#include "shared/net/session_config.hpp"

namespace undertone::net {

TlsFiles parse_tls(config::Section section, const std::filesystem::path& folder) {
  TlsFiles files{folder / section.text("authority", "the consortium's certificate"),
                 folder / section.text("certificate", "this party's certificate"),
                 folder / section.text("key", "its private key"),
                 {}};
  if (section.has("revoked"))
    files.revoked = folder / section.text("revoked", "the consortium's revocation list (default: none is read)");
  section.finish();
  return files;
}

SessionLimits parse_session(config::Section section) {
  SessionLimits limits;
  const auto milliseconds = [&section](const char* key, std::chrono::milliseconds& value, const char* about) {
    if (section.has(key)) value = std::chrono::milliseconds(section.integer(key, 10, 3'600'000, about));
  };
  milliseconds("handshake_ms", limits.handshake, "for TLS and the first message, both ways (default 5000)");
  milliseconds("heartbeat_ms", limits.heartbeat, "how often to say something (default 2000)");
  milliseconds("silence_ms", limits.silence, "how long to hear nothing before giving up (default 10000)");
  milliseconds(
      "stall_ms", limits.stall,
      "how long to wait for a peer that takes nothing of a queue over a quarter of outbox_bytes_max (default 120000)");
  if (section.has("outbox_bytes_max"))
    limits.outbox_bytes = static_cast<std::size_t>(
        section.integer("outbox_bytes_max", 1 << 16, std::int64_t{1} << 40,
                        "queued to a peer that does not read, with 512 for each message (default 2^30)"));
  if (section.has("frame_bytes_max"))
    limits.wire.frame_bytes_max = static_cast<std::uint32_t>(section.integer(
        "frame_bytes_max", 1 << 10, 1 << 30, "of one frame, checked before a byte is stored (default 2^23)"));
  if (section.has("dimension_max"))
    limits.wire.dimension_max = static_cast<std::uint64_t>(
        section.integer("dimension_max", 1, std::int64_t{1} << 32, "elements of one vector (default 2^24)"));
  if (section.has("protocol_max")) {
    limits.protocol_max = static_cast<std::uint32_t>(
        section.integer("protocol_max", wire::kProtocolMin, wire::kProtocolMax,
                        "speak no newer protocol: while a consortium upgrades (default: the newest)"));
  }
  if (limits.heartbeat >= limits.silence) section.problem("heartbeat_ms", "expected less than silence_ms");
  section.finish();
  return limits;
}

LinkAddress parse_link(config::Section& section) {
  LinkAddress out;
  out.name = section.text("name", "the CN of its certificate");
  out.host = section.text("host", "a name or an address");
  out.port = static_cast<std::uint16_t>(section.integer("port", 1, 65535, "its port"));
  return out;
}

std::vector<LinkAddress> parse_shufflers(config::Section& root) {
  constexpr std::size_t kShufflersMax = 16;
  std::vector<LinkAddress> out;
  if (!root.has("shufflers")) return out;
  for (config::Section section : root.objects("shufflers", 1, kShufflersMax, "where to dial them (default: none)")) {
    out.push_back(parse_link(section));
    section.finish();
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      if (out[i].name == out[j].name) root.problem("shufflers", fmt::format("\"{}\" stands twice", out[i].name));
  }
  return out;
}

}  // namespace undertone::net
