#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::net {

/// A TCP socket as the kernel lists it.
struct TcpSocket {
  std::uint16_t local_port = 0;
  std::uint16_t remote_port = 0;
  bool listening = false;
  bool established = false;
};

/// What of them can be told without saying a word to anybody: for health checks, which must not fill logs or hold
/// locks.
[[nodiscard]] bool listens_on(const std::vector<TcpSocket>& sockets, std::uint16_t port) noexcept;
/// Whether one is connected to a peer's port.
[[nodiscard]] bool connected_to(const std::vector<TcpSocket>& sockets, std::uint16_t port) noexcept;

/// Adds what a file like /proc/net/tcp or /proc/net/tcp6 lists. Lines that are not sockets are passed over.
void parse_sockets(std::istream& table, std::vector<TcpSocket>& out);
/// Those of this machine, or of this container where the caller is in one.
[[nodiscard]] Result<std::vector<TcpSocket>> sockets_here();

}  // namespace undertone::net
