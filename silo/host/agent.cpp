#include "silo/host/agent.hpp"

#include <cstdlib>
#include <optional>
#include <spdlog/spdlog.h>

#include "shared/base/log.hpp"
#include "shared/base/plain_text.hpp"
#include "shared/base/profile.hpp"
#include "shared/net/serve_loop.hpp"
#include "shared/service/clock.hpp"
#include "silo/agent/silo_agent.hpp"
#include "silo/host/silo_host.hpp"
#include "silo/owner/exit_code.hpp"
#include "silo/owner/institution.hpp"

namespace undertone::silo {
namespace {

/// A data set that is served. The ledger refers to the files, so this never moves.
struct Served {
  LedgerFiles files;
  LoadedDataset loaded;
  std::optional<Ledger> ledger;
  RoomReserve room;
};

Result<std::unique_ptr<Served>> open_dataset(const DatasetConfig& dataset, const Policy& policy,
                                             crypto::NoiseKind noise) {
  UNDERTONE_TRY(LedgerFiles files, open_ledger_files(dataset));
  UNDERTONE_TRY(LoadedDataset loaded, load_dataset(dataset, files.key, progress_line()));
  auto served =
      std::make_unique<Served>(Served{std::move(files), std::move(loaded), std::nullopt, RoomReserve(dataset.ledger)});
  Result<Ledger> ledger = Ledger::open(served->files.database, *served->files.head, served->files.key,
                                       served->loaded.identity, policy.total, noise, service::wall_clock);
  if (!ledger)
    return of_ledger({ledger.error().code, fmt::format("{}: {}", dataset.ledger.string(), ledger.error().message)});
  served->ledger.emplace(*std::move(ledger));
  return served;
}

}  // namespace

int run_agent(const std::filesystem::path& config_file, const MakeRandomness& make_randomness, bool profile) {
  outlive_readers();
  const Profile profiled(profile);
  const Result<SiloConfig> config = load_silo_config(config_file);
  if (!config) return fail(config.error(), kCannotStart);
  Result<DeskFile> desk = open_desk(*config);
  if (!desk) return fail(desk.error(), kCannotStart);
  const std::unique_ptr<ReleaseRandomness> randomness = make_randomness(config->id);

  std::vector<std::unique_ptr<Served>> served;
  std::set<Digest> ledgers;
  for (const DatasetConfig& dataset : config->datasets) {
    Result<std::unique_ptr<Served>> opened = open_dataset(dataset, config->policy, randomness->kind());
    if (!opened) return fail(opened.error(), exit_code_of(opened.error()));
    ledgers.insert((*opened)->ledger->id());
    ledgers.insert(dataset.replaced_ledgers.begin(), dataset.replaced_ledgers.end());
    served.push_back(*std::move(opened));
  }
  for (const RemovedDataset& removed : config->removed) ledgers.insert(removed.id);
  std::set<std::string> dialled;
  for (const net::LinkAddress& shuffler : config->shufflers) dialled.insert(shuffler.name);
  std::vector<std::unique_ptr<SiloMachine>> machines;
  for (std::size_t i = 0; i < served.size(); ++i) {
    const DatasetConfig& dataset = config->datasets[i];
    const data::Dataset& records = served[i]->loaded.dataset;
    const DatasetFacts facts{
        dataset.schema,         records.count(releases::Block::Training), records.count(releases::Block::Holdout),
        dataset.holdout_public, records.count(releases::Block::Public),   dataset.unit()};
    machines.push_back(std::make_unique<SiloMachine>(SiloMachine::Setup{
        config->id, config->policy, facts, records, *served[i]->ledger, *randomness, config->session.wire, ledgers,
        *desk->desk, dataset.name, service::wall_clock, dialled, jobs::plan_of, &served[i]->room, dataset.permit}));
    spdlog::info("dataset_ready dataset={}", quoted_text(dataset.name));
  }
  SiloAgent agent(std::move(machines));
  boost::asio::io_context context(1);
  SiloHost host(context, *config, agent, randomness->kind());
  if (Status started = host.start(); !started) return fail(started.error(), kCannotStart);
  spdlog::info("silo_started silo={} datasets={}", config->id.name(), config->datasets.size());
  net::ServeLoop loop(context);
  loop.run_until([&] { return host.halted().has_value(); });
  if (loop.interrupted()) host.stop();
  if (!host.halted() && host.computes()) {
    // An answer may take minutes. What is not committed was seen by nobody, as after any death.
    loop.send_last_words();
    spdlog::info("answer_given_up reason=\"the agent stops\"");
    spdlog::shutdown();
    std::_Exit(kDone);
  }
  if (!host.halted()) return kDone;
  loop.send_last_words();
  return fail(*host.halted(), kHalted);
}

}  // namespace undertone::silo
