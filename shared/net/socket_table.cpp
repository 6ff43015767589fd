#include "shared/net/socket_table.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace undertone::net {
namespace {

// States as the kernel writes them: include/net/tcp_states.h.
constexpr unsigned kEstablished = 0x01;
constexpr unsigned kListening = 0x0A;

std::optional<unsigned> hexadecimal(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Of "0100007F:1D13".
std::optional<unsigned> port_of(std::string_view address) {
  const std::size_t colon = address.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<unsigned> port = hexadecimal(address.substr(colon + 1));
  return port && *port <= 0xFFFF ? port : std::nullopt;
}

}  // namespace

bool listens_on(const std::vector<TcpSocket>& sockets, std::uint16_t port) noexcept {
  return std::any_of(sockets.begin(), sockets.end(),
                     [port](const TcpSocket& socket) { return socket.listening && socket.local_port == port; });
}

bool connected_to(const std::vector<TcpSocket>& sockets, std::uint16_t port) noexcept {
  return std::any_of(sockets.begin(), sockets.end(),
                     [port](const TcpSocket& socket) { return socket.established && socket.remote_port == port; });
}

void parse_sockets(std::istream& table, std::vector<TcpSocket>& out) {
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number;
    std::string local;
    std::string remote;
    std::string state;
    words >> number >> local >> remote >> state;
    const std::optional<unsigned> local_port = port_of(local);
    const std::optional<unsigned> remote_port = port_of(remote);
    const std::optional<unsigned> code = hexadecimal(state);
    if (!local_port || !remote_port || !code) continue;
    out.push_back({static_cast<std::uint16_t>(*local_port), static_cast<std::uint16_t>(*remote_port),
                   *code == kListening, *code == kEstablished});
  }
}

Result<std::vector<TcpSocket>> sockets_here() {
  std::vector<TcpSocket> out;
  bool read = false;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {  // a kernel may lack one of the two
    std::ifstream table(file);
    if (!table) continue;
    parse_sockets(table, out);
    read = true;
  }
  if (!read) return Error{ErrorCode::Internal, "/proc/net/tcp: cannot be opened"};
  return out;
}

}  // namespace undertone::net
