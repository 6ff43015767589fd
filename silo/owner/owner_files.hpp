#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "silo/owner/exit_code.hpp"
#include "silo/owner/institution.hpp"
#include "silo/owner/owner_commands.hpp"

/// What the owner's commands share.
namespace undertone::silo {

/// "3f2a…": the nonce's beginning tells runs apart, the job's digest does not tell runs of one job apart.
[[nodiscard]] std::string short_name(const RunId& run);

/// A run that the ledgers or the desk know.
struct KnownRun {
  RunId run;
  std::string dataset;
  std::string state;
  std::string name;
  std::optional<jobs::Job> job;
  std::string job_bytes;
  const RunAccount* account = nullptr;  // null: not in the ledger
  std::string at;        // UTC: when it was offered first, accepted, refused last, or ended; empty where nobody kept it
  std::string kind;      // of a refusal: "policy", "budget", ...
  std::string reason;    // of a refusal or an end, in full
  double epsilon = 0.0;  // that the job asks for
  double delta = 0.0;
};

/// What the agent's files say, read once for one command.
struct Files {
  SiloConfig config;
  DeskFile desk;
  std::map<std::string, LedgerView> ledgers;  // by data set; those that exist
  std::vector<KnownRun> runs;                 // newest first
};

[[nodiscard]] Result<Files> open_files(const OwnerOptions& options);
/// The one run in one of these states that the owner's word names: the beginning of an id, or a job's name.
[[nodiscard]] Result<const KnownRun*> find_run(const Files& files, const std::string& word,
                                               const std::vector<std::string>& states);
/// What the ledgers and the desk know of runs, newest first.
[[nodiscard]] Result<std::vector<KnownRun>> known_runs(Desk& desk, const std::map<std::string, LedgerView>& ledgers,
                                                       const SiloId& silo);
[[nodiscard]] const DatasetConfig* config_of(const SiloConfig& config, const std::string& dataset);
/// What the ledger has of the data set, or nothing reserved where it has not begun.
[[nodiscard]] Budget reserved_of(const Files& files, const std::string& dataset);
/// The data set's filter; null where it has none.
[[nodiscard]] const silo::GaussianFilter* filter_of(const Files& files, const std::string& dataset);
[[nodiscard]] nlohmann::ordered_json amounts(const releases::EpsilonAmount& epsilon,
                                             const releases::DeltaAmount& delta);

}  // namespace undertone::silo
