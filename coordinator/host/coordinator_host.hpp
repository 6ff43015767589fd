#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "coordinator/host/coordinator_config.hpp"
#include "coordinator/jobs/run_store.hpp"
#include "coordinator/round/run_machine.hpp"
#include "shared/net/session.hpp"

namespace undertone::coordinator {

/// Sockets and a clock around a run machine: reads messages, feeds the machine, does what it says.
class CoordinatorHost {
 public:
  using Watch = std::function<void(const RunMachine::Action&)>;
  /// @param watch sees every action as it happens
  CoordinatorHost(boost::asio::io_context& context, const CoordinatorConfig& config, RunStore& store,
                  RunMachine& machine, Watch watch);

  /// Binds, starts the run and begins to accept. @return the port that was bound
  [[nodiscard]] Result<std::uint16_t> start();
  /// How the run ended, once the context has run out of work.
  [[nodiscard]] const std::optional<Result<algorithms::Outcome>>& outcome() const noexcept { return outcome_; }
  /// An error that stopped the host itself.
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  using SessionPtr = std::shared_ptr<net::Session>;
  [[nodiscard]] boost::asio::awaitable<void> accept();
  [[nodiscard]] boost::asio::awaitable<void> serve(SessionPtr session);
  [[nodiscard]] boost::asio::awaitable<Result<SiloId>> greet(SessionPtr session);
  void handle(Result<std::vector<RunMachine::Action>> actions);
  void arm(TimePoint at);
  void stop();

  boost::asio::io_context* context_;
  CoordinatorConfig config_;
  RunStore* store_;
  RunMachine* machine_;
  Watch watch_;
  std::unique_ptr<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer timer_;
  std::map<SiloId, SessionPtr> sessions_;
  std::size_t connections_ = 0;
  std::optional<Result<algorithms::Outcome>> outcome_;
  std::optional<Error> failure_;
  bool stopped_ = false;
};

}  // namespace undertone::coordinator
