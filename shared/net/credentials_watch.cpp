#include "shared/net/credentials_watch.hpp"

#include <spdlog/spdlog.h>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/service/clock.hpp"

namespace undertone::net {
namespace {

constexpr std::time_t kDay = std::time_t{24} * 3600;

}  // namespace

bool CredentialsWatch::look(Credentials& credentials) {
  const Result<bool> renewed = credentials.refresh();
  const std::time_t ends = credentials.own().not_after;
  if (!renewed) spdlog::warn("credentials_not_read reason={}", quoted_text(renewed.error().message));
  if (renewed && *renewed) spdlog::info("credentials_renewed valid_until=\"{}\"", service::utc_minute(ends));
  const std::time_t now = service::wall_clock();
  if (ends - now < kExpiryWarning && now - warned_ >= kDay) {
    warned_ = now;
    spdlog::warn("certificate_expires at=\"{}\"", service::utc_minute(ends));
  }
  if (now - warned_of_key_ >= kDay) {
    if (const Status kept = check_private_file(credentials.key_file()); !kept) {
      warned_of_key_ = now;
      spdlog::warn("key_exposed reason={}", quoted_text(kept.error().message));
    }
  }
  return renewed && *renewed;
}

void close_if_outdated(Session& session, const Credentials& credentials) {
  const certificates::CertificateFacts& peer = session.peer();
  if (peer.serial.empty()) return;  // it has shown none yet
  const bool revoked = credentials.revoked(peer.serial);
  if (!revoked && service::wall_clock() <= peer.not_after) return;
  const std::string reason = revoked ? "its certificate was revoked" : "its certificate has expired";
  spdlog::warn("connection_dropped peer={} reason=\"{}\"", quoted_text(describe(peer.party)), reason);
  session.close(reason);
}

}  // namespace undertone::net
