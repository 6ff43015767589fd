#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/base/result.hpp"
#include "shared/certificates/party.hpp"
#include "shared/http/message.hpp"

namespace undertone::http {

/// Whom a service lets in, and as what.
struct AccessConfig {
  std::filesystem::path token_file;         // holds the operators' token; empty: none
  std::filesystem::path viewer_token_file;  // holds the viewers' token; empty: none
  std::vector<std::string> names;           // of the service, beside addresses and localhost, where there is no TLS
  bool tls = false;
  /// A token that begins one session, of the owner of the service, and is good for nothing else; empty: none.
  std::string one_time_token = {};
};

/// Holds what a request says of its sender.
struct Presented {
  bool changes = false;  // its method is neither GET nor HEAD
  std::string_view authorization;
  std::string_view cookie;
  std::string_view host;
  std::string_view origin;
  std::string_view site;                             // Sec-Fetch-Site
  std::string_view csrf;                             // X-Undertone-Csrf
  bool unattended = false;                           // a page asked by itself, and nobody looked at it
  const certificates::Party* certificate = nullptr;  // that TLS has checked; null without one
};

struct Caller {
  Rights rights = Rights::None;
  std::string who;       // "the operator alice"; whoever it is by a page is the same caller
  bool by_page = false;  // it changes something, from a page of this service
  std::string csrf;      // of a certificate's holder: what their pages have to send with every change
  std::string session;   // the cookie's value, where the caller came with one that is known
};

/// Decides who sends a request: by a token, by a certificate, or by a session that began with a token. A browser adds
/// certificate and cookie to requests of any page, and gives a cookie to every service of this host, whatever its port.
/// So a session is its cookie and a CSRF token together, which is told once, when the session begins, and which the
/// page keeps where only pages of this origin read. A change from a browser needs the service's own origin, too.
/// Belongs to one thread.
class Access {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::hours kSilence{1};  // after which a session has ended
  static constexpr std::size_t kSessionsMax = 32;  // of operators, and of viewers: the one silent for longest gives way

  Access(AccessConfig config, std::uint16_t port);
  /// Reads the tokens. @return an error that names the file
  [[nodiscard]] Status load();

  [[nodiscard]] Caller caller(const Presented& presented, TimePoint now);
  /// Whether a name of this host is one of the service's. Without TLS any page may have its own name lead to this
  /// address (DNS rebinding); with TLS the certificate says the name.
  [[nodiscard]] bool is_own_host(std::string_view host) const;
  struct Opened {
    std::string cookie;  // the value of Set-Cookie
    std::string csrf;    // what the page sends with every request
    Caller caller;
  };
  /// Begins a session for whoever presents a token. @return nothing without a token
  [[nodiscard]] std::optional<Opened> open_session(const Presented& presented, TimePoint now);
  /// Draws a token that nobody can guess.
  [[nodiscard]] static std::string draw_token();
  /// Ends a session. @return the value of Set-Cookie that removes the cookie
  [[nodiscard]] std::string close_session(const Caller& caller);
  [[nodiscard]] std::size_t sessions() const noexcept { return sessions_.size(); }

 private:
  struct Session {
    Rights rights = Rights::None;
    std::string who;
    TimePoint last{};
  };
  [[nodiscard]] Rights by_token(std::string_view authorization) const;
  [[nodiscard]] std::string cookie_name() const;
  [[nodiscard]] std::string csrf_of(std::string_view identity) const;
  /// Whether a page of this service may have sent it, as far as the browser says.
  [[nodiscard]] bool is_own_page(const Presented& presented) const;
  /// The session whose cookie and CSRF token came with a request. @param cookie its value
  [[nodiscard]] std::map<Digest, Session>::iterator session_of(const Presented& presented, std::string& cookie);

  AccessConfig config_;
  std::uint16_t port_;
  std::string operators_;               // token; empty: none
  std::string viewers_;                 // token; empty: none
  std::string key_;                     // that CSRF tokens are made with
  std::map<Digest, Session> sessions_;  // by the digest of the cookie's value
};

/// The values of all cookies of a name in a Cookie header: another service of the host may have set one, too.
[[nodiscard]] std::vector<std::string_view> cookie_values(std::string_view header, std::string_view name);

}  // namespace undertone::http
