#include "shared/http/access.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <spdlog/spdlog.h>

#include "shared/base/files.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/crypto/secure_bits.hpp"

namespace undertone::http {
namespace {

constexpr std::size_t kTokenBytesMin = 32;
constexpr std::string_view kBearer = "Bearer ";

std::string draw_secret() {
  crypto::SecureBits bits = crypto::SecureBits::from_os();
  std::string out;
  for (int i = 0; i < 4; ++i) out += fmt::format("{:016x}", bits.word());
  return out;
}

/// Compares digests of equal length in constant time.
bool same_secret(std::string_view given, std::string_view known) {
  const Digest one = sha256(given);
  const Digest other = sha256(known);
  return !known.empty() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

Result<std::string> read_token(const std::filesystem::path& file) {
  if (file.empty()) return std::string();
  UNDERTONE_TRY(std::string token, read_file(file, 4096));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.size() < kTokenBytesMin)
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: expected a token of at least {} characters", file.string(), kTokenBytesMin)};
  if (const Status kept = check_private_file(file); !kept)
    spdlog::warn("token_exposed reason={}", quoted_text(kept.error().message));
  return token;
}

/// A host without its port: "[::1]" of "[::1]:7444".
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, std::min(host.find(']'), host.size() - 1) + 1);
  return host.substr(0, host.find(':'));
}

/// An address as it stands in a Host header. No name consists of digits and dots alone, or stands in brackets.
bool is_address(std::string_view host) {
  if (host.starts_with('[')) return host.ends_with(']');
  return !host.empty() &&
         std::all_of(host.begin(), host.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

std::string_view describe(Rights rights) {
  return rights == Rights::Change ? "whoever holds the token" : "whoever holds the viewers' token";
}

}  // namespace

std::optional<std::string_view> cookie_value(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view one = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return one.substr(name.size() + 1);
  }
  return std::nullopt;
}

Access::Access(AccessConfig config, std::uint16_t port)
    : config_(std::move(config)), port_(port), key_(draw_secret()) {}

Status Access::load() {
  UNDERTONE_TRY(operators_, read_token(config_.token_file));
  UNDERTONE_TRY(viewers_, read_token(config_.viewer_token_file));
  if (!operators_.empty() && operators_ == viewers_)
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: viewers need another token than operators", config_.viewer_token_file.string())};
  return {};
}

Rights Access::by_token(std::string_view authorization) const {
  if (!authorization.starts_with(kBearer)) return Rights::None;
  const std::string_view token = authorization.substr(kBearer.size());
  if (same_secret(token, operators_)) return Rights::Change;
  return same_secret(token, viewers_) ? Rights::Look : Rights::None;
}

std::string Access::draw_token() { return draw_secret(); }

std::string Access::cookie_name() const {
  // Cookies of a host are sent to all of its ports, so that the name says the port.
  return fmt::format("{}undertone-{}", config_.tls ? "__Host-" : "", port_);
}

std::string Access::csrf_of(std::string_view identity) const { return to_hex(hmac_sha256(key_, identity)); }

bool Access::is_own_host(std::string_view host) const {
  if (config_.tls) return true;
  const std::string_view name = without_port(host);
  return is_address(name) || name == "localhost" ||
         std::find(config_.names.begin(), config_.names.end(), name) != config_.names.end();
}

bool Access::is_own_page(const Presented& presented, std::string_view identity) const {
  if (!same_secret(presented.csrf, csrf_of(identity))) return false;
  if (!presented.site.empty() && presented.site != "same-origin") return false;
  std::string_view origin = presented.origin;
  if (origin.empty()) return true;  // a browser sends it with every change
  const bool encrypted = origin.starts_with("https://");
  if (!encrypted && (config_.tls || !origin.starts_with("http://"))) return false;
  origin.remove_prefix(encrypted ? 8 : 7);
  return !presented.host.empty() && origin == presented.host;
}

Caller Access::caller(const Presented& presented, TimePoint now) {
  if (const Rights rights = by_token(presented.authorization); rights != Rights::None)
    return {rights, std::string(describe(rights)), "", ""};
  if (!is_own_host(presented.host)) return {};
  Caller out;
  std::string identity;
  if (const certificates::Party* party = presented.certificate; party != nullptr) {
    if (party->role == certificates::Role::Operator) out.rights = Rights::Change;
    if (party->role == certificates::Role::Viewer) out.rights = Rights::Look;
    if (out.rights != Rights::None) {
      out.who = fmt::format("the {} {}", certificates::to_string(party->role), party->name);
      identity = "certificate " + out.who;
    }
  }
  const std::optional<std::string_view> cookie =
      out.rights == Rights::None ? cookie_value(presented.cookie, cookie_name()) : std::nullopt;
  if (cookie) {
    const auto session = sessions_.find(sha256(*cookie));
    if (session == sessions_.end()) return {};
    if (now - session->second.last >= kSilence) {
      sessions_.erase(session);
      return {};
    }
    if (!presented.unattended) session->second.last = now;
    out.rights = session->second.rights;
    out.session = std::string(*cookie);
    out.who = session->second.who;
    identity = "session " + out.session;
  }
  if (out.rights == Rights::None) return {};
  const bool of_a_browser =
      cookie || !presented.origin.empty() || (!presented.site.empty() && presented.site != "none");
  if (presented.changes && of_a_browser) {
    if (!is_own_page(presented, identity)) return {};
    out.who += ", by a page";
  }
  out.csrf = csrf_of(identity);
  return out;
}

std::string Access::open_session(const Presented& presented, TimePoint now) {
  Rights rights = by_token(presented.authorization);
  std::string who(describe(rights));
  if (rights == Rights::None && presented.authorization.starts_with(kBearer) &&
      same_secret(presented.authorization.substr(kBearer.size()), config_.one_time_token)) {
    config_.one_time_token.clear();
    rights = Rights::Change;
    who = "the owner";
  }
  if (rights == Rights::None) return "";
  std::erase_if(sessions_, [&](const auto& one) { return now - one.second.last >= kSilence; });
  if (sessions_.size() >= kSessionsMax) {
    sessions_.erase(std::min_element(sessions_.begin(), sessions_.end(), [](const auto& one, const auto& other) {
      return one.second.last < other.second.last;
    }));
  }
  const std::string value = draw_secret();
  sessions_[sha256(value)] = {rights, who, now};
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", cookie_name(), value, config_.tls ? "; Secure" : "");
}

std::string Access::close_session(const Caller& caller) {
  if (!caller.session.empty()) sessions_.erase(sha256(caller.session));
  return fmt::format("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{}", cookie_name(),
                     config_.tls ? "; Secure" : "");
}

}  // namespace undertone::http
