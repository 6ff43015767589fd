#include "tests/bench/federation/member.hpp"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace undertone::bench {
namespace {

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

wire::Message Member::hear() {
  std::array<char, 65536> buffer;
  while (true) {
    while (!heard_.empty()) {
      wire::Message message = std::move(heard_.front());
      heard_.erase(heard_.begin());
      if (!std::holds_alternative<wire::Heartbeat>(message)) return message;
    }
    const int size = ::SSL_read(tls_, buffer.data(), static_cast<int>(buffer.size()));
    must(size > 0, "the victim says something");
    Result<std::vector<wire::Message>> messages = decoder_.feed({buffer.data(), static_cast<std::size_t>(size)});
    must(messages.has_value(), "the victim's messages");
    for (wire::Message& message : *messages) heard_.push_back(std::move(message));
  }
}

void Member::leave() {
  ::shutdown(descriptor_, SHUT_WR);  // reading may go on, so that what was said is not lost with a reset
  std::array<char, 65536> buffer;
  while (::recv(descriptor_, buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace undertone::bench
