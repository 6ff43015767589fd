#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "shared/crypto/secure_bits.hpp"
#include "shuffler/batch/sealed_adder.hpp"
#include "shuffler/host/shuffler_host.hpp"
#include "tests/support/certificates.hpp"

namespace undertone::tests {

/// A shuffler's host with a thread of its own, on loopback, over a store in a file. It draws its orders from the
/// operating system, so that an order that comes twice was remembered, unless it is given a worse permuter.
class LoopbackShuffler {
 public:
  using Change = std::function<void(shuffler::ShufflerConfig&)>;
  explicit LoopbackShuffler(Certificates& certificates, const std::string& name = "mixer",
                            const Change& change = nullptr, shuffler::Permuter* permuter = nullptr);
  ~LoopbackShuffler();
  LoopbackShuffler(const LoopbackShuffler&) = delete;
  LoopbackShuffler& operator=(const LoopbackShuffler&) = delete;

  /// As after a crash: what is on disk stays, nobody is told. The port is another one.
  void restart();
  /// Runs `work` on the host's thread and waits for it.
  void on_thread(const std::function<void(shuffler::ShufflerHost&)>& work);

  [[nodiscard]] std::uint16_t port() const noexcept { return running_->port; }
  [[nodiscard]] const sealed::SealingPublicKey& public_key() const noexcept { return public_key_; }
  /// For the host's thread alone.
  [[nodiscard]] store::Database& database() noexcept { return running_->database; }

 private:
  /// What a crash takes away.
  struct Running {
    Running(const shuffler::ShufflerConfig& config, const std::string& secret, shuffler::Permuter* other);
    ~Running();
    store::Database database;
    shuffler::BatchStore store;
    shuffler::BitsPermuter<crypto::SecureBits> permuter;
    shuffler::SealedAdder adder;
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
    shuffler::ShufflerHost host;
    std::uint16_t port = 0;
    std::thread thread;
  };
  TemporaryFolder folder_;
  shuffler::ShufflerConfig config_;
  std::string secret_;
  shuffler::Permuter* permuter_;  // may be null
  sealed::SealingPublicKey public_key_;
  std::optional<Running> running_;
};

}  // namespace undertone::tests
