#include "coordinator/host/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <spdlog/spdlog.h>

#include "coordinator/host/coordinator_host.hpp"
#include "shared/base/file_lock.hpp"
#include "shared/base/files.hpp"
#include "shared/base/large_memory.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/base/process_protection.hpp"
#include "shared/base/profile.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/jobs/metric_values.hpp"
#include "shared/net/http_client.hpp"
#include "shared/net/serve_loop.hpp"
#include "shared/net/status_socket.hpp"
#include "shared/service/exit_code.hpp"
#include "shared/service/help_texts.hpp"
#include "shared/service/program.hpp"
#include "shared/service/suggestion.hpp"
#include "shared/store/wiped_memory.hpp"

namespace undertone::coordinator {
namespace {

constexpr std::size_t kOtherFiles = 256;  // stores, results, links to shufflers, who is about to be refused

using enum service::ServiceExit::Code;

struct Options {
  std::string config;
  std::string job;  // `run`: one job, then exit
  std::string nonce;
  std::string ports_file;
  bool again = false;
  bool profile = false;
};

int fail(const Error& error, service::ServiceExit::Code code) { return service::kCoordinator.fail(error, code); }

Result<Nonce> nonce_of(const std::string& hex) {
  if (hex.empty()) return draw_nonce();
  Nonce nonce{};
  const Result<std::string> bytes = from_hex(hex);
  if (!bytes || bytes->size() != nonce.size())
    return Error{ErrorCode::InvalidArgument, "--nonce: expected 32 hexadecimal digits"};
  std::copy(bytes->begin(), bytes->end(), nonce.begin());
  return nonce;
}

/// A line for whoever watches, on standard output.
void show(const jobs::Job& job, const RunMachine::RoundClosed& closed) {
  std::string line = fmt::format("round {:>4}/{}  silos {}/{}", closed.round.value + 1, closed.rounds, closed.replies,
                                 job.cohort.size());
  for (const SiloId& silo : closed.missing) line += fmt::format("  missing {}", silo.name());
  if (closed.metrics) line += jobs::shown_values(jobs::metric_values(job, *closed.metrics));
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

/// It holds keys that replies are sealed to.
Result<store::Database> open_store(const std::filesystem::path& file) {
  UNDERTONE_TRY(make_private_file(file));
  return store::Database::open(file, store::Database::Sync::Full);
}

/// Serves until a signal, or until the run of `options.job` is over if there is one.
int serve(const Options& options) {
  outlive_readers();
  const Profile profiled(options.profile);
  const Result<CoordinatorConfig> config = load_coordinator_config(options.config);
  if (!config) return fail(config.error(), kCannotStart);
  const std::size_t connections = config->connections_max + (config->http ? config->http->connections_max : 0);
  if (Status allowed = allow_open_files(connections + kOtherFiles, "connections_max"); !allowed)
    return fail(allowed.error(), kCannotStart);
  std::optional<std::string> job_bytes;
  std::optional<jobs::Job> job;
  const Result<Nonce> nonce = nonce_of(options.nonce);
  if (!nonce) return fail(nonce.error(), kUsage);
  if (!options.job.empty()) {
    Result<std::string> bytes = read_file(options.job, jobs::kJobBytesMax);
    if (!bytes) return fail(bytes.error(), kCannotStart);
    Result<jobs::Job> parsed = jobs::parse_job(*bytes, options.job);
    if (!parsed) return fail(parsed.error(), kCannotStart);
    job_bytes = *std::move(bytes);
    job.emplace(*std::move(parsed));
  }
  if (Status made = make_folder_for(config->store); !made) return fail(made.error(), kCannotStart);
  const Result<FileLock> lock = FileLock::acquire(config->store.string() + ".lock");
  if (!lock) return fail(lock.error(), kCannotStart);
  Result<store::Database> database = open_store(config->store);
  if (!database) return fail(database.error(), kCannotStart);
  Result<RunStore> store = RunStore::open(*database);
  if (!store)
    return fail(Error{store.error().code, fmt::format("{}: {}", config->store.string(), store.error().message)},
                kCannotStart);

  boost::asio::io_context context(1);
  std::optional<RunId> own_run;
  std::optional<Result<algorithms::Outcome>> outcome;
  std::optional<algorithms::MetricsRow> evaluated;  // last
  bool over = false;
  CoordinatorHost host(context, *config, *store, [&](const JobService::OfRun& said) {
    if (!job || said.run.job != sha256(*job_bytes)) return;
    if (const auto* closed = std::get_if<RunMachine::RoundClosed>(&said.what)) {
      show(*job, *closed);
      if (closed->metrics) evaluated = closed->metrics;
    }
    if (const auto* ended = std::get_if<RunMachine::Ended>(&said.what)) outcome.emplace(ended->outcome);
    if (std::holds_alternative<RunMachine::Goodbye>(said.what)) over = true;
  });
  const Result<CoordinatorHost::Ports> ports = host.start();
  if (!ports) return fail(ports.error(), kCannotStart);
  spdlog::info("listening host={} port={} http_port={}", config->host, ports->silos, ports->http);
  net::StatusSocket status(context, net::StatusSocket::beside(config->store),
                           [&] { return fmt::format("listens on port {}\n", ports->silos); });
  if (const Status opened = status.open(); !opened)
    spdlog::warn("no_status reason={}", quoted_text(opened.error().message));
  if (!options.ports_file.empty()) {
    const std::string text = fmt::format("{} {}\n", ports->silos, ports->http);
    if (Status written = write_file_atomically(options.ports_file, text); !written)
      return fail(written.error(), kCannotStart);
  }
  if (job_bytes) {
    const Result<JobService::Submitted> submitted = host.submit(*job_bytes, options.job, *nonce, options.again);
    if (!submitted) return fail(submitted.error(), kCannotStart);
    own_run = submitted->run;
    if (!submitted->created && host.service().machine(*own_run) == nullptr && !outcome) {
      const Result<std::optional<RunRecord>> record = store->find(*own_run);  // it ended before this process began
      if (record && *record && is_end((**record).state)) {
        while (host.is_writing() && context.run_one() > 0) {
        }
        fmt::print("this job has ended before: {}; --again runs it again\n", to_string((**record).state));
        fmt::print("result {}\n", (host.results_of(*own_run) / "result.json").string());
        return (**record).state == RunState::Succeeded ? kDone : kNo;
      }
    }
  }
  net::ServeLoop loop(context);
  loop.run_until([&] { return (over && outcome) || host.failure(); });
  host.stop();
  loop.send_last_words();
  if (host.failure()) return fail(*host.failure(), kCannotStart);
  if (!job) return kDone;
  if (loop.interrupted()) return kInterrupted;
  if (!outcome || !outcome->has_value())
    return fail(outcome ? outcome->error() : Error{ErrorCode::Internal, "the run has no outcome"}, kNo);
  for (const std::string& verdict : evaluated ? jobs::verdicts(*job, *evaluated) : std::vector<std::string>())
    fmt::print("{}\n", verdict);
  fmt::print("result {}\n", (host.results_of(*own_run) / "result.json").string());
  return kDone;
}

int backup(const Options& options, const std::string& out) {
  const Result<CoordinatorConfig> config = load_coordinator_config(options.config);
  if (!config) return fail(config.error(), kCannotStart);
  Result<store::Database> database = store::Database::open_to_read(config->store);
  if (!database) return fail(database.error(), kCannotStart);
  if (Status copied = database->copy_to(out); !copied) return fail(copied.error(), kCannotStart);
  if (Status made = make_private_file(out); !made) return fail(made.error(), kCannotStart);
  fmt::print("{} is a whole copy of {} as of now.\n", out, config->store.string());
  return kDone;
}

int show_sealing_key(const Options& options) {
  const Result<CoordinatorConfig> config = load_coordinator_config(options.config);
  if (!config) return fail(config.error(), kCannotStart);
  if (Status made = make_folder_for(config->store); !made) return fail(made.error(), kCannotStart);
  Result<store::Database> database = open_store(config->store);
  if (!database) return fail(database.error(), kCannotStart);
  Result<RunStore> store = RunStore::open(*database);
  if (!store) return fail(store.error(), kCannotStart);
  const Result<Digest> fingerprint = make_sealing_key(*store);
  if (!fingerprint) return fail(fingerprint.error(), kCannotStart);
  fmt::print("{}\n", to_hex(*fingerprint));
  return kDone;
}

/// Whether the service that this configuration is for answers on this machine, as this party's certificate lets it be
/// asked. Without an HTTP service: whether a coordinator runs on its store and listens for silos.
int check_health(const Options& options) {
  const Result<CoordinatorConfig> config = load_coordinator_config(options.config);
  if (!config) return fail(config.error(), kCannotStart);
  if (!config->http) {
    const Result<std::string> said = net::read_status(net::StatusSocket::beside(config->store));
    if (!said) return fail(said.error(), kNo);
    fmt::print("{}", *said);
    return kDone;
  }
  std::optional<net::Credentials> credentials;
  if (config->http->tls) {
    const Result<certificates::CertificateFacts> own = certificates::load_certificate(config->tls.certificate);
    if (!own) return fail(own.error(), kCannotStart);
    Result<net::Credentials> loaded = net::Credentials::load(config->tls, net::Side::Client, own->party);
    if (!loaded) return fail(loaded.error(), kCannotStart);
    credentials.emplace(*std::move(loaded));
  }
  const std::string& bound = config->http->host;
  const std::string host = bound == "0.0.0.0" ? "127.0.0.1" : bound == "::" ? "::1" : bound;
  const net::HttpClient client({config->http->tls, host, std::to_string(config->http->port)},
                               credentials ? &*credentials : nullptr, config->consortium, "", std::chrono::seconds(5));
  const Result<net::HttpAnswer> answer = client.request("GET", "/healthz", "");
  if (!answer) return fail(answer.error(), kNo);
  if (answer->status != 200)
    return fail({ErrorCode::Unreachable, fmt::format("/healthz answered {}", answer->status)}, kNo);
  fmt::print("{}", answer->body);
  return kDone;
}

int init(const std::string& kit, bool renew) {
  const Result<certificates::InitDone> done = certificates::init_party(kit, renew);
  if (!done) return fail(done.error(), kCannotStart);
  fmt::print("{}", done->instructions);
  return kDone;
}

}  // namespace

int coordinator_main(int argc, char** argv) {
  CLI::App app{
      "Drives a consortium's training jobs: queues them, asks the silos, folds what they answer.\n"
      "Exit codes: 0 done, or told to stop; 1 the run of `run` failed, or `health` found none; 2 usage; 3 it could not "
      "start or go on; 4 `run` "
      "was told to stop.",
      "undertone-coordinator"};
  app.require_subcommand(1);
  app.set_version_flag("--version", service::kCoordinator.build());
  const service::HelpCommands help(
      app, "undertone-coordinator", service::kCoordinator.build(),
      {{"undertone-coordinator init --kit .", "In the start-up kit's folder: make the key and a signing request."},
       {"undertone-coordinator serve", "Serve silos and operators as coordinator.json says, until SIGTERM."},
       {"undertone-coordinator health --config /etc/undertone/coordinator.json",
        "Ask the service that runs here whether it is well: for supervisors."},
       {"undertone-coordinator backup --out backup.sqlite", "A whole copy of the store, while it is in use."},
       {"undertone-coordinator sealing-key", "A key for the jobs whose replies are sealed to this coordinator."},
       {"undertone-coordinator run --job job.json",
        "Run one job and exit; started again after a crash, it goes on where it stood."}});
  Options options;
  const auto add = [&](const char* name, const char* about) {
    CLI::App* command = app.add_subcommand(name, about);
    command->add_option("--config", options.config, "the coordinator's configuration (docs/configuration.md)")
        ->default_val("coordinator.json");
    return command;
  };
  CLI::App* serve_command = add("serve", "Serve silos and operators until SIGTERM");
  CLI::App* run_command = add("run", "Run one job and exit; restarted after a crash, it goes on where it stood");
  run_command->add_option("--job", options.job, "the job's file")->required();
  run_command->add_flag("--again", options.again, "begin a new run even if this job has ended before");
  run_command->add_option("--nonce", options.nonce,
                          "the run's nonce, 32 hexadecimal digits; drawn if not given (for reproducible tests)");
  for (CLI::App* command : {serve_command, run_command}) {
    command->add_option("--ports-file", options.ports_file, "write the ports that were bound to this file");
    command->add_flag("--profile", options.profile, "log at the end what the time went into");
  }
  std::string out;
  CLI::App* backup_command = add("backup", "Copy the store while it is in use");
  backup_command->add_option("--out", out, "a file that does not exist yet")->required();
  CLI::App* key_command =
      add("sealing-key", "Draw a key that a shuffled job's replies are sealed to, and print what the job calls it");
  CLI::App* health_command = add("health", "Ask the service that runs here whether it is well; for supervisors");
  std::string kit = ".";
  bool renew = false;
  CLI::App* init_command = app.add_subcommand("init", "Make this coordinator's key and signing request in its kit");
  init_command->add_option("--kit", kit, "the start-up kit's folder")->capture_default_str();
  init_command->add_flag("--renew", renew, "a new key and request beside the old ones");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kDone;
    if (const std::string meant = service::suggestion(app, argc, argv); !meant.empty())
      fmt::print(stderr, "undertone-coordinator: {}\n", meant);
    return kUsage;
  }
  if (help.print()) return kDone;
  if (const Status guarded = protect_process(); !guarded) return fail(guarded.error(), kCannotStart);
  if (const Status wiping = store::wipe_freed_memory(); !wiping) return fail(wiping.error(), kCannotStart);
  if (init_command->parsed()) return init(kit, renew);
  if (backup_command->parsed()) return backup(options, out);
  if (health_command->parsed()) return check_health(options);
  if (key_command->parsed()) return show_sealing_key(options);
  start_log("coordinator");
  return serve(options);
}

}  // namespace undertone::coordinator
