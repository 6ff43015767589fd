#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <tuple>

#include "shared/net/await.hpp"
#include "tests/bench/federation/benches.hpp"
#include "tests/bench/federation/parts.hpp"

namespace undertone::bench {
namespace {

using net::kAwait;

/// What strangers have done, seen by both processes.
struct StrangersSeen {
  std::atomic<std::uint64_t> connected = 0;  // connections that stood, over all time
  std::atomic<std::uint64_t> standing = 0;
  std::atomic<std::uint64_t> knocks = 0;  // TLS handshakes without a certificate
};

/// Two fifths of them hold a connection and say nothing, as many drip a byte a second into theirs, the rest begins TLS
/// without a certificate, `knocks_a_second` of them. Whoever is closed comes again.
class Strangers {
 public:
  Strangers(std::uint16_t port, int count, int knocks_a_second, StrangersSeen& seen)
      : port_(port), knocks_a_second_(knocks_a_second), seen_(&seen) {
    tls_.set_verify_mode(asio::ssl::verify_none);
    for (int i = 0; i < 2 * count / 5; ++i) asio::co_spawn(context_, hold(false, i), asio::detached);
    for (int i = 0; i < 2 * count / 5; ++i) asio::co_spawn(context_, hold(true, i), asio::detached);
    asio::co_spawn(context_, knock_on(), asio::detached);
  }
  void run() { context_.run(); }

 private:
  asio::awaitable<std::optional<tcp::socket>> dial() {
    tcp::socket socket(context_);
    const auto [failed] = co_await socket.async_connect({asio::ip::address_v4::loopback(), port_}, kAwait);
    if (failed) co_return std::nullopt;
    ++seen_->connected;
    co_return std::move(socket);
  }
  asio::awaitable<void> sleep(std::chrono::milliseconds time) {
    asio::steady_timer timer(context_, time);
    (void)co_await timer.async_wait(kAwait);
  }
  asio::awaitable<void> hold(bool drips, int number) {
    co_await sleep(std::chrono::milliseconds(number));
    const std::array<char, 6> hello = {0x16, 0x03, 0x01, 0x20, 0x00, 0x01};  // a handshake of 8 KiB, never whole
    while (true) {
      std::optional<tcp::socket> socket = co_await dial();
      if (!socket) {
        co_await sleep(std::chrono::milliseconds(200));
        continue;
      }
      ++seen_->standing;
      for (std::size_t at = 0;; ++at) {
        boost::system::error_code closed;
        char byte = 0;
        if (drips) {
          std::tie(closed, std::ignore) =
              co_await asio::async_write(*socket, asio::buffer(&hello[std::min(at, hello.size() - 1)], 1), kAwait);
          if (!closed) co_await sleep(std::chrono::seconds(1));
        } else {
          std::tie(closed, std::ignore) = co_await socket->async_read_some(asio::buffer(&byte, 1), kAwait);
        }
        if (closed) break;
      }
      --seen_->standing;
    }
  }
  asio::awaitable<void> knock() {
    std::optional<tcp::socket> socket = co_await dial();
    if (!socket) co_return;
    BareStream stream(*std::move(socket), tls_);
    const auto [refused] = co_await stream.async_handshake(asio::ssl::stream_base::client, kAwait);
    char byte = 0;
    if (!refused) (void)co_await stream.async_read_some(asio::buffer(&byte, 1), kAwait);  // TLS 1.3 refuses it now
    ++seen_->knocks;
  }
  asio::awaitable<void> knock_on() {
    auto next = Clock::now();
    while (true) {
      asio::co_spawn(context_, knock(), asio::detached);
      next += std::chrono::microseconds(1'000'000 / knocks_a_second_);
      asio::steady_timer timer(context_, next);
      (void)co_await timer.async_wait(kAwait);
    }
  }

  asio::io_context context_{1};
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  std::uint16_t port_;
  int knocks_a_second_;
  StrangersSeen* seen_;
};

constexpr int kKnocksASecond = 500;

/// With what is left of the cores, as if strangers had machines of their own.
void run_at_idle_priority(std::uint16_t port, int strangers, StrangersSeen& seen) {
  const sched_param priority{};
  must(::sched_setscheduler(0, SCHED_IDLE, &priority) == 0, "idle priority");
  Strangers(port, strangers, kKnocksASecond, seen).run();
}

}  // namespace

void bench_strangers(int strangers, int silos, int rounds) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  must(files.rlim_cur > 10'000, "10,000 open files are needed");
  void* shared = ::mmap(nullptr, sizeof(StrangersSeen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(shared != MAP_FAILED, "mmap");
  auto& seen = *new (shared) StrangersSeen;
  tests::Certificates certificates("bench");
  const Work work = make_work(silos, rounds, 50);
  const auto measured = [&](const std::function<std::optional<pid_t>(std::uint16_t)>& beside) {
    const tests::TemporaryFolder folder;
    const std::chrono::seconds settle(strangers < 1000 ? 1 : 10);  // a stranger is let stand for 7
    return run_federation(certificates, work, 1, folder.path(), beside, settle);
  };
  const std::vector<double> alone = measured([](std::uint16_t) { return std::nullopt; });
  const auto begun = Clock::now();
  const std::vector<double> disturbed =
      measured([&](std::uint16_t port) { return in_child([&] { run_at_idle_priority(port, strangers, seen); }); });
  const double took = seconds_since(begun);
  fmt::print("strangers: {} silos, d = 51, every commit synced, beside {} strangers at idle priority\n", silos,
             strangers);
  fmt::print("  undisturbed    {:8.2f} ms a round (median {:.2f})\n", 1e3 * mean(alone), 1e3 * median(alone));
  fmt::print("  disturbed      {:8.2f} ms a round (median {:.2f})\n", 1e3 * mean(disturbed), 1e3 * median(disturbed));
  fmt::print("  ratio          {:8.2f} (median {:.2f})\n", mean(disturbed) / mean(alone),
             median(disturbed) / median(alone));
  fmt::print("  {} connections stood at the end, {:.0f} a second were made, {:.0f} of them began TLS\n",
             seen.standing.load(), static_cast<double>(seen.connected) / took, static_cast<double>(seen.knocks) / took);
  fmt::print("  coordinator's peak {:.0f} MB\n", static_cast<double>(peak_bytes()) / 1e6);
  ::munmap(shared, sizeof(StrangersSeen));
}

}  // namespace undertone::bench
