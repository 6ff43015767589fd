#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::net {

/// An HTTP proxy that the connection is made through.
struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::filesystem::path credentials;  // a file holding "user:password"; empty: none
};

/// A service, and the way to it.
struct Destination {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Proxy> proxy;
};

/// Connects, through the proxy if there is one.
/// @param within this long, or the attempt has failed: from the look-up of the name to the proxy's answer
[[nodiscard]] boost::asio::awaitable<Result<boost::asio::ip::tcp::socket>> dial(Destination to,
                                                                                std::chrono::milliseconds within);

}  // namespace undertone::net
