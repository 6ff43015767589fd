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

std::vector<std::string_view> cookie_values(std::string_view header, std::string_view name) {
  std::vector<std::string_view> out;
  while (!header.empty()) {
    std::string_view one = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      out.push_back(one.substr(name.size() + 1));
  }
  return out;
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

bool Access::is_own_page(const Presented& presented) const {
  if (!presented.site.empty() && presented.site != "same-origin") return false;
  std::string_view origin = presented.origin;
  const bool encrypted = origin.starts_with("https://");
  if (!encrypted && (config_.tls || !origin.starts_with("http://"))) return false;
  origin.remove_prefix(encrypted ? 8 : 7);
  return !presented.host.empty() && origin == presented.host;
}

std::map<Digest, Access::Session>::iterator Access::session_of(const Presented& presented, std::string& cookie) {
  for (const std::string_view value : cookie_values(presented.cookie, cookie_name())) {
    const auto session = sessions_.find(sha256(value));
    if (session == sessions_.end() || !same_secret(presented.csrf, csrf_of("session " + std::string(value)))) continue;
    cookie = std::string(value);
    return session;
  }
  return sessions_.end();
}

Caller Access::caller(const Presented& presented, TimePoint now) {
  if (const Rights rights = by_token(presented.authorization); rights != Rights::None)
    return {rights, std::string(describe(rights)), false, "", ""};
  if (!is_own_host(presented.host)) return {};
  Caller out;
  if (const certificates::Party* party = presented.certificate; party != nullptr) {
    if (party->role == certificates::Role::Operator) out.rights = Rights::Change;
    if (party->role == certificates::Role::Viewer) out.rights = Rights::Look;
    if (out.rights != Rights::None) {
      out.who = fmt::format("the {} {}", certificates::to_string(party->role), party->name);
      out.csrf = csrf_of("certificate " + out.who);
    }
  }
  if (out.rights != Rights::None) {
    const bool of_a_browser = !presented.origin.empty() || (!presented.site.empty() && presented.site != "none");
    if (!presented.changes || !of_a_browser) return out;
    if (!is_own_page(presented) || !same_secret(presented.csrf, out.csrf)) return {};
    out.by_page = true;
    return out;
  }
  const auto session = session_of(presented, out.session);
  if (session == sessions_.end()) return {};
  if (now - session->second.last >= kSilence) {
    sessions_.erase(session);
    return {};
  }
  if (presented.changes && !is_own_page(presented)) return {};
  if (!presented.unattended) session->second.last = now;
  out.rights = session->second.rights;
  out.who = session->second.who;
  out.by_page = presented.changes;
  return out;
}

std::optional<Access::Opened> Access::open_session(const Presented& presented, TimePoint now) {
  Rights rights = by_token(presented.authorization);
  std::string who(describe(rights));
  if (rights == Rights::None && presented.authorization.starts_with(kBearer) &&
      same_secret(presented.authorization.substr(kBearer.size()), config_.one_time_token)) {
    config_.one_time_token.clear();
    rights = Rights::Change;
    who = "the owner";
  }
  if (rights == Rights::None) return std::nullopt;
  std::erase_if(sessions_, [&](const auto& one) { return now - one.second.last >= kSilence; });
  // Viewers' sessions make no operator's give way.
  auto oldest = sessions_.end();
  std::size_t alike = 0;
  for (auto one = sessions_.begin(); one != sessions_.end(); ++one) {
    if (one->second.rights != rights) continue;
    ++alike;
    if (oldest == sessions_.end() || one->second.last < oldest->second.last) oldest = one;
  }
  if (alike >= kSessionsMax) sessions_.erase(oldest);
  const std::string value = draw_secret();
  sessions_[sha256(value)] = {rights, who, now};
  return Opened{
      fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", cookie_name(), value, config_.tls ? "; Secure" : ""),
      csrf_of("session " + value),
      {rights, who, true, "", value}};
}

std::string Access::close_session(const Caller& caller) {
  if (!caller.session.empty()) sessions_.erase(sha256(caller.session));
  return fmt::format("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{}", cookie_name(),
                     config_.tls ? "; Secure" : "");
}

}  // namespace undertone::http
