#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <numeric>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>

#include "coordinator/host/coordinator_host.hpp"
#include "coordinator/round/round_machine.hpp"
#include "lab/simulation/simulated_federation.hpp"
#include "shared/base/large_memory.hpp"
#include "shared/net/await.hpp"
#include "silo/host/institution.hpp"
#include "silo/host/silo_host.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/small_federation.hpp"

/// What a federation's transport costs beside the barest program that moves the same bytes: both halves in one run, so
/// that only their ratio counts.
///   federation_bench rounds [SILOS ROUNDS]      small rounds, full durability
///   federation_bench vectors [SILOS DIMENSION [durable]]  large vectors: transfer and fold alone, or with each reply
///                                               committed at its silo before it leaves
///   federation_bench many [PROCESSES AGENTS ROUNDS]  many agents in few processes
///   federation_bench restarts [SILOS RESTARTS]  a coordinator that is killed and started again in mid-run
///   federation_bench strangers [STRANGERS SILOS ROUNDS]  rounds while strangers hold, drip into and knock at the port
namespace undertone {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using net::kAwait;
using TlsStream = asio::ssl::stream<tcp::socket>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "federation_bench: %s\n", what);
  std::_Exit(1);
}

SiloId silo_id(int number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

net::Credentials credentials_of(tests::Certificates& certificates, net::Side side, certificates::Role role,
                                const std::string& name) {
  return net::Credentials::load(certificates.party(role, name), side,
                                {certificates.authority().consortium(), role, name})
      .value();
}

/// The barest fan-out and fan-in: every round the same bytes to each, an answer from each, committed before it leaves.
class BareFanOut {
 public:
  struct Load {
    int silos = 0;
    int rounds = 0;
    std::size_t query_bytes = 0;
    std::size_t reply_bytes = 0;
    int commits = 0;  // before each answer: 4 KiB appended to a file of its own, and synced
  };

  /// One silo's side, until the server closes.
  static void serve_silo(tests::Certificates& certificates, std::uint16_t port, const Load& load, int number,
                         const std::filesystem::path& folder) {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Client, certificates::Role::Silo, silo_id(number).name());
    TlsStream stream(context, credentials.context());
    stream.next_layer().connect({asio::ip::address_v4::loopback(), port});
    stream.next_layer().set_option(tcp::no_delay(true));
    stream.handshake(asio::ssl::stream_base::client);
    std::vector<int> files;
    for (int i = 0; i < load.commits; ++i) {
      const std::string name = fmt::format("bare-{}-{}", number, i);
      files.push_back(::open((folder / name).c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600));
    }
    std::string query(load.query_bytes, '\0');
    const std::string reply(load.reply_bytes, 'r');
    const std::string page(4096, 'p');
    for (int round = 0; round < load.rounds; ++round) {
      asio::read(stream, asio::buffer(query));
      for (const int file : files) {
        must(::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()), "append");
        must(::fdatasync(file) == 0, "fdatasync");
      }
      asio::write(stream, asio::buffer(reply));
    }
    for (const int file : files) ::close(file);
  }

  /// The server's side. @return seconds for the rounds, all silos connected
  static double serve(tests::Certificates& certificates, const Load& load,
                      const std::function<void(std::uint16_t)>& ready) {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Server, certificates::Role::Coordinator, "hub");
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    ready(acceptor.local_endpoint().port());
    std::vector<std::unique_ptr<TlsStream>> streams;
    for (int i = 0; i < load.silos; ++i) {
      streams.push_back(std::make_unique<TlsStream>(acceptor.accept(), credentials.context()));
      streams.back()->next_layer().set_option(tcp::no_delay(true));
      streams.back()->handshake(asio::ssl::stream_base::server);
    }
    const std::string query(load.query_bytes, 'q');
    const auto start = Clock::now();
    for (int round = 0; round < load.rounds; ++round) {
      for (auto& stream : streams) asio::co_spawn(context, exchange(*stream, query, load.reply_bytes), rethrow);
      context.restart();
      context.run();
    }
    return seconds_since(start);
  }

 private:
  static void rethrow(const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  }
  static asio::awaitable<void> exchange(TlsStream& stream, const std::string& query, std::size_t reply_bytes) {
    const auto [unsent, sent] = co_await asio::async_write(stream, asio::buffer(query), kAwait);
    must(!unsent, "bare write");
    std::array<char, 65536> buffer{};
    std::size_t left = reply_bytes;
    while (left > 0) {
      const auto [unread, size] =
          co_await stream.async_read_some(asio::buffer(buffer.data(), std::min(buffer.size(), left)), kAwait);
      must(!unread, "bare read");
      left -= size;
    }
  }
};

