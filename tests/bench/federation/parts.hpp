#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include "shared/net/tls.hpp"
#include "simulation/simulated_federation.hpp"
#include "tests/support/certificates.hpp"

/// What the federation's benches are made of.
namespace undertone::bench {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
/// As Asio has it.
using BareStream = asio::ssl::stream<tcp::socket>;

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Ends the process where it does not hold.
void must(bool holds, const char* what);

/// Of this process, so far.
[[nodiscard]] std::size_t peak_bytes();
/// Of this process, now.
[[nodiscard]] std::int64_t resident_bytes();
/// The highest resident memory since `forget_most_resident`.
[[nodiscard]] std::int64_t most_resident_bytes();
void forget_most_resident();
[[nodiscard]] double mean(const std::vector<double>& values);
[[nodiscard]] double median(std::vector<double> values);

/// Runs `body` in a child process. @return its id
pid_t in_child(const std::function<void()>& body);
void wait_for(const std::vector<pid_t>& children);
/// And waits for them.
void kill_all(const std::vector<pid_t>& children);

/// Values from process to process.
class Pipe {
 public:
  Pipe() { must(::pipe(ends_) == 0, "pipe"); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  template <class T>
  void write(const T& value) const {
    must(::write(ends_[1], &value, sizeof value) == sizeof value, "write to a pipe");
  }
  /// Whether something can be read without waiting.
  [[nodiscard]] bool holds() const {
    pollfd end{ends_[0], POLLIN, 0};
    return ::poll(&end, 1, 0) == 1;
  }
  template <class T>
  [[nodiscard]] T read() const {
    T value{};
    must(::read(ends_[0], &value, sizeof value) == sizeof value, "read from a pipe");
    return value;
  }

 private:
  int ends_[2];
};

[[nodiscard]] SiloId silo_id(int number);
[[nodiscard]] net::Credentials credentials_of(tests::Certificates& certificates, net::Side side,
                                              certificates::Role role, const std::string& name);

/// A job over `silos` alike silos on synthetic records, and its data.
struct Work {
  std::string job;
  std::vector<simulation::SimulatedSilo> silos;
};
[[nodiscard]] Work make_work(int silos, int rounds, int features, double draw_fraction = 1.0);

/// A process of real agents with their ledgers on disk: `count` of them from `from` on. Learns the port from the pipe.
/// @pre every silo and the hub have certificates. @return its id
pid_t agents_in_child(tests::Certificates& certificates, const Work& work, std::size_t from, std::size_t count,
                      const Pipe& port, const std::filesystem::path& folder);

/// A coordinator in a process of its own. Writes its port, then the number of each round that it closes.
/// @param job submitted where it is not null
/// @param port 0: any
/// @return its id
pid_t coordinator_in_child(tests::Certificates& certificates, const std::string* job, std::uint16_t port,
                           const std::filesystem::path& folder, const Pipe& told);

/// Agents in processes of `per_process` each, the coordinator here. @return the latency of each round in seconds
/// @param beside called with the port before the job is submitted; a process that it began, or nothing
/// @param settle how long that is let be before the job is submitted
[[nodiscard]] std::vector<double> run_federation(
    tests::Certificates& certificates, const Work& work, int per_process, const std::filesystem::path& folder,
    const std::function<std::optional<pid_t>(std::uint16_t)>& beside = nullptr, std::chrono::seconds settle = {});

/// The barest fan-out and fan-in: every round the same bytes to each, an answer from each, committed before it leaves.
struct BareLoad {
  int silos = 0;
  int rounds = 0;
  std::size_t query_bytes = 0;
  std::size_t reply_bytes = 0;
  int commits = 0;  // before each answer: 4 KiB appended to a file of its own, and synced
};
/// @return seconds for all rounds, silos in processes of `per_process` each
[[nodiscard]] double bare_seconds(tests::Certificates& certificates, const BareLoad& load, int per_process,
                                  const std::filesystem::path& folder);

}  // namespace undertone::bench
