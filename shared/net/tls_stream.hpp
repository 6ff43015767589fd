#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>

#include "shared/net/tls.hpp"

struct ssl_st;

namespace undertone::net {

/// OpenSSL reads from this socket and writes to it.
struct SocketEnd {
  boost::asio::ip::tcp::socket socket;
  bool greeted = false;        // the handshake is over
  int handshake_messages = 0;  // that came after it
  std::size_t left = 0;        // bytes that the step under way may still read
};

/// TLS over a socket of Asio. OpenSSL reads from the socket and writes to it itself, where Asio's own stream copies
/// every byte through two buffers more, and keeps 68 KiB of them for each connection.
/// A step does what can be done without waiting; whoever takes it waits, and takes it again.
class TlsStream {
 public:
  /// ATurn: others first, then again. A step reads no more than `kStepBytes` of the socket, whatever they are: a peer
  /// that cuts a greeting into records of a byte holds nobody up.
  enum class Need { Nothing, ToRead, ToWrite, ATurn };
  static constexpr std::size_t kStepBytes = 65536;
  /// A peer that changes its keys, or gives tickets, more often is not heard any more: our programs never do, each such
  /// message costs 20 us, and OpenSSL takes as many as have come before it returns.
  static constexpr int kHandshakeMessagesMax = 32;
  struct Step {
    boost::system::error_code error;
    std::size_t size = 0;  // bytes of plain text that went through
    Need need = Need::Nothing;
  };

  TlsStream(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& context);

  [[nodiscard]] Step handshake(Side side);
  /// @return at least one byte, or an error, or what to wait for; asio::error::eof where the peer said that it ends
  [[nodiscard]] Step read(boost::asio::mutable_buffer into);
  /// After a need the same bytes, or more of them, must come again, wherever they lie.
  [[nodiscard]] Step write(boost::asio::const_buffer from);

  /// Until the socket can do what a step needs, or is closed, or others had their turn.
  [[nodiscard]] boost::asio::awaitable<boost::system::error_code> ready_for(Need need);

  [[nodiscard]] boost::asio::any_io_executor get_executor() { return end_->socket.get_executor(); }
  [[nodiscard]] boost::asio::ip::tcp::socket& next_layer() noexcept { return end_->socket; }
  [[nodiscard]] ssl_st* native_handle() noexcept { return connection_.get(); }

 private:
  void begin_step();
  [[nodiscard]] Step outcome(int result, std::size_t size) const;
  struct Free {
    void operator()(ssl_st* connection) const noexcept;
  };
  std::unique_ptr<SocketEnd> end_;  // where it stays: the connection points to it
  std::unique_ptr<ssl_st, Free> connection_;
};

}  // namespace undertone::net
