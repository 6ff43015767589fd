#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "shared/net/link.hpp"
#include "shared/net/status_socket.hpp"
#include "silo/agent/hand_over.hpp"
#include "silo/agent/privacy_statement.hpp"
#include "silo/agent/release_gate.hpp"
#include "silo/agent/silo_agent.hpp"
#include "silo/owner/silo_config.hpp"

namespace undertone::silo {

/// Links around a silo machine: keeps one to the coordinator and one to each shuffler, feeds the machine on a worker
/// thread so that heartbeats go on, and does what it says.
class SiloHost {
 public:
  SiloHost(boost::asio::io_context& context, const SiloConfig& config, SiloAgent& agent, crypto::NoiseKind noise);
  ~SiloHost();
  SiloHost(const SiloHost&) = delete;
  SiloHost& operator=(const SiloHost&) = delete;

  [[nodiscard]] Status start();
  void stop();
  /// Why the silo must answer nothing more, if so; the context then runs out of work.
  [[nodiscard]] const std::optional<Error>& halted() const noexcept { return halted_; }
  /// Whether the agent computes an answer, or one is held.
  [[nodiscard]] bool computes() const noexcept { return gate_.closed(); }

 private:
  void dial_coordinator();
  void dial_shufflers();
  [[nodiscard]] net::Link::Setup link_to(certificates::Role role) const;
  [[nodiscard]] boost::asio::awaitable<void> on_coordinator(wire::Message message);
  void handle(std::vector<Action> actions);
  void handle(const std::vector<HandOver::Action>& actions);
  /// What these shufflers have not taken. Asks the agent, so never while it computes.
  void send_again(const std::set<std::string>& shufflers);
  [[nodiscard]] bool may_release(const RunId& run) const;
  /// What `undertone-silo health` is told. It says nothing of records: how long the gate is closed is what an interval
  /// hides.
  [[nodiscard]] std::string standing() const;
  /// Gives the agent a message. Where a run ends by it, the run's statement is written: that can take seconds, so this
  /// is for the worker wherever a message is not answered quickly.
  [[nodiscard]] std::vector<Action> enter(const wire::Message& message);
  /// What came of a message on the worker.
  struct Worked {
    std::vector<Action> actions;
    std::exception_ptr broken;  // what the agent cannot go on after; null: it can
  };
  [[nodiscard]] boost::asio::awaitable<Worked> enter_on_worker(const wire::Message& message);
  /// Waits until the answer to a query may leave. Nothing else is read or answered meanwhile: it would tell when the
  /// computation was done.
  [[nodiscard]] boost::asio::awaitable<void> hold(const wire::QueryMessage& query,
                                                  std::chrono::steady_clock::time_point asked);
  [[nodiscard]] boost::asio::awaitable<void> keep_credentials();
  /// Whether an ended run's statement stands and says all that is known; one that does not is put aside.
  [[nodiscard]] bool has_statement(const SiloMachine& machine, const RunId& run, const RunAccount& account) const;
  /// What statements say of a data set.
  [[nodiscard]] StatedDataset stated(const std::string& dataset) const;
  [[nodiscard]] std::filesystem::path statement_of(const RunId& run, const std::string& ending) const;
  void write_statement(const RunId& run);

  boost::asio::io_context* context_;
  const SiloConfig* config_;
  SiloAgent* agent_;
  crypto::NoiseKind noise_;
  boost::asio::thread_pool worker_;  // one thread: the machine is never entered twice
  std::optional<net::Credentials> credentials_;
  boost::asio::steady_timer interval_;
  boost::asio::steady_timer housekeeping_;
  std::optional<net::Link> coordinator_;
  HandOver hand_over_;
  std::map<std::string, std::unique_ptr<net::Link>> shufflers_;
  ReleaseGate gate_;  // closed while the agent is the worker's, and until what it computed has left
  std::optional<Error> halted_;
  bool stopped_ = false;
  std::optional<std::int64_t> busy_since_;  // seconds since 1970, while the gate is closed
  std::string unable_;                      // @see SiloAgent::unable, when the agent was last free
  net::StatusSocket status_;
};

}  // namespace undertone::silo
