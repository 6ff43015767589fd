#include "shared/net/credentials_watch.hpp"

#include <spdlog/spdlog.h>

namespace undertone::net {
namespace {

constexpr std::time_t kDay = std::time_t{24} * 3600;

}  // namespace

bool CredentialsWatch::look(Credentials& credentials) {
  const Result<bool> renewed = credentials.refresh();
  const std::time_t ends = credentials.own().not_after;
  if (!renewed) spdlog::warn("credentials_not_read reason=\"{}\"", renewed.error().message);
  if (renewed && *renewed) spdlog::info("credentials_renewed valid_until=\"{}\"", certificates::show_time(ends));
  const std::time_t now = std::time(nullptr);
  if (ends - now < kExpiryWarning && now - warned_ >= kDay) {
    warned_ = now;
    spdlog::warn("certificate_expires at=\"{}\"", certificates::show_time(ends));
  }
  return renewed && *renewed;
}

}  // namespace undertone::net
