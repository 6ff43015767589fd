#include "tests/bench/federation/parts.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <numeric>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#include "coordinator/host/coordinator_host.hpp"
#include "shared/net/await.hpp"
#include "tests/bench/federation/agent.hpp"
#include "tests/support/small_federation.hpp"

namespace undertone::bench {
namespace {

using net::kAwait;

class BareFanOut {
 public:
  /// One silo's side, until the server closes.
  static void serve_silo(tests::Certificates& certificates, std::uint16_t port, const BareLoad& load, int number,
                         const std::filesystem::path& folder) {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Client, certificates::Role::Silo, silo_id(number).name());
    BareStream stream(context, credentials.context());
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
  static double serve(tests::Certificates& certificates, const BareLoad& load,
                      const std::function<void(std::uint16_t)>& ready) {
    asio::io_context context(1);
    net::Credentials credentials =
        credentials_of(certificates, net::Side::Server, certificates::Role::Coordinator, "hub");
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    ready(acceptor.local_endpoint().port());
    std::vector<std::unique_ptr<BareStream>> streams;
    for (int i = 0; i < load.silos; ++i) {
      streams.push_back(std::make_unique<BareStream>(acceptor.accept(), credentials.context()));
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
  static asio::awaitable<void> exchange(BareStream& stream, const std::string& query, std::size_t reply_bytes) {
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

/// A coordinator that keeps its store in a folder.
class Coordinator {
 public:
  Coordinator(tests::Certificates& certificates, const std::filesystem::path& folder, std::uint16_t port,
              std::function<void(std::uint64_t)> closed)
      : database_(store::Database::open(folder / "store.sqlite", store::Database::Sync::Full).value()),
        store_(coordinator::RunStore::open(database_).value()),
        closed_(std::move(closed)),
        host_(context_, config_of(certificates, folder, port), store_,
              [this](const coordinator::JobService::OfRun& said) { note(said); }),
        port_(host_.start().value().silos) {}
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void submit(const std::string& job) { (void)host_.submit(job, "bench", Nonce{1}, false).value(); }
  void serve() { context_.run(); }
  void serve_for(std::chrono::seconds time) {
    const auto until = Clock::now() + time;
    while (Clock::now() < until) context_.run_one_until(until);
  }
  void serve_until_the_run_ends() {
    while (!over_) context_.run_one();
  }

 private:
  static coordinator::CoordinatorConfig config_of(tests::Certificates& certificates,
                                                  const std::filesystem::path& folder, std::uint16_t port) {
    coordinator::CoordinatorConfig config;
    config.consortium = certificates.authority().consortium();
    config.name = "hub";
    config.host = "127.0.0.1";
    config.port = port;
    config.tls = certificates.hub();
    config.connections_max = 16'384;
    config.results = folder / "results";
    return config;
  }
  void note(const coordinator::JobService::OfRun& said) {
    if (const auto* round = std::get_if<coordinator::RunMachine::RoundClosed>(&said.what)) closed_(round->round.value);
    if (const auto* ended = std::get_if<coordinator::RunMachine::Ended>(&said.what)) {
      must(ended->outcome.has_value(), "the run failed");
      over_ = true;
    }
  }

  store::Database database_;
  coordinator::RunStore store_;
  asio::io_context context_{1};
  std::function<void(std::uint64_t)> closed_;
  bool over_ = false;
  coordinator::CoordinatorHost host_;
  std::uint16_t port_;
};

}  // namespace

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "federation_bench: %s\n", what);
  std::_Exit(1);
}

std::size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024U;
}

std::int64_t resident_bytes() {
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t most_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::stoll(line.substr(6));
  }
  must(false, "VmHWM");
  return 0;
}
void forget_most_resident() { std::ofstream("/proc/self/clear_refs") << 5; }

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

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

void kill_all(const std::vector<pid_t>& children) {
  for (const pid_t child : children) ::kill(child, SIGKILL);
  wait_for(children);
}

SiloId silo_id(int number) { return SiloId::create(fmt::format("silo-{}", number)).value(); }

net::Credentials credentials_of(tests::Certificates& certificates, net::Side side, certificates::Role role,
                                const std::string& name) {
  return net::Credentials::load(certificates.party(role, name), side,
                                {certificates.authority().consortium(), role, name})
      .value();
}

Work make_work(int silos, int rounds, int features, double draw_fraction) {
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
"participation":{{"quorum":{},"join_deadline_ms":600000,"round_deadline_ms":60000,"resend_ms":30000}},
"evaluation":{{"every":0}},"wire":{{"points":"f64","replies":"i64","reply_step_log2":-40}}}})",
      columns, rounds, draw_fraction, members, silos);
  const jobs::Job parsed = jobs::parse_job(work.job, "bench").value();
  RandomSource random(1);
  const auto records = [&](int count) {
    models::Records out{Eigen::MatrixXd(features, count), Eigen::VectorXd(count)};
    for (int j = 0; j < count; ++j) {
      for (int f = 0; f < features; ++f) out.features(f, j) = 2.0 * random.unit() - 1.0;
      out.targets[j] = j % 2 == 0 ? 1.0 : -1.0;
    }
    return out;
  };
  silo::Policy policy = tests::generous_policy();
  policy.release_interval = std::chrono::milliseconds(0);  // else a round takes a multiple of it
  for (int i = 0; i < silos; ++i) {
    work.silos.push_back({silo_id(i), policy, {parsed.schema, 50, 1, true}, {records(50), records(1)}});
  }
  return work;
}

