#include "silo/host/agent.hpp"

#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shared/base/byte_stream.hpp"
#include "shared/base/file_lock.hpp"
#include "shared/base/files.hpp"
#include "shared/data/csv_table.hpp"
#include "silo/agent/silo_machine.hpp"
#include "silo/host/silo_host.hpp"

namespace undertone::silo {
namespace {

constexpr std::size_t kCsvBytesMax = std::size_t{4} << 30U;

/// A silo's data with the identity that its ledger knows it by.
struct LoadedDataset {
  data::Dataset dataset;
  DatasetIdentity identity;
};

Result<LoadedDataset> load_dataset(const SiloConfig& config, const SigningKey& key) {
  const Result<std::string> text = read_file(config.csv, kCsvBytesMax);
  if (!text) return text.error();
  const Result<data::CsvTable> table = data::parse_csv(*text, config.csv.string());
  if (!table) return table.error();
  const Result<models::Records> records = data::to_records(*table, config.schema, config.csv.string());
  if (!records) return records.error();
  Result<data::Dataset> dataset = data::split(*records, config.split);
  if (!dataset) return dataset.error();
  ByteWriter content;  // whatever decides which record is in which block, and what is not protected
  content.text(*text);
  content.f64(config.split.holdout_fraction);
  content.u64(config.split.seed);
  content.i64(config.split.records_published.value_or(-1));
  content.u64(config.holdout_public ? 1 : 0);
  DatasetIdentity identity{config.dataset_name, key.keyed_digest("data set", content.bytes()), {}};
  if (config.holdout_public) {
    ByteWriter holdout;
    holdout.doubles(dataset->holdout.features.data(), static_cast<std::size_t>(dataset->holdout.features.size()));
    holdout.doubles(dataset->holdout.targets.data(), static_cast<std::size_t>(dataset->holdout.targets.size()));
    identity.public_holdout = key.keyed_digest("public holdout", holdout.bytes());
  }
  return LoadedDataset{*std::move(dataset), std::move(identity)};
}

/// Everything that using a ledger needs: configuration, lock, key, file, and the data it is for.
struct Institution {
  SiloConfig config;
  FileLock lock;
  SigningKey key;
  store::Database database;
  LoadedDataset loaded;
};

Result<Institution> open_institution(const std::filesystem::path& config_file) {
  Result<SiloConfig> config = load_silo_config(config_file);
  if (!config) return config.error();
  for (const std::filesystem::path& file : {config->ledger, config->ledger_head, config->ledger_key}) {
    if (Status made = make_folder_for(file); !made) return made.error();
  }
  Result<FileLock> lock = FileLock::acquire(config->ledger.string() + ".lock");
  if (!lock) return lock.error();
  if (!std::filesystem::exists(config->ledger_key) && std::filesystem::exists(config->ledger)) {
    return Error{ErrorCode::InvalidConfig,
                 fmt::format("{}: the key of an existing ledger is missing", config->ledger_key.string())};
  }
  Result<SigningKey> key = SigningKey::load_or_create(config->ledger_key);
  if (!key) return key.error();
  Result<LoadedDataset> loaded = load_dataset(*config, *key);
  if (!loaded) return loaded.error();
  Result<store::Database> database = store::Database::open(config->ledger, store::Database::Sync::Full);
  if (!database) return database.error();
  return Institution{*std::move(config), *std::move(lock), *std::move(key), *std::move(database), *std::move(loaded)};
}

int fail(const Error& error, ExitCode code) {
  fmt::print(stderr, "undertone-silo: {}\n", error.message);
  return code;
}

/// Records and keys are in memory: no core dump, and no other process of this user looks in. What is written is the
/// owner's alone.
void protect_process() {
  ::umask(077);
  const rlimit no_core{0, 0};
  if (::prctl(PR_SET_DUMPABLE, 0) != 0 || ::setrlimit(RLIMIT_CORE, &no_core) != 0)
    spdlog::warn("process_not_protected");
}

}  // namespace

int run_agent(const std::filesystem::path& config_file, const MakeRandomness& make_randomness) {
  protect_process();
  Result<Institution> opened = open_institution(config_file);
  if (!opened) return fail(opened.error(), kCannotStart);
  const SiloConfig* config = &opened->config;
  const LoadedDataset* loaded = &opened->loaded;
  const std::unique_ptr<ReleaseRandomness> randomness = make_randomness(config->id);
  FileHeadStore head(config->ledger_head);
  Result<Ledger> ledger =
      Ledger::open(opened->database, head, opened->key, loaded->identity, config->policy.total, randomness->kind());
  if (!ledger)
    return fail(Error{ledger.error().code, fmt::format("{}: {}", config->ledger.string(), ledger.error().message)},
                kCannotStart);

  const DatasetFacts facts{config->schema, loaded->dataset.training.count(), loaded->dataset.holdout.count(),
                           config->holdout_public};
  SiloMachine machine({config->id, config->policy, facts, loaded->dataset, *ledger, *randomness, config->session.wire,
                       config->replaced_ledgers});
  boost::asio::io_context context(1);
  SiloHost host(context, *config, *ledger, machine, randomness->kind());
  if (Status started = host.start(); !started) return fail(started.error(), kCannotStart);
  spdlog::info("silo_started silo={} dataset=\"{}\"", config->id.name(), config->dataset_name);
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    host.stop();
    context.stop();
  });
  while (!host.halted() && context.run_one() > 0) {
  }
  if (host.halted()) {
    context.run_for(std::chrono::milliseconds(200));
    return fail(*host.halted(), kHalted);
  }
  return kStopped;
}

int amend_dataset(const std::filesystem::path& config_file, privacy::NoiseKind noise, bool publish_holdout) {
  Result<Institution> opened = open_institution(config_file);
  if (!opened) return fail(opened.error(), kCannotStart);
  FileHeadStore head(opened->config.ledger_head);
  const Result<bool> amended =
      Ledger::amend(opened->database, head, opened->key, opened->loaded.identity, noise, publish_holdout);
  if (!amended) return fail(amended.error(), kCannotStart);
  fmt::print(
      fmt::runtime(*amended ? "The ledger of \"{}\" now stands for the data set as it is; all spending was carried "
                              "over, runs that were open have ended.\n"
                            : "The data set \"{}\" is what its ledger stands for: nothing was changed.\n"),
      opened->config.dataset_name);
  return kStopped;
}

}  // namespace undertone::silo