/// A job over `silos` alike silos on synthetic records, and its data.
struct Work {
  std::string job;
  std::vector<lab::SimulatedSilo> silos;
};

Work make_work(int silos, int rounds, int features, double draw_fraction = 1.0) {
  std::string columns;
  for (int f = 0; f < features; ++f)
    columns += fmt::format("{}{{\"column\":\"x{}\",\"min\":-1,\"max\":1}}", f == 0 ? "" : ",", f);
  std::string members;
  for (int i = 0; i < silos; ++i)
    members += fmt::format(
        "{}{{\"silo\":\"{}\",\"records\":50,\"holdout_records\":1,\"holdout_public\":true,\"epsilon\":4,\"delta\":1e-4}"
        "}",
        i == 0 ? "" : ",", silo_id(i).name());
  Work work;
  work.job = fmt::format(
      R"({{"format":"undertone.job/1","name":"bench","data":{{"label":{{"column":"y","negative":"n","positive":"p"}},"features":[{}]}},
"model":{{"kind":"logistic","intercept":true}},"domain":{{"kind":"l2_ball","radius":5}},"regulariser":{{"kind":"l2","strength":0.01}},
"algorithm":{{"kind":"noisy_minibatch_sgd","rounds":{},"step_size":0.5,"averaging":"uniform","draw_fraction":{}}},
"privacy":{{"mode":"isrl","unit":"record","noise":"secure","clip_norm":1}},"cohort":[{}],
"participation":{{"quorum":{},"join_deadline_ms":60000,"round_deadline_ms":60000,"resend_ms":30000}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
      columns, rounds, draw_fraction, members, silos);
  const config::Job parsed = config::parse_job(work.job, "bench").value();
  RandomSource random(1);
  const auto records = [&](int count) {
    models::Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
    for (int j = 0; j < count; ++j) {
      for (int f = 0; f < features; ++f) out.features(f, j) = 2.0 * random.unit() - 1.0;
      out.targets[j] = j % 2 == 0 ? 1.0 : -1.0;
    }
    return out;
  };
  for (int i = 0; i < silos; ++i) {
    work.silos.push_back(
        {silo_id(i), tests::generous_policy(), {parsed.schema, 50, 1, true}, {records(50), records(1)}});
  }
  return work;
}

/// A real agent with its ledger on disk; many can share a context.
struct Agent {
  Agent(asio::io_context& context, const lab::SimulatedSilo& spec, std::uint16_t port, const net::TlsFiles& tls,
        const std::string& consortium, const std::filesystem::path& folder)
      : silo(spec),
        key(SigningKey::from_seed(std::string(32, 'b')).value()),
        database(store::Database::open(folder / (spec.id.name() + ".sqlite"), store::Database::Sync::Full).value()),
        desk_database(store::Database::in_memory().value()),
        desk(silo::Desk::open(desk_database).value()),
        head(folder / (spec.id.name() + ".head")),
        ledger(silo::Ledger::open(database, head, key, {"data", {}, {}}, spec.policy.total, randomness.kind(),
                                  silo::wall_clock)
                   .value()) {
    std::vector<std::unique_ptr<silo::SiloMachine>> machines;
    machines.push_back(std::make_unique<silo::SiloMachine>(silo::SiloMachine::Setup{silo.id,
                                                                                    silo.policy,
                                                                                    silo.facts,
                                                                                    silo.dataset,
                                                                                    ledger,
                                                                                    randomness,
                                                                                    wire::Limits{},
                                                                                    {},
                                                                                    desk,
                                                                                    "data",
                                                                                    silo::wall_clock}));
    agent.emplace(std::move(machines));
    config.emplace(silo::SiloConfig{.id = silo.id,
                                    .consortium = consortium,
                                    .host = "127.0.0.1",
                                    .port = port,
                                    .proxy = {},
                                    .shufflers = {},
                                    .tls = tls,
                                    .datasets = {silo::DatasetConfig{}},
                                    .policy = silo.policy,
                                    .desk = {},
                                    .statements = folder / "statements",
                                    .reconnect_first = std::chrono::milliseconds(50),
                                    .reconnect_most = std::chrono::milliseconds(500),
                                    .session = {}});
    host.emplace(context, *config, *agent, randomness.kind());
    host->start().value();
  }
  lab::SimulatedSilo silo;
  SigningKey key;
  store::Database database;
  store::Database desk_database;
  silo::Desk desk;
  silo::FileHeadStore head;
  silo::SecureRandomness randomness;
  silo::Ledger ledger;
  std::optional<silo::SiloAgent> agent;
  std::optional<silo::SiloConfig> config;
  std::optional<silo::SiloHost> host;
};

/// Runs `body` in a child process. @return its id
pid_t in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  must(child >= 0, "fork");
  if (child == 0) {
    body();
    std::_Exit(0);
  }
  return child;
}

