#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::net {

/// Where an HTTP proxy is asked to connect to.
struct Tunnel {
  std::string host;
  std::uint16_t port = 0;
  std::string credentials;  // "user:password", may end in a line break; empty: none are sent
};

/// Asks the proxy at the other end of `socket` for a tunnel (CONNECT, RFC 9110 9.3.6). After success the socket carries
/// the tunnel's bytes. What the proxy says is bounded; the caller bounds the time.
[[nodiscard]] boost::asio::awaitable<Status> open_tunnel(boost::asio::ip::tcp::socket& socket, Tunnel tunnel);

}  // namespace undertone::net
