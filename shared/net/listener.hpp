#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "shared/base/result.hpp"

namespace undertone::net {

/// A TCP port and the connections that come in by it, a bounded number at a time. Where all places are taken, whoever
/// has waited longest without introducing itself gives its place to the next that comes, so that strangers who hold
/// connections keep nobody out for long. Belongs to the thread of its io_context.
class Listener {
  struct Places;

 public:
  /// One of the connections, counted for as long as it stands, whatever way it ends. Whoever serves one holds one.
  class Slot {
   public:
    /// @param close ends the connection; called at most once, before it has introduced itself
    Slot(Listener& listener, std::function<void()> close);
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot();
    /// It is known who is at the other end: the place is its own from now on.
    void introduced();

   private:
    friend class Listener;
    std::shared_ptr<Places> places_;  // a connection may outlive the listener
    std::function<void()> close_;
    std::chrono::steady_clock::time_point since_;
    std::list<Slot*>::iterator place_;  // among the strangers, as long as it is one
    bool stranger_ = true;
  };

  /// How long a connection has to introduce itself, whoever else comes.
  static constexpr std::chrono::seconds kGrace{1};

  /// @param connections_max what comes while so many stand is closed at once, unless another makes room; then there may
  /// be one more for as long
  ///   as that takes
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
  /// Closes the connection that has been a stranger's for longest, if that is longer than kGrace.
  [[nodiscard]] bool make_room();

  struct Places {
    std::size_t taken = 0;
    std::list<Slot*> strangers;  // in the order they came
  };
  std::shared_ptr<Places> places_ = std::make_shared<Places>();
};

}  // namespace undertone::net