void wait_for(const std::vector<pid_t>& children) {
  for (const pid_t child : children) {
    int status = 0;
    must(::waitpid(child, &status, 0) == child, "waitpid");
  }
}

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
    TlsStream stream(*std::move(socket), tls_);
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

std::size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024U;
}

/// Agents in processes of `per_process` each, the coordinator here. @return the latency of each round in seconds
/// @param beside called with the port before the job is submitted; a process that it began, or nothing
/// @param settle how long that is let be before the job is submitted
std::vector<double> run_federation(tests::Certificates& certificates, const Work& work, int per_process,
                                   const std::filesystem::path& folder,
                                   const std::function<std::optional<pid_t>(std::uint16_t)>& beside = nullptr,
                                   std::chrono::seconds settle = {}) {
  int ready[2];
  must(::pipe(ready) == 0, "pipe");
  std::vector<net::TlsFiles> files;
  for (const lab::SimulatedSilo& silo : work.silos) files.push_back(certificates.silo(silo.id.name()));
  (void)certificates.hub();
  std::vector<pid_t> children;
  const std::string consortium = certificates.authority().consortium();
  for (std::size_t from = 0; from < work.silos.size(); from += static_cast<std::size_t>(per_process)) {
    children.push_back(in_child([&, from] {
      std::uint16_t port = 0;
      must(::read(ready[0], &port, sizeof port) == sizeof port, "port");
      asio::io_context context(1);
      std::vector<std::unique_ptr<Agent>> agents;
      for (std::size_t i = from; i < std::min(work.silos.size(), from + static_cast<std::size_t>(per_process)); ++i)
        agents.push_back(std::make_unique<Agent>(context, work.silos[i], port, files[i], consortium, folder));
      context.run();
    }));
  }
  coordinator::CoordinatorConfig config;
  config.consortium = consortium;
  config.name = "hub";
  config.host = "127.0.0.1";
  config.tls = certificates.hub();
  config.connections_max = 8192;
  config.results = folder / "results";
  store::Database database = store::Database::open(folder / "store.sqlite", store::Database::Sync::Full).value();
  coordinator::RunStore store = coordinator::RunStore::open(database).value();
  asio::io_context context(1);
  std::vector<double> latencies;
  std::optional<Clock::time_point> last;
  bool over = false;
  coordinator::CoordinatorHost host(context, config, store, [&](const coordinator::JobService::OfRun& said) {
    if (std::holds_alternative<coordinator::RunMachine::RoundClosed>(said.what)) {
      if (last) latencies.push_back(seconds_since(*last));
      last = Clock::now();
    }
    if (const auto* ended = std::get_if<coordinator::RunMachine::Ended>(&said.what)) {
      must(ended->outcome.has_value(), "the run failed");
      over = true;
    }
  });
  const std::uint16_t port = host.start().value().silos;
  for (std::size_t i = 0; i < children.size(); ++i) must(::write(ready[1], &port, sizeof port) == sizeof port, "port");
  if (beside) {
    if (const std::optional<pid_t> child = beside(port)) children.push_back(*child);
    const auto until = Clock::now() + settle;
    while (Clock::now() < until) context.run_one_until(until);
  }
  (void)host.submit(work.job, "bench", Nonce{1}, false).value();
  while (!over) context.run_one();
  for (const pid_t child : children) ::kill(child, SIGKILL);
  wait_for(children);
  ::close(ready[0]);
  ::close(ready[1]);
  return latencies;
}

