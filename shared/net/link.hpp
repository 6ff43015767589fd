#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "shared/net/backoff.hpp"
#include "shared/net/dial.hpp"
#include "shared/net/session.hpp"
#include "shared/net/tls.hpp"

namespace undertone::net {

/// Where a service of the consortium is dialled directly, and by what name its certificate must go.
struct LinkAddress {
  std::string name;
  std::string host;
  std::uint16_t port = 0;
};

/// A connection that this process keeps to a service: dials, greets, hands on what comes, dials again when it is lost.
/// Belongs to the thread of its io_context.
class Link {
 public:
  struct Setup {
    std::string consortium;
    certificates::Role role = certificates::Role::Shuffler;  // of the service
    std::string name;                                        // of the service; empty: whoever has the role
    Destination service;
    std::string build;               // of this program
    std::uint32_t protocol_min = 3;  // the first that shufflers are spoken to in
    std::chrono::milliseconds reconnect_first{250};
    std::chrono::milliseconds reconnect_most{15'000};
    SessionLimits session;
    wire::KindSet accepted = wire::KindSet::all();  // of what the service says
  };
  /// Called on the context's thread; a handler must not destroy the link.
  struct Handlers {
    /// What the service says, in its order, first of each connection its Welcome. The next message is read once the
    /// handler is done with this one.
    std::function<asio::awaitable<void>(wire::Message)> message;
    std::function<void()> lost;  // after a Welcome
  };
  /// @param credentials outlive the link
  Link(boost::asio::io_context& context, Setup setup, Credentials& credentials, Handlers handlers);

  void start();
  void stop();
  /// Drops the connection where the service's certificate has ended or was revoked meanwhile.
  void look_at_peer();
  [[nodiscard]] bool connected() const noexcept { return connected_; }
  /// Why the last attempt failed or the last connection ended, as a sentence without its end. @pre not connected
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  /// Nothing happens where the link is down: who sends must send again once it is connected.
  void send(const wire::Message& message);
  void send(Session::Bytes bytes);

 private:
  [[nodiscard]] asio::awaitable<void> dial();
  [[nodiscard]] asio::awaitable<Status> connect_once();
  [[nodiscard]] asio::awaitable<Status> converse(std::shared_ptr<Session> session);
  [[nodiscard]] Status welcomed(const wire::Message& message, const certificates::Party& peer);

  boost::asio::io_context* context_;
  Setup setup_;
  Credentials* credentials_;
  Handlers handlers_;
  Backoff backoff_;
  asio::steady_timer pause_;
  std::shared_ptr<Session> session_;
  bool connected_ = false;
  std::string why_not_ = "it has not connected yet";
  bool stopped_ = false;
};

}  // namespace undertone::net
