#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "coordinator/host/coordinator_host.hpp"
#include "silo/host/silo_host.hpp"
#include "silo/oracles/test_randomness.hpp"
#include "simulation/simulated_federation.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/held_head.hpp"

namespace undertone::tests {

/// A coordinator's host with a thread of its own, on loopback.
class LoopbackCoordinator {
 public:
  using Change = std::function<void(coordinator::CoordinatorConfig&)>;
  LoopbackCoordinator(Certificates& certificates, const Change& change = nullptr,
                      jobs::AlgorithmMaker make_algorithm = jobs::make_algorithm);
  ~LoopbackCoordinator();
  LoopbackCoordinator(const LoopbackCoordinator&) = delete;
  LoopbackCoordinator& operator=(const LoopbackCoordinator&) = delete;

  /// Queues a job with the nonce {9}.
  RunId submit(const std::string& job, bool again = false, std::uint8_t nonce = 9);
  /// Waits for the end of the run.
  Result<algorithms::Outcome> outcome(const RunId& run);
  /// Runs `work` on the host's thread and waits for it.
  void on_thread(const std::function<void(coordinator::CoordinatorHost&)>& work);
  /// Waits until the predicate holds on the host's thread.
  bool wait_until(const std::function<bool(coordinator::CoordinatorHost&)>& holds);

  [[nodiscard]] coordinator::CoordinatorHost::Ports ports() const { return ports_; }
  [[nodiscard]] std::uint64_t messages_encoded() const { return encoded_; }
  [[nodiscard]] const coordinator::CoordinatorConfig& config() const { return config_; }
  [[nodiscard]] store::Database& database() { return database_; }

 private:
  TemporaryFolder folder_;
  coordinator::CoordinatorConfig config_;
  store::Database database_;
  coordinator::RunStore store_;
  boost::asio::io_context context_{1};
  std::optional<coordinator::CoordinatorHost> host_;
  coordinator::CoordinatorHost::Ports ports_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<RunId, Result<algorithms::Outcome>> outcomes_;
  std::atomic<std::uint64_t> encoded_ = 0;
  std::thread thread_;
};

/// A silo's host with a thread of its own.
class LoopbackSilo {
 public:
  using Change = std::function<void(silo::SiloConfig&)>;
  LoopbackSilo(const simulation::SimulatedSilo& spec, std::uint16_t port, std::uint64_t seed,
               const net::TlsFiles& files, const Change& change = nullptr);
  ~LoopbackSilo();
  LoopbackSilo(const LoopbackSilo&) = delete;
  LoopbackSilo& operator=(const LoopbackSilo&) = delete;
  /// The desk as the owner's commands open it: beside the agent, with a connection of its own.
  [[nodiscard]] silo::Desk& desk() { return *owners_desk_; }
  [[nodiscard]] HeldHead& head() { return head_; }
  /// Waits until the host has ended by itself. @return the exception that it ended by, or nothing
  [[nodiscard]] std::string ended_by() { return ended_.get_future().get(); }

 private:
  simulation::SimulatedSilo spec_;
  TemporaryFolder statements_;
  SigningKey key_;
  store::Database database_;
  store::Database desk_database_;
  store::Database owners_desk_database_;
  std::optional<silo::Desk> desk_;
  std::optional<silo::Desk> owners_desk_;
  HeldHead head_;
  silo::TestRandomness randomness_;
  std::optional<silo::Ledger> ledger_;
  std::optional<silo::SiloAgent> agent_;
  std::optional<silo::SiloConfig> config_;
  boost::asio::io_context context_{1};
  std::optional<silo::SiloHost> host_;
  std::promise<std::string> ended_;
  std::thread thread_;
};

}  // namespace undertone::tests