double bare_seconds(tests::Certificates& certificates, const BareFanOut::Load& load, int per_process,
                    const std::filesystem::path& folder) {
  int ready[2];
  must(::pipe(ready) == 0, "pipe");
  for (int i = 0; i < load.silos; ++i) (void)certificates.silo(silo_id(i).name());
  (void)certificates.hub();
  std::vector<pid_t> children;
  for (int from = 0; from < load.silos; from += per_process) {
    children.push_back(in_child([&, from] {
      std::uint16_t port = 0;
      must(::read(ready[0], &port, sizeof port) == sizeof port, "port");
      std::vector<std::thread> threads;
      for (int i = from; i < std::min(load.silos, from + per_process); ++i)
        threads.emplace_back([&, i] { BareFanOut::serve_silo(certificates, port, load, i, folder); });
      for (std::thread& thread : threads) thread.join();
    }));
  }
  const double seconds = BareFanOut::serve(certificates, load, [&](std::uint16_t port) {
    for (std::size_t i = 0; i < children.size(); ++i)
      must(::write(ready[1], &port, sizeof port) == sizeof port, "port");
  });
  wait_for(children);
  ::close(ready[0]);
  ::close(ready[1]);
  return seconds;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

void bench_rounds(int silos, int rounds, int per_process, const char* name) {
  const tests::TemporaryFolder folder;
  tests::Certificates certificates("bench");
  const Work work = make_work(silos, rounds, 50);
  // The same bytes as a round's query and reply of 51 numbers on the wire.
  BareFanOut::Load load{silos, rounds, 530, 580, 1};
  const double bare = bare_seconds(certificates, load, per_process, folder.path()) / rounds;
  load.commits = 2;  // as many as a ledger and its head take
  const double committed = bare_seconds(certificates, load, per_process, folder.path()) / rounds;
  const std::vector<double> latencies = run_federation(certificates, work, per_process, folder.path());
  double sum = 0.0;
  for (const double latency : latencies) sum += latency;
  const double mean = sum / static_cast<double>(latencies.size());
  fmt::print("{}: {} silos, {} to a process, d = 51, every commit synced\n", name, silos, per_process);
  fmt::print("  bare fan-out   {:8.2f} ms a round, one synced write for an answer\n", 1e3 * bare);
  fmt::print("  the same       {:8.2f} ms a round, two\n", 1e3 * committed);
  fmt::print("  federation     {:8.2f} ms a round (median {:.2f})\n", 1e3 * mean, 1e3 * median(latencies));
  fmt::print("  ratio of rates {:.2f}, {:.2f}\n  coordinator's peak {:.0f} MB, with the silos' records that it made\n",
             bare / mean, committed / mean, static_cast<double>(peak_bytes()) / 1e6);
}

/// A coordinator in a process of its own. Writes its port, then the number of each round that it closes.
void serve_run(tests::Certificates& certificates, const std::string* job, std::uint16_t port,
               const std::filesystem::path& folder, int told) {
  coordinator::CoordinatorConfig config;
  config.consortium = certificates.authority().consortium();
  config.name = "hub";
  config.host = "127.0.0.1";
  config.port = port;
  config.tls = certificates.hub();
  config.connections_max = 1024;
  config.results = folder / "results";
  store::Database database = store::Database::open(folder / "store.sqlite", store::Database::Sync::Full).value();
  coordinator::RunStore store = coordinator::RunStore::open(database).value();
  asio::io_context context(1);
  const auto tell = [told](std::uint64_t number) {
    must(::write(told, &number, sizeof number) == sizeof number, "tell");
  };
  coordinator::CoordinatorHost host(context, config, store, [&](const coordinator::JobService::OfRun& said) {
    if (const auto* closed = std::get_if<coordinator::RunMachine::RoundClosed>(&said.what)) tell(closed->round.value);
  });
  tell(host.start().value().silos);
  if (job != nullptr) (void)host.submit(*job, "bench", Nonce{1}, false).value();
  context.run();
}

/// What a coordinator's death costs a run, from the kill to the end of the next round; silos wait 50 to 500 ms before
/// they dial again.
void bench_restarts(int silos, int restarts) {
  const tests::TemporaryFolder folder;
  tests::Certificates certificates("bench");
  const int rounds = 20 * restarts + 40;
  const Work work = make_work(silos, rounds, 50, 0.5);  // a sampled job: its plans take their time
  std::vector<net::TlsFiles> files;
  for (const lab::SimulatedSilo& silo : work.silos) files.push_back(certificates.silo(silo.id.name()));
  (void)certificates.hub();
  int told[2];
  must(::pipe(told) == 0, "pipe");
  const auto hear = [&] {
    std::uint64_t number = 0;
    must(::read(told[0], &number, sizeof number) == sizeof number, "hear");
    return number;
  };
  const auto begin = [&](const std::string* job, std::uint16_t port) {
    return in_child([&] { serve_run(certificates, job, port, folder.path(), told[1]); });
  };
  pid_t coordinator = begin(&work.job, 0);
  const auto port = static_cast<std::uint16_t>(hear());
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < work.silos.size(); ++i) {
    children.push_back(in_child([&, i] {
      asio::io_context context(1);
      const Agent agent(context, work.silos[i], port, files[i], certificates.authority().consortium(), folder.path());
      context.run();
    }));
  }
  std::vector<double> gaps;
  std::vector<double> latencies;
  std::uint64_t round = hear();
  for (int restart = 1; restart <= restarts; ++restart) {
    while (round < std::uint64_t{20} * static_cast<std::uint64_t>(restart)) {
      const auto since = Clock::now();
      round = hear();
      latencies.push_back(seconds_since(since));
    }
    const auto killed = Clock::now();
    ::kill(coordinator, SIGKILL);
    wait_for({coordinator});
    coordinator = begin(nullptr, port);
    while (hear() != port) {  // rounds that the first one closed before it died
    }
    round = hear();
    gaps.push_back(seconds_since(killed));
  }
  children.push_back(coordinator);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  wait_for(children);
  fmt::print("restarts: {} silos, d = 51, half of the records drawn, every commit synced, {} kills\n", silos, restarts);
  fmt::print("  a round                        {:8.2f} ms (median)\n", 1e3 * median(latencies));
  fmt::print("  from a kill to the next round  {:8.2f} ms (median), {:.2f} at most\n", 1e3 * median(gaps),
             1e3 * *std::max_element(gaps.begin(), gaps.end()));
}

