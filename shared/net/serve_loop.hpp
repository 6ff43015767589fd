#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace undertone::net {

/// How a service runs, once its host is started: until SIGINT or SIGTERM, then the host is stopped, then what it said
/// last leaves. Signals are caught from construction on and as long as this lives, so that a second one cuts nothing
/// off.
class ServeLoop {
 public:
  explicit ServeLoop(boost::asio::io_context& context);
  ServeLoop(const ServeLoop&) = delete;
  ServeLoop& operator=(const ServeLoop&) = delete;

  /// Runs events until a signal, until `over` (asked before each event), or until there is nothing left to wait for.
  void run_until(const std::function<bool()>& over);
  /// Gives what a stopped host said last a moment to leave.
  void send_last_words();
  /// Whether a signal came.
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

 private:
  boost::asio::io_context* context_;
  boost::asio::signal_set signals_;
  bool interrupted_ = false;
};

}  // namespace undertone::net
