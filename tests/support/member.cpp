#include "tests/support/member.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace undertone::tests {
namespace {

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a member: %s\n", what);
  std::_Exit(1);
}

sockaddr_in on_loopback(std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

}  // namespace

MembersPort::MembersPort() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = on_loopback(0);
  socklen_t size = sizeof address;
  must(descriptor_ >= 0 && ::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
           ::listen(descriptor_, 16) == 0 &&
           ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) == 0,
       "a port");
  number_ = ntohs(address.sin_port);
}

MembersPort::~MembersPort() { ::close(descriptor_); }

Member::Member(net::Credentials& credentials, std::uint16_t port)
    : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = on_loopback(port);
  must(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "connect");
  begin(credentials, true);
}

Member::Member(net::Credentials& credentials, const MembersPort& port)
    : descriptor_(::accept4(port.descriptor(), nullptr, nullptr, SOCK_CLOEXEC)) {
  must(descriptor_ >= 0, "accept");
  begin(credentials, false);
}

void Member::begin(net::Credentials& credentials, bool dials) {
  const timeval patience{kPatience.count(), 0};
  const int at_once = 1;
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  tls_ = ::SSL_new(credentials.context().native_handle());
  must(tls_ != nullptr && ::SSL_set_fd(tls_, descriptor_) == 1, "TLS");
  must((dials ? ::SSL_connect(tls_) : ::SSL_accept(tls_)) == 1, "the handshake");
}

Member::~Member() {
  ::SSL_free(tls_);
  ::close(descriptor_);
}

bool Member::say_bytes(std::string_view bytes) {
  constexpr std::size_t kRecordBytes = 16384;
  while (!bytes.empty()) {
    ::ERR_clear_error();
    const std::string_view part = bytes.substr(0, kRecordBytes);
    const int written = ::SSL_write(tls_, part.data(), static_cast<int>(part.size()));
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_said_ += static_cast<std::uint64_t>(written);
  }
  return true;
}

bool Member::take() {
  std::array<char, 65536> buffer;
  const int size = ::SSL_read(tls_, buffer.data(), static_cast<int>(buffer.size()));
  if (size <= 0) return false;
  Result<std::vector<wire::Message>> messages = decoder_.feed({buffer.data(), static_cast<std::size_t>(size)});
  must(messages.has_value(), "the other side's messages");
  std::move(messages->begin(), messages->end(), std::back_inserter(heard_));
  return true;
}

wire::Message Member::hear() {
  while (true) {
    while (!heard_.empty()) {
      wire::Message message = std::move(heard_.front());
      heard_.pop_front();
      if (!std::holds_alternative<wire::Heartbeat>(message)) return message;
    }
    must(take(), "the other side says something");
  }
}

std::optional<wire::Message> Member::next(std::chrono::steady_clock::time_point until) {
  while (heard_.empty() && !closed_) {
    if (::SSL_pending(tls_) == 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd socket{descriptor_, POLLIN, 0};
      if (::poll(&socket, 1, static_cast<int>(std::max<std::int64_t>(0, left.count()))) == 0) return std::nullopt;
    }
    closed_ = !take();
  }
  if (heard_.empty()) return std::nullopt;
  wire::Message message = std::move(heard_.front());
  heard_.pop_front();
  return message;
}

void Member::hang_up() {
  ::shutdown(descriptor_, SHUT_RDWR);
  closed_ = true;
}

void Member::leave() {
  ::shutdown(descriptor_, SHUT_WR);  // reading may go on, so that what was said is not lost with a reset
  std::array<char, 65536> buffer;
  while (::recv(descriptor_, buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace undertone::tests
