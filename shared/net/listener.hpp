#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::net {

/// A TCP port and the connections that come in by it, a bounded number at a time. Belongs to the thread of its
/// io_context.
class Listener {
 public:
  /// One of the connections, counted for as long as it stands, whatever way it ends. Whoever serves one holds one.
  class Slot {
   public:
    explicit Slot(Listener& listener) : count_(&listener.connections_) { ++*count_; }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { --*count_; }

   private:
    std::size_t* count_;
  };

  /// @param connections_max what comes while so many stand is closed at once
  Listener(boost::asio::io_context& context, std::size_t connections_max)
      : acceptor_(context), connections_max_(connections_max) {}

  /// @param host an IP address @param port 0: any that is free @return the port that was bound
  [[nodiscard]] Result<std::uint16_t> listen(const std::string& host, std::uint16_t port);
  /// The same for an address that is known to be one. @return what the operating system says
  [[nodiscard]] boost::system::error_code listen(const boost::asio::ip::tcp::endpoint& endpoint);
  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  /// The next connection, or nothing once the listener is closed. Where the operating system gives none, because it is
  /// out of descriptors say, asks again a little later.
  [[nodiscard]] boost::asio::awaitable<std::optional<boost::asio::ip::tcp::socket>> accept();
  [[nodiscard]] bool is_open() const noexcept { return acceptor_.is_open(); }
  void close();

 private:
  boost::asio::ip::tcp::acceptor acceptor_;
  std::size_t connections_max_;
  std::size_t connections_ = 0;
};

}  // namespace undertone::net