constexpr int kKnocksASecond = 500;

/// With what is left of the cores, as if strangers had machines of their own.
void run_at_idle_priority(std::uint16_t port, int strangers, StrangersSeen& seen) {
  const sched_param priority{};
  must(::sched_setscheduler(0, SCHED_IDLE, &priority) == 0, "idle priority");
  Strangers(port, strangers, kKnocksASecond, seen).run();
}

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
  const auto mean = [](const std::vector<double>& latencies) {
    return std::accumulate(latencies.begin(), latencies.end(), 0.0) / static_cast<double>(latencies.size());
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

/// One silo of the vector bench: takes the query, sends a reply of its size.
/// @param durable where each reply is committed before it leaves, as a ledger does; null: nowhere
asio::awaitable<void> vector_silo(std::shared_ptr<net::Session> session, std::size_t dimension,
                                  store::Database* durable) {
  must((co_await session->handshake(net::Side::Client)).has_value(), "handshake");
  session->established();
  std::shared_ptr<const std::string> reply;
  while (true) {
    Result<wire::Message> message = co_await session->receive();
    if (!message) break;
    const auto* query = std::get_if<wire::QueryMessage>(&*message);
    if (query == nullptr) continue;
    must(queries::point_of(query->query.question).size() == static_cast<Eigen::Index>(dimension), "dimension");
    const Digest digest = queries::query_digest(query->run, query->query);
    wire::ReplyMessage answer{query->run,
                              digest,
                              queries::ReplyType::I32,
                              {query->query.round, -20, privacy::NoiseKind::Secure, queries::NoisedSums{}}};
    message = Error{ErrorCode::Internal, ""};  // the point is not needed any more
    std::vector<std::int64_t>& values = std::get<queries::NoisedSums>(answer.reply.answer).values;
    values.reserve(dimension);
    expect_much(values.data(), dimension * sizeof values[0]);
    values.assign(dimension, 12345);
    wire::Encoder encoder{wire::Limits{}};
    const wire::Message out(std::move(answer));
    reply = std::make_shared<const std::string>(encoder.encode(out));
    if (durable != nullptr) {
      const Status committed = durable->transaction([&] {
        return durable->prepare("INSERT INTO replies (bytes) VALUES (?)").value().bind_blob(1, *reply).run();
      });
      must(committed.has_value(), "commit");
    }
    session->send(std::exchange(reply, nullptr));
  }
}

/// The coordinator's side: the sessions, and the round that is open.
struct VectorHub {
  std::vector<std::shared_ptr<net::Session>> ready;
  std::unique_ptr<coordinator::RoundMachine> round;
};

/// Feeds the round machine from one session.
asio::awaitable<void> vector_peer(std::shared_ptr<net::Session> session, SiloId silo, VectorHub& hub) {
  must((co_await session->handshake(net::Side::Server)).has_value(), "handshake");
  session->established();
  hub.ready.push_back(session);
  while (true) {
    const Result<wire::Message> message = co_await session->receive();
    if (!message) break;
    const auto* reply = std::get_if<wire::ReplyMessage>(&*message);
    if (reply == nullptr) continue;
    auto reception = coordinator::RoundMachine::Reception::Foreign;
    (void)hub.round->on_reply(silo, *reply, reception);
    must(reception == coordinator::RoundMachine::Reception::Accepted, "the reply is accepted");
  }
}

/// Asks everybody, folds what they answer. @return the mean
Eigen::VectorXd vector_round(asio::io_context& context, VectorHub& hub, const wire::Limits& limits,
                             std::uint32_t number, const Eigen::VectorXd& iterate) {
  const RunId run{sha256("bench"), {}};
  coordinator::RoundMachine::Setup setup;
  setup.run = run;
  setup.round = {number};
  setup.shape = {iterate.size(), {queries::ReplyType::I32, -20}, privacy::NoiseKind::Secure};
  setup.quorum = hub.ready.size();
  setup.deadline = std::chrono::minutes(5);
  for (std::size_t i = 0; i < hub.ready.size(); ++i)
    setup.expected.emplace(silo_id(static_cast<int>(i)), coordinator::Participant{});
  wire::QueryMessage message{run, queries::PointType::F64, {{number}, queries::GradientQuestion{iterate}}};
  setup.query = queries::query_digest(run, message.query);
  std::shared_ptr<const std::string> query;
  {
    const wire::Message out(std::move(message));
    query = std::make_shared<const std::string>(wire::Encoder{limits}.encode(out));
  }
  hub.round = std::make_unique<coordinator::RoundMachine>(std::move(setup));
  (void)hub.round->open(Clock::now());
  for (const auto& session : hub.ready) session->send(query);
  query.reset();
  while (hub.round->state() != coordinator::RoundMachine::State::Closed) context.run_one();
  return hub.round->gathered().mean;
}

constexpr int kVectorRounds = 3;

void bench_vectors(int silos, std::size_t dimension, bool durable) {
  tests::Certificates certificates("bench");
  const tests::TemporaryFolder folder;
  for (int i = 0; i < silos; ++i) (void)certificates.silo(silo_id(i).name());
  (void)certificates.hub();
  const std::size_t model = 8 * dimension;
  wire::Limits limits;
  limits.dimension_max = dimension;
  net::SessionLimits session_limits;
  session_limits.wire = limits;

  // The bare half: the same bytes each way, one after another, between this process and one other.
  const std::size_t out_bytes = 8 * dimension;
  const std::size_t in_bytes = 4 * dimension;
  const double bare =
      bare_seconds(certificates, {silos, kVectorRounds, out_bytes, in_bytes, 0}, 1, folder.path()) / kVectorRounds;

  int ready_pipe[2];
  must(::pipe(ready_pipe) == 0, "pipe");
  int memory_pipe[2];
  must(::pipe(memory_pipe) == 0, "pipe");
  std::vector<pid_t> children;
  children.reserve(static_cast<std::size_t>(silos));
  for (int i = 0; i < silos; ++i) {
    children.push_back(in_child([&, i] {
      std::uint16_t port = 0;
      must(::read(ready_pipe[0], &port, sizeof port) == sizeof port, "port");
      asio::io_context context(1);
      net::Credentials credentials =
          credentials_of(certificates, net::Side::Client, certificates::Role::Silo, silo_id(i).name());
      tcp::socket socket(context);
      socket.connect({asio::ip::address_v4::loopback(), port});
      auto session =
          std::make_shared<net::Session>(TlsStream(std::move(socket), credentials.context()), session_limits);
      std::optional<store::Database> database;
      if (durable) {
        database.emplace(
            store::Database::open(folder.path() / fmt::format("silo-{}.sqlite", i), store::Database::Sync::Full)
                .value());
        must(database->execute("CREATE TABLE replies (round INTEGER PRIMARY KEY, bytes BLOB NOT NULL)").has_value(),
             "table");
      }
      asio::co_spawn(context, vector_silo(session, dimension, database ? &*database : nullptr),
                     [](const std::exception_ptr& failure) { must(!failure, "a silo failed"); });
      context.run();
      const std::size_t peak = peak_bytes();
      must(::write(memory_pipe[1], &peak, sizeof peak) == sizeof peak, "peak");
    }));
  }
  // The coordinator is a child too, so that its peak is its own.
  int result_pipe[2];
  must(::pipe(result_pipe) == 0, "pipe");
  const pid_t coordinator = in_child([&] {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Server, certificates::Role::Coordinator, "hub");
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    const std::uint16_t port = acceptor.local_endpoint().port();
    for (int i = 0; i < silos; ++i) must(::write(ready_pipe[1], &port, sizeof port) == sizeof port, "port");
    const auto gate = std::make_shared<net::AssemblyGate>(context.get_executor());
    VectorHub hub;
    for (int i = 0; i < silos; ++i) {
      tcp::socket socket = acceptor.accept(context);
      auto session =
          std::make_shared<net::Session>(TlsStream(std::move(socket), credentials.context()), session_limits, gate);
      asio::co_spawn(context, vector_peer(std::move(session), silo_id(i), hub),
                     [](const std::exception_ptr& failure) { must(!failure, "a session failed"); });
    }
    while (hub.ready.size() < static_cast<std::size_t>(silos)) context.run_one();
    const Eigen::VectorXd iterate = Eigen::VectorXd::LinSpaced(static_cast<Eigen::Index>(dimension), -1.0, 1.0);
    Eigen::VectorXd mean = vector_round(context, hub, limits, 0, iterate);  // memory is there from here on
    const auto start = Clock::now();
    for (int round = 1; round <= kVectorRounds; ++round) {
      hub.round.reset();
      mean.resize(0);
      mean = vector_round(context, hub, limits, static_cast<std::uint32_t>(round), iterate);
    }
    const double seconds = seconds_since(start) / kVectorRounds;
    for (const auto& session : hub.ready) session->close();
    must(std::abs(mean[0] - std::ldexp(12345.0, -20)) < 1e-12, "the mean");
    const std::size_t peak = peak_bytes();
    must(::write(result_pipe[1], &seconds, sizeof seconds) == sizeof seconds, "seconds");
    must(::write(result_pipe[1], &peak, sizeof peak) == sizeof peak, "peak");
  });
  double seconds = 0.0;
  std::size_t peak = 0;
  must(::read(result_pipe[0], &seconds, sizeof seconds) == sizeof seconds, "seconds");
  must(::read(result_pipe[0], &peak, sizeof peak) == sizeof peak, "peak");
  wait_for({coordinator});
  std::size_t silo_peak = 0;
  for (int i = 0; i < silos; ++i) {
    std::size_t one = 0;
    must(::read(memory_pipe[0], &one, sizeof one) == sizeof one, "peak");
    silo_peak = std::max(silo_peak, one);
  }
  wait_for(children);
  const auto models = [model](std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(model); };
  fmt::print("vectors{}: {} silos, d = {}, {:.1f} MB out and {:.1f} MB in for each\n", durable ? ", durable" : "",
             silos, dimension, static_cast<double>(out_bytes) / 1e6, static_cast<double>(in_bytes) / 1e6);
  fmt::print("  bare TLS stream      {:.2f} s\n  transfer and fold    {:.2f} s, ratio {:.2f}\n", bare, seconds,
             bare / seconds);
  fmt::print("  coordinator's peak   {:.0f} MB = {:.2f} model sizes; a silo's {:.0f} MB = {:.2f}\n",
             static_cast<double>(peak) / 1e6, models(peak), static_cast<double>(silo_peak) / 1e6, models(silo_peak));
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, int fallback) { return argc > at ? std::stoi(argv[at]) : fallback; };
  if (what == "rounds") {
    bench_rounds(number(2, 25), number(3, 100), 1, "rounds");
  } else if (what == "many") {
    bench_rounds(number(2, 4) * number(3, 50), number(4, 20), number(3, 50), "many");
  } else if (what == "restarts") {
    bench_restarts(number(2, 5), number(3, 10));
  } else if (what == "strangers") {
    bench_strangers(number(2, 5000), number(3, 5), number(4, 400));
  } else if (what == "vectors") {
    bench_vectors(number(2, 8), static_cast<std::size_t>(number(3, 10'000'000)),
                  argc > 4 && argv[4] == std::string("durable"));
  } else {
    std::fprintf(stderr, "usage: federation_bench rounds|vectors|many|restarts|strangers [NUMBERS]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace undertone

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::warn);
  undertone::keep_large_blocks();
  return undertone::run(argc, argv);
}
