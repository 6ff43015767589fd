#include "shuffler/host/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <spdlog/spdlog.h>

#include "shared/base/file_lock.hpp"
#include "shared/base/files.hpp"
#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/base/process_protection.hpp"
#include "shared/certificates/start_up_kit.hpp"
#include "shared/crypto/secure_bits.hpp"
#include "shared/net/serve_loop.hpp"
#include "shared/net/status_socket.hpp"
#include "shared/service/clock.hpp"
#include "shared/service/exit_code.hpp"
#include "shared/service/help_texts.hpp"
#include "shared/service/program.hpp"
#include "shared/service/suggestion.hpp"
#include "shared/store/wiped_memory.hpp"
#include "shuffler/batch/sealed_adder.hpp"
#include "shuffler/host/sealing_key_file.hpp"
#include "shuffler/host/shuffler_host.hpp"

namespace undertone::shuffler {
namespace {

constexpr std::size_t kOtherFiles = 64;  // the store, who is about to be refused

using enum service::ServiceExit::Code;

constexpr const char* kConfigName = "shuffler.json";

int fail(const Error& error, service::ServiceExit::Code code) { return service::kShuffler.fail(error, code); }

/// The store of a shuffler, for one process at a time. Its members refer to each other, so it never moves.
struct Opened {
  std::optional<FileLock> lock;
  std::optional<store::Database> database;
  std::optional<BatchStore> batches;
};

Status open_store(const std::filesystem::path& file, Opened& out) {
  UNDERTONE_TRY(make_folder_for(file));
  UNDERTONE_TRY(FileLock lock, FileLock::acquire(file.string() + ".lock"));
  out.lock.emplace(std::move(lock));
  UNDERTONE_TRY(store::Database database, store::Database::open(file, store::Database::Sync::Full));
  out.database.emplace(std::move(database));
  Result<BatchStore> batches = BatchStore::open(*out.database);
  if (!batches) return Error{batches.error().code, fmt::format("{}: {}", file.string(), batches.error().message)};
  out.batches.emplace(*std::move(batches));
  return {};
}

/// Serves until a signal.
int serve(const std::string& config_file, const std::string& ports_file) {
  outlive_readers();
  const Result<ShufflerConfig> config = load_shuffler_config(config_file);
  if (!config) return fail(config.error(), kCannotStart);
  if (Status allowed = allow_open_files(config->connections_max + kOtherFiles, "connections_max"); !allowed)
    return fail(allowed.error(), kCannotStart);
  Result<sealed::SealingKey> key = load_sealing_key(config->sealing_key);
  if (!key) return fail(key.error(), kCannotStart);
  Opened opened;
  if (const Status done = open_store(config->store, opened); !done) return fail(done.error(), kCannotStart);

  const Digest public_key = public_key_of(*key);
  BitsPermuter permuter(crypto::SecureBits::from_os());
  SealedAdder adder(*std::move(key));
  boost::asio::io_context context(1);
  ShufflerHost host(context, *config, {*opened.batches, permuter, adder, public_key});
  const Result<std::uint16_t> port = host.start();
  if (!port) return fail(port.error(), kCannotStart);
  spdlog::info("listening host={} port={}", config->host, *port);
  net::StatusSocket status(context, net::StatusSocket::beside(config->store),
                           [&] { return fmt::format("listens on port {}\n", *port); });
  if (const Status answers = status.open(); !answers)
    spdlog::warn("no_status reason={}", quoted_text(answers.error().message));
  if (!ports_file.empty()) {
    if (Status written = write_file_atomically(ports_file, fmt::format("{}\n", *port)); !written)
      return fail(written.error(), kCannotStart);
  }
  net::ServeLoop loop(context);
  loop.run_until([&] { return host.failure().has_value(); });
  host.stop();
  loop.send_last_words();
  return host.failure() ? fail(*host.failure(), kCannotStart) : kDone;
}

/// Everything that `run` needs, without serving.
int check(const std::string& config_file) {
  const Result<ShufflerConfig> config = load_shuffler_config(config_file);
  if (!config) return fail(config.error(), kCannotStart);
  const certificates::Party self{config->consortium, certificates::Role::Shuffler, config->name};
  const Result<net::Credentials> credentials = net::Credentials::load(config->tls, net::Side::Server, self);
  if (!credentials) return fail(credentials.error(), kCannotStart);
  const Result<sealed::SealingKey> key = load_sealing_key(config->sealing_key);
  if (!key) return fail(key.error(), kCannotStart);
  fmt::print("{}\ncertificate until {}\npublic key {}\n", describe(self),
             service::utc_minute(credentials->own().not_after), to_hex(public_key_of(*key)));
  if (!std::filesystem::exists(config->store)) {
    fmt::print("{} is not there yet: run makes it\n", config->store.string());
    return kDone;
  }
  if (const Result<FileLock> free = FileLock::acquire(config->store.string() + ".lock"); !free) {
    fmt::print("{}: it is not looked into\n", free.error().message);
    return kDone;
  }
  Opened opened;
  if (const Status done = open_store(config->store, opened); !done) return fail(done.error(), kCannotStart);
  const Result<std::vector<Batch>> batches = opened.batches->load();
  if (!batches) return fail(batches.error(), kCannotStart);
  fmt::print("{} remembers {} runs\n", config->store.string(), batches->size());
  return kDone;
}

/// Whether a shuffler runs on this configuration's store, found out without connecting to it: connections are logged.
int check_health(const std::string& config_file) {
  const Result<ShufflerConfig> config = load_shuffler_config(config_file);
  if (!config) return fail(config.error(), kCannotStart);
  const Result<std::string> said = net::read_status(net::StatusSocket::beside(config->store));
  if (!said) return fail(said.error(), kNo);
  fmt::print("{}", *said);
  return kDone;
}

int show_key(const std::string& config_file) {
  const Result<ShufflerConfig> config = load_shuffler_config(config_file);
  if (!config) return fail(config.error(), kCannotStart);
  const Result<sealed::SealingKey> key = load_or_make_sealing_key(config->sealing_key);
  if (!key) return fail(key.error(), kCannotStart);
  fmt::print("{}\n", to_hex(public_key_of(*key)));
  return kDone;
}

int init(const std::filesystem::path& kit, bool renew) {
  const Result<certificates::Party> party = certificates::read_party(kit);
  if (!party) return fail(party.error(), kCannotStart);
  if (party->role != certificates::Role::Shuffler) {
    return fail({ErrorCode::InvalidConfig, fmt::format("{}: the kit of the {}, expected a shuffler's",
                                                       (kit / certificates::kit::kParty).string(), describe(*party))},
                kCannotStart);
  }
  const Result<certificates::InitDone> done = certificates::init_party(kit, renew);
  if (!done) return fail(done.error(), kCannotStart);
  fmt::print("{}", done->instructions);
  // A certificate's renewal leaves the other key alone: jobs name it.
  if (renew || !std::filesystem::exists(kit / kConfigName)) return kDone;
  const Result<ShufflerConfig> config = load_shuffler_config(kit / kConfigName);
  if (!config) return fail(config.error(), kCannotStart);
  const Result<sealed::SealingKey> key = load_or_make_sealing_key(config->sealing_key);
  if (!key) return fail(key.error(), kCannotStart);
  fmt::print("Jobs whose shares or counts this shuffler adds name it with its public key:\n  {}\n",
             to_hex(public_key_of(*key)));
  return kDone;
}

}  // namespace

int shuffler_main(int argc, char** argv) {
  CLI::App app{
      "Stands between silos and the coordinator: collects a round's sealed replies and forwards them mixed, or added "
      "up, without saying whose they are.\n"
      "Exit codes: 0 done, or told to stop; 1 `health` found none; 2 usage; 3 it could not start or go on.",
      "undertone-shuffler"};
  app.require_subcommand(1);
  app.set_version_flag("--version", service::kShuffler.build());
  const service::HelpCommands help(
      app, "undertone-shuffler", service::kShuffler.build(),
      {{"undertone-shuffler init --kit .", "In the start-up kit's folder: make both keys and a signing request."},
       {"undertone-shuffler key", "The public key that jobs name this shuffler with."},
       {"undertone-shuffler check --config /etc/undertone/shuffler.json",
        "Read configuration, certificate, key and store; nothing is served."},
       {"undertone-shuffler run", "Serve silos and the coordinator until SIGTERM."},
       {"undertone-shuffler health", "Whether a shuffler listens here: for supervisors."}});
  std::string config;
  const auto add = [&](const char* name, const char* about) {
    CLI::App* command = app.add_subcommand(name, about);
    command->add_option("--config", config, "the shuffler's configuration (docs/configuration.md)")
        ->default_val(kConfigName);
    return command;
  };
  CLI::App* run_command = add("run", "Serve silos and the coordinator until SIGTERM");
  std::string ports_file;
  run_command->add_option("--ports-file", ports_file, "write the port that was bound to this file");
  CLI::App* check_command = add("check", "Read configuration, certificate, key and store; nothing is served");
  CLI::App* health_command = add("health", "Say whether a shuffler listens here; for supervisors");
  CLI::App* key_command =
      add("key", "Print the public key that jobs name this shuffler with; made on first use, and never another one");
  std::string kit = ".";
  bool renew = false;
  CLI::App* init_command = app.add_subcommand("init", "Make this shuffler's keys and signing request in its kit");
  init_command->add_option("--kit", kit, "the start-up kit's folder")->capture_default_str();
  init_command->add_flag("--renew", renew, "a new TLS key and request beside the old ones");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kDone;
    if (const std::string meant = service::suggestion(app, argc, argv); !meant.empty())
      fmt::print(stderr, "undertone-shuffler: {}\n", meant);
    return kUsage;
  }
  if (help.print()) return kDone;
  if (const Status guarded = protect_process(); !guarded) return fail(guarded.error(), kCannotStart);
  if (const Status wiping = store::wipe_freed_memory(); !wiping) return fail(wiping.error(), kCannotStart);
  if (init_command->parsed()) return init(kit, renew);
  if (key_command->parsed()) return show_key(config);
  if (check_command->parsed()) return check(config);
  if (health_command->parsed()) return check_health(config);
  if (!run_command->parsed()) return kUsage;
  start_log("shuffler");
  return serve(config, ports_file);
}

}  // namespace undertone::shuffler
