#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <spdlog/spdlog.h>

#include "coordinator/host/coordinator_host.hpp"
#include "coordinator/jobs/result.hpp"
#include "shared/base/file_lock.hpp"
#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "shared/privacy/secure_bits.hpp"

namespace undertone::coordinator {
namespace {

enum ExitCode { kSucceeded = 0, kRunFailed = 1, kUsage = 2, kCannotStart = 3, kStopped = 4 };

struct Options {
  std::string config;
  std::string job;
  std::string nonce;
  std::string port_file;
  bool again = false;
};

int fail(const Error& error, ExitCode code) {
  fmt::print(stderr, "undertone-coordinator: {}\n", error.message);
  return code;
}

Result<Nonce> nonce_of(const std::string& hex) {
  Nonce nonce{};
  if (hex.empty()) {
    privacy::SecureBits bits = privacy::SecureBits::from_os();
    for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<std::uint8_t>(bits.word());
    return nonce;
  }
  const Result<std::string> bytes = from_hex(hex);
  if (!bytes || bytes->size() != nonce.size())
    return Error{ErrorCode::InvalidArgument, "--nonce: expected 32 hexadecimal digits"};
  std::copy(bytes->begin(), bytes->end(), nonce.begin());
  return nonce;
}

/// A line for whoever watches, on standard output.
void show(const RunMachine& machine, const RunMachine::RoundClosed& closed) {
  std::string line = fmt::format("round {:>4}/{}  silos {}/{}", closed.round.value + 1, closed.rounds, closed.replies,
                                 machine.job().cohort.size());
  for (const SiloId& silo : closed.missing) line += fmt::format("  missing {}", silo.name());
  if (closed.metrics) {
    const std::vector<std::string_view> names = machine.job().model.metric_names();
    for (std::size_t m = 0; m < names.size(); ++m)
      line += fmt::format("  {} {:.4f}", names[m], closed.metrics->values[m]);
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int run(const Options& options) {
  const Result<CoordinatorConfig> config = load_coordinator_config(options.config);
  if (!config) return fail(config.error(), kCannotStart);
  Result<std::string> job = read_file(options.job, 16U << 20U);
  if (!job) return fail(job.error(), kCannotStart);
  const Result<Nonce> nonce = nonce_of(options.nonce);
  if (!nonce) return fail(nonce.error(), kUsage);
  if (Status made = make_folder_for(config->store); !made) return fail(made.error(), kCannotStart);
  const Result<FileLock> lock = FileLock::acquire(config->store.string() + ".lock");
  if (!lock) return fail(lock.error(), kCannotStart);
  Result<store::Database> database = store::Database::open(config->store, store::Database::Sync::Full);
  if (!database) return fail(database.error(), kCannotStart);
  Result<RunStore> store = RunStore::open(*database);
  if (!store) return fail(store.error(), kCannotStart);
  Result<RunMachine> machine =
      RunMachine::create(*store, *std::move(job), options.job, *nonce, !options.again, config->session.wire);
  if (!machine) return fail(machine.error(), kCannotStart);

  boost::asio::io_context context(1);
  std::optional<Error> not_written;
  CoordinatorHost host(context, *config, *store, *machine, [&](const RunMachine::Action& action) {
    if (const auto* tell = std::get_if<RunMachine::Tell>(&action)) log_event(tell->warning, tell->event);
    if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&action)) show(*machine, *closed);
    const auto* ended = std::get_if<RunMachine::Ended>(&action);
    if (ended == nullptr) return;
    const Result<std::vector<RoundRecord>> rounds = store->rounds(machine->run());
    const RunReport report{
        machine->job(),    machine->run(), "tcp", false, ended->outcome, rounds ? *rounds : std::vector<RoundRecord>(),
        machine->answers()};
    const Status written = write_results(config->results, report);
    if (!written) not_written = written.error();
  });
  const Result<std::uint16_t> port = host.start();
  if (!port) return fail(port.error(), kCannotStart);
  spdlog::info("listening host={} port={}", config->host, *port);
  if (!options.port_file.empty()) {
    if (Status written = write_file_atomically(options.port_file, std::to_string(*port)); !written)
      return fail(written.error(), kCannotStart);
  }
  bool interrupted = false;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    interrupted = true;
    context.stop();
  });
  while (!interrupted && !host.outcome() && context.run_one() > 0) {
  }
  // The run is over: the silos hear of it, and nothing else keeps the process.
  while (!interrupted && machine->phase() != RunMachine::Phase::Done && !host.failure() && context.run_one() > 0) {
  }
  if (!interrupted) context.run_for(std::chrono::milliseconds(200));
  if (host.failure()) return fail(*host.failure(), kCannotStart);
  if (not_written) return fail(*not_written, kCannotStart);
  if (interrupted) return kStopped;
  if (!host.outcome()->has_value()) return fail(host.outcome()->error(), kRunFailed);
  fmt::print("result {}\n", (config->results / "result.json").string());
  return kSucceeded;
}

}  // namespace
}  // namespace undertone::coordinator

int main(int argc, char** argv) {
  using namespace undertone::coordinator;
  Options options;
  CLI::App app{
      "Runs one job with the silos that connect. Restarted after a crash, it continues the job where it stood.\n"
      "Exit codes: 0 the run succeeded, 1 it failed, 2 usage, 3 it could not start, 4 it was told to stop."};
  app.add_option("--config", options.config, "the coordinator's configuration (docs/configuration.md)")->required();
  app.add_option("--job", options.job, "the job's file")->required();
  app.add_flag("--again", options.again, "begin a new run even if this job has ended before");
  app.add_option("--nonce", options.nonce,
                 "the run's nonce, 32 hexadecimal digits; drawn if not given (for reproducible tests)");
  app.add_option("--port-file", options.port_file, "write the port that was bound to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  undertone::start_log("coordinator");
  try {
    return run(options);
  } catch (const std::exception& exception) {
    fmt::print(stderr, "undertone-coordinator: {}\n", exception.what());
    return kCannotStart;
  }
}