pid_t agents_in_child(tests::Certificates& certificates, const Work& work, std::size_t from, std::size_t count,
                      const Pipe& port, const std::filesystem::path& folder) {
  return in_child([&] {
    const auto number = port.read<std::uint16_t>();
    asio::io_context context(1);
    std::vector<std::unique_ptr<Agent>> agents;
    for (std::size_t i = from; i < std::min(work.silos.size(), from + count); ++i) {
      agents.push_back(std::make_unique<Agent>(context, work.silos[i], number,
                                               certificates.silo(work.silos[i].id.name()),
                                               certificates.authority().consortium(), folder));
    }
    context.run();
  });
}

pid_t coordinator_in_child(tests::Certificates& certificates, const std::string* job, std::uint16_t port,
                           const std::filesystem::path& folder, const Pipe& told) {
  return in_child([&] {
    Coordinator coordinator(certificates, folder, port, [&told](std::uint64_t round) { told.write(round); });
    told.write(std::uint64_t{coordinator.port()});
    if (job != nullptr) coordinator.submit(*job);
    coordinator.serve();
  });
}

std::vector<double> run_federation(tests::Certificates& certificates, const Work& work, int per_process,
                                   const std::filesystem::path& folder,
                                   const std::function<std::optional<pid_t>(std::uint16_t)>& beside,
                                   std::chrono::seconds settle) {
  for (const simulation::SimulatedSilo& silo : work.silos) (void)certificates.silo(silo.id.name());
  (void)certificates.hub();
  const Pipe ready;
  std::vector<pid_t> children;
  const auto step = static_cast<std::size_t>(per_process);
  for (std::size_t from = 0; from < work.silos.size(); from += step)
    children.push_back(agents_in_child(certificates, work, from, step, ready, folder));
  std::vector<double> latencies;
  std::optional<Clock::time_point> last;
  Coordinator coordinator(certificates, folder, 0, [&](std::uint64_t) {
    if (last) latencies.push_back(seconds_since(*last));
    last = Clock::now();
  });
  for (std::size_t i = 0; i < children.size(); ++i) ready.write(coordinator.port());
  if (beside) {
    if (const std::optional<pid_t> child = beside(coordinator.port())) children.push_back(*child);
    coordinator.serve_for(settle);
  }
  coordinator.submit(work.job);
  coordinator.serve_until_the_run_ends();
  kill_all(children);
  return latencies;
}

double bare_seconds(tests::Certificates& certificates, const BareLoad& load, int per_process,
                    const std::filesystem::path& folder) {
  for (int i = 0; i < load.silos; ++i) (void)certificates.silo(silo_id(i).name());
  (void)certificates.hub();
  const Pipe ready;
  std::vector<pid_t> children;
  for (int from = 0; from < load.silos; from += per_process) {
    children.push_back(in_child([&, from] {
      const auto port = ready.read<std::uint16_t>();
      std::vector<std::thread> threads;
      for (int i = from; i < std::min(load.silos, from + per_process); ++i)
        threads.emplace_back([&, i] { BareFanOut::serve_silo(certificates, port, load, i, folder); });
      for (std::thread& thread : threads) thread.join();
    }));
  }
  const double seconds = BareFanOut::serve(certificates, load, [&](std::uint16_t port) {
    for (std::size_t i = 0; i < children.size(); ++i) ready.write(port);
  });
  wait_for(children);
  return seconds;
}

}  // namespace undertone::bench
