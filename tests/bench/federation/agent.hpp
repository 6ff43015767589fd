#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/service/clock.hpp"
#include "silo/host/silo_host.hpp"
#include "silo/oracles/secure_randomness.hpp"
#include "silo/owner/institution.hpp"
#include "simulation/simulated_federation.hpp"

namespace undertone::bench {

/// A real agent with its ledger on disk; many can share a context.
/// @param shufflers that it dials
struct Agent {
  Agent(boost::asio::io_context& context, const simulation::SimulatedSilo& spec, std::uint16_t port,
        const net::TlsFiles& tls, const std::string& consortium, const std::filesystem::path& folder,
        const std::vector<net::LinkAddress>& shufflers = {})
      : silo(spec),
        key(SigningKey::from_seed(std::string(32, 'b')).value()),
        database(store::Database::open(folder / (spec.id.name() + ".sqlite"), store::Database::Sync::Full).value()),
        desk_database(store::Database::in_memory().value()),
        desk(silo::Desk::open(desk_database).value()),
        head(folder / (spec.id.name() + ".head")),
        ledger(silo::Ledger::open(database, head, key,
                                  {"data",
                                   {},
                                   spec.facts.holdout_public ? sha256("holdout") : Digest{},
                                   spec.facts.public_records > 0 ? sha256("public") : Digest{}},
                                  spec.policy.total, randomness.kind(), service::wall_clock)
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
                                                                                    service::wall_clock}));
    agent.emplace(std::move(machines));
    config.emplace(silo::SiloConfig{.id = silo.id,
                                    .consortium = consortium,
                                    .host = "127.0.0.1",
                                    .port = port,
                                    .proxy = {},
                                    .shufflers = shufflers,
                                    .tls = tls,
                                    .datasets = {silo::DatasetConfig{}},
                                    .removed = {},
                                    .policy = silo.policy,
                                    .desk = folder / (silo.id.name() + ".sqlite"),
                                    .statements = folder / "statements",
                                    .reconnect_first = std::chrono::milliseconds(50),
                                    .reconnect_most = std::chrono::milliseconds(500),
                                    .session = {}});
    host.emplace(context, *config, *agent, randomness.kind());
    host->start().value();
  }
  simulation::SimulatedSilo silo;
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

}  // namespace undertone::bench
