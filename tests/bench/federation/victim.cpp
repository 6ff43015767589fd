#include "tests/bench/federation/victim.hpp"

#include <fstream>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <thread>

#include "coordinator/host/coordinator_host.hpp"
#include "shared/base/files.hpp"
#include "shared/base/large_memory.hpp"
#include "shuffler/batch/sealed_adder.hpp"
#include "shuffler/host/sealing_key_file.hpp"
#include "shuffler/host/shuffler_host.hpp"
#include "tests/bench/federation/agent.hpp"

namespace undertone::bench {
namespace {

/// Runs a loop and times its handlers.
class WatchedLoop {
 public:
  explicit WatchedLoop(asio::io_context& context) : context_(&context) {}
  void run_until(const std::function<bool()>& over) {
    while (!over()) {
      const auto began = Clock::now();
      if (context_->poll_one() == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        continue;
      }
      const double took = seconds_since(began);
      busy_ += took;
      longest_ = std::max(longest_, took);
    }
  }
  void run_for(std::chrono::milliseconds time) {
    const auto until = Clock::now() + time;
    run_until([until] { return Clock::now() >= until; });
  }
  void forget() { busy_ = longest_ = 0.0; }
  [[nodiscard]] double busy() const noexcept { return busy_; }
  [[nodiscard]] double longest() const noexcept { return longest_; }

 private:
  asio::io_context* context_;
  double busy_ = 0.0;
  double longest_ = 0.0;
};

}  // namespace

Victim::Victim(std::chrono::milliseconds settle, const std::function<void(const Victim&)>& body) : settle_(settle) {
  process_ = in_child([&] {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::null_sink_mt>()));
    body(*this);
  });
  ports_ = told_.read<Ports>();
}

Victim::~Victim() { kill_all({process_}); }

void Victim::begin() const {
  orders_.write('b');
  (void)told_.read<char>();
}

Suffered Victim::end() const {
  orders_.write('e');
  return told_.read<Suffered>();
}

void Victim::serve(asio::io_context& context, Ports ports) const {
  const auto work = asio::make_work_guard(context);
  WatchedLoop loop(context);
  const auto ordered = [this] { return orders_.holds(); };
  told_.write(ports);
  while (true) {
    loop.run_until(ordered);
    (void)orders_.read<char>();
    loop.run_for(settle_);
    give_back_freed_memory();  // else it would hide what is taken now
    forget_most_resident();
    const std::int64_t before = resident_bytes();
    loop.forget();
    told_.write('b');
    loop.run_until(ordered);
    (void)orders_.read<char>();
    loop.run_for(settle_);
    told_.write(Suffered{loop.busy(), loop.longest(), std::max<std::int64_t>(0, most_resident_bytes() - before),
                         std::max<std::int64_t>(0, resident_bytes() - before)});
  }
}

std::unique_ptr<Victim> coordinator_victim(tests::Certificates& certificates, const std::filesystem::path& folder,
                                           std::uint16_t shuffler, std::chrono::milliseconds settle) {
  write_file_atomically(folder / "token", std::string(kOperatorsToken) + "\n").value();
  coordinator::CoordinatorConfig config;
  config.consortium = certificates.authority().consortium();
  config.name = "hub";
  config.host = "127.0.0.1";
  config.tls = certificates.hub();
  config.connections_max = 1024;
  config.results = folder / "results";
  config.http.emplace();
  config.http->host = "127.0.0.1";
  config.http->token_file = folder / "token";
  if (shuffler != 0) config.shufflers = {{kMixersName, "127.0.0.1", shuffler}};
  return std::make_unique<Victim>(settle, [&](const Victim& victim) {
    store::Database database = store::Database::open(folder / "store.sqlite", store::Database::Sync::Full).value();
    coordinator::RunStore store = coordinator::RunStore::open(database).value();
    asio::io_context context(1);
    coordinator::CoordinatorHost host(context, config, store, nullptr);
    const coordinator::CoordinatorHost::Ports ports = host.start().value();
    victim.serve(context, {ports.silos, ports.http});
  });
}

std::unique_ptr<Victim> shuffler_victim(tests::Certificates& certificates, const std::filesystem::path& folder,
                                        std::chrono::milliseconds settle) {
  shuffler::ShufflerConfig config;
  config.consortium = certificates.authority().consortium();
  config.name = kMixersName;
  config.host = "127.0.0.1";
  config.tls = certificates.party(certificates::Role::Shuffler, kMixersName);
  config.connections_max = 1024;
  return std::make_unique<Victim>(settle, [&](const Victim& victim) {
    store::Database database = store::Database::open(folder / "batches.sqlite", store::Database::Sync::Full).value();
    shuffler::BatchStore store = shuffler::BatchStore::open(database).value();
    shuffler::BitsPermuter<crypto::SecureBits> permuter(crypto::SecureBits::from_os());
    const sealed::SealingKey key = sealed::SealingKey::generate();
    const Digest public_key = shuffler::public_key_of(key);
    shuffler::SealedAdder adder(sealed::SealingKey::from_secret(key.secret_bytes()).value());
    asio::io_context context(1);
    shuffler::ShufflerHost host(context, config, {store, permuter, adder, public_key});
    victim.serve(context, {host.start().value(), 0});
  });
}

std::unique_ptr<Victim> silo_victim(tests::Certificates& certificates, const Work& work,
                                    const std::filesystem::path& folder, std::uint16_t coordinator,
                                    std::uint16_t shuffler, std::chrono::milliseconds settle) {
  const simulation::SimulatedSilo& spec = work.silos.front();
  const net::TlsFiles tls = certificates.silo(spec.id.name());
  std::vector<net::LinkAddress> shufflers;
  if (shuffler != 0) shufflers.push_back({kMixersName, "127.0.0.1", shuffler});
  return std::make_unique<Victim>(settle, [&](const Victim& victim) {
    asio::io_context context(1);
    Agent agent(context, spec, coordinator, tls, certificates.authority().consortium(), folder, shufflers);
    victim.serve(context, {});
  });
}

}  // namespace undertone::bench
