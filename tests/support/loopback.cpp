#include "tests/support/loopback.hpp"

#include <boost/asio/post.hpp>
#include <future>

namespace undertone::tests {
namespace {

constexpr std::chrono::seconds kPatience{300};
using std::chrono::milliseconds;

}  // namespace

LoopbackCoordinator::LoopbackCoordinator(Certificates& certificates, const Change& change,
                                         jobs::AlgorithmMaker make_algorithm)
    : database_(store::Database::in_memory().value()), store_(coordinator::RunStore::open(database_).value()) {
  config_.consortium = certificates.authority().consortium();
  config_.name = "hub";
  config_.host = "127.0.0.1";
  config_.tls = certificates.hub();
  config_.connections_max = 64;
  config_.results = folder_.path() / "results";
  if (change) change(config_);
  const auto watch = [this](const coordinator::JobService::OfRun& said) {
    // The end is told when its result is written: by then everybody may have heard of it and the machine be gone.
    if (const coordinator::RunMachine* machine = host_->service().machine(said.run))
      encoded_ = machine->messages_encoded();
    const auto* ended = std::get_if<coordinator::RunMachine::Ended>(&said.what);
    if (ended == nullptr) return;
    const std::lock_guard lock(mutex_);
    outcomes_.emplace(said.run, ended->outcome);
    ended_.notify_all();
  };
  host_.emplace(context_, config_, store_, watch, std::move(make_algorithm));
  ports_ = host_->start().value();
  thread_ = std::thread([this] { context_.run(); });
}

LoopbackCoordinator::~LoopbackCoordinator() {
  boost::asio::post(context_, [this] { host_->stop(); });
  boost::asio::post(context_, [this] { context_.stop(); });
  thread_.join();
}

void LoopbackCoordinator::on_thread(const std::function<void(coordinator::CoordinatorHost&)>& work) {
  std::promise<void> done;
  boost::asio::post(context_, [&] {
    work(*host_);
    done.set_value();
  });
  done.get_future().wait();
}

bool LoopbackCoordinator::wait_until(const std::function<bool(coordinator::CoordinatorHost&)>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    bool so = false;
    on_thread([&](coordinator::CoordinatorHost& host) { so = holds(host); });
    if (so) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

RunId LoopbackCoordinator::submit(const std::string& job, bool again, std::uint8_t nonce) {
  std::optional<RunId> run;
  on_thread(
      [&](coordinator::CoordinatorHost& host) { run = host.submit(job, "job", Nonce{nonce}, again).value().run; });
  return *run;
}

Result<algorithms::Outcome> LoopbackCoordinator::outcome(const RunId& run) {
  std::unique_lock lock(mutex_);
  if (!ended_.wait_for(lock, kPatience, [&] { return outcomes_.contains(run); }))
    return Error{ErrorCode::Internal, "the run did not end"};
  return outcomes_.at(run);
}

LoopbackSilo::LoopbackSilo(const simulation::SimulatedSilo& spec, std::uint16_t port, std::uint64_t seed,
                           const net::TlsFiles& files, const Change& change)
    : spec_(spec),
      key_(SigningKey::from_seed(std::string(32, 'l')).value()),
      database_(store::Database::in_memory().value()),
      desk_database_(store::Database::open(statements_.path() / "desk.sqlite", store::Database::Sync::Normal).value()),
      owners_desk_database_(
          store::Database::open(statements_.path() / "desk.sqlite", store::Database::Sync::Normal).value()),
      randomness_(seed, spec.id) {
  desk_.emplace(silo::Desk::open(desk_database_).value());
  owners_desk_.emplace(silo::Desk::open(owners_desk_database_).value());
  silo::DatasetConfig dataset;
  dataset.name = "data";
  dataset.schema = spec_.facts.schema;
  dataset.holdout_public = true;
  config_.emplace(silo::SiloConfig{.id = spec_.id,
                                   .consortium = "lakeside",
                                   .host = "127.0.0.1",
                                   .port = port,
                                   .proxy = {},
                                   .shufflers = {},
                                   .tls = files,
                                   .datasets = {dataset},
                                   .removed = {},
                                   .policy = spec_.policy,
                                   .desk = statements_.path() / "desk.sqlite",
                                   .statements = statements_.path(),
                                   .reconnect_first = milliseconds(20),
                                   .reconnect_most = milliseconds(200),
                                   .session = {}});
  if (change) change(*config_);
  const auto clock = [] { return std::int64_t{1'700'000'000}; };
  const Digest holdout = spec_.facts.holdout_public ? sha256("holdout") : Digest{};
  const Digest open = spec_.facts.public_records > 0 ? sha256("public records") : Digest{};
  ledger_.emplace(silo::Ledger::open(database_, head_, key_, {"data", {}, holdout, open}, config_->policy.total,
                                     randomness_.kind(), clock)
                      .value());
  std::set<std::string> dialled;
  for (const net::LinkAddress& one : config_->shufflers) dialled.insert(one.name);
  std::vector<std::unique_ptr<silo::SiloMachine>> machines;
  machines.push_back(std::make_unique<silo::SiloMachine>(silo::SiloMachine::Setup{spec_.id,
                                                                                  config_->policy,
                                                                                  spec_.facts,
                                                                                  spec_.dataset,
                                                                                  *ledger_,
                                                                                  randomness_,
                                                                                  wire::Limits{},
                                                                                  {},
                                                                                  *desk_,
                                                                                  "data",
                                                                                  clock,
                                                                                  dialled}));
  agent_.emplace(std::move(machines));
  host_.emplace(context_, *config_, *agent_, randomness_.kind());
  host_->start().value();
  thread_ = std::thread([this] {
    std::string exception;
    try {
      context_.run();
    } catch (const std::exception& thrown) {  // a process would die of it
      exception = thrown.what();
    }
    ended_.set_value(exception);
  });
}

LoopbackSilo::~LoopbackSilo() {
  boost::asio::post(context_, [this] { host_->stop(); });
  thread_.join();
}

}  // namespace undertone::tests
