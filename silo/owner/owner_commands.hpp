#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shared/crypto/noise_kind.hpp"
#include "shared/data/csv_dialect.hpp"

/// What an institution's administrator does with the agent's files, beside the running agent or without it. Each
/// returns an exit code and prints for people, or JSON where `json` asks for it.
namespace undertone::silo {

struct OwnerOptions {
  std::filesystem::path config;
  crypto::NoiseKind noise = crypto::NoiseKind::Secure;  // of this build of the agent
  bool json = false;
  bool yes = false;                     // no question is asked
  std::string job;                      // a run's hexadecimal prefix, or a job's name
  std::string dataset;                  // a data set's name; empty: the only one, or all
  std::filesystem::path job_file = {};  // of `check`: a job that nobody has offered
  bool connect = false;                 // of `check`: the way to the services is tried, too
};

/// Makes a key and a signing request from a start-up kit. @param renew with a new key beside the old one
[[nodiscard]] int init_party(const std::filesystem::path& kit, bool renew);
/// Reads the data as `run` would, and shows what would be used. Values appear on a terminal alone (decision 12).
[[nodiscard]] int check_data(const OwnerOptions& options);
/// Prints names of jobs for a shell that completes `options.job`. It says nothing of what goes wrong.
[[nodiscard]] int complete_jobs(const OwnerOptions& options);
[[nodiscard]] int list_jobs(const OwnerOptions& options);
[[nodiscard]] int approve_job(const OwnerOptions& options);
/// @param reason in the owner's words; empty: none
[[nodiscard]] int refuse_job(const OwnerOptions& options, const std::string& reason);
[[nodiscard]] int withdraw_job(const OwnerOptions& options);
/// Exactly what left for a run, when. @param values the numbers too
[[nodiscard]] int list_releases(const OwnerOptions& options, bool values);
[[nodiscard]] int show_ledger(const OwnerOptions& options);
[[nodiscard]] int verify_ledgers(const OwnerOptions& options);
/// Every entry as a JSON line, for an auditor.
[[nodiscard]] int export_ledger(const OwnerOptions& options, const std::filesystem::path& out);
[[nodiscard]] int show_budget(const OwnerOptions& options);
/// Whether an agent on this machine is connected to the coordinator, or to the proxy on the way, and the disks of what
/// it commits have room; nothing is opened.
[[nodiscard]] int check_health(const OwnerOptions& options);
[[nodiscard]] int set_paused(const OwnerOptions& options, bool paused);
[[nodiscard]] int list_datasets(const OwnerOptions& options);
/// Where rows come from, as options say it: exactly one of csv, parquet and query.
struct SourceOptions {
  std::filesystem::path csv = {};
  std::filesystem::path parquet = {};
  std::filesystem::path query = {};
  std::filesystem::path connection = {};  // of query: its file, or the variable of the environment
  std::string variable = {};
  std::vector<std::string> parameters = {};  // "name=value"
  std::optional<std::int64_t> rows_max = {};
  std::optional<std::int64_t> seconds_max = {};
};
/// What a data set's draft is made of.
struct DraftedDataset {
  SourceOptions source = {};
  std::string label = {};             // the target's column; empty: the owner names it later
  data::DialectOptions dialect = {};  // what is not said is guessed
  std::filesystem::path out = {};     // empty: the terminal
};
/// Guesses a schema from a file and writes it with its bounds left blank. What the file holds is told on a terminal
/// alone.
[[nodiscard]] int draft_dataset(const DraftedDataset& drafted);
/// Enters a data set into the configuration and begins its ledger.
struct NewDataset {
  SourceOptions source = {};
  std::filesystem::path schema = {};  // a JSON file: {"label", "features"}, a job or a draft, which have them as "data"
  data::DialectOptions dialect = {};  // of a CSV file, where the schema's file does not say it
  std::string instead_of = {};        // a data set whose ledger was never charged, and goes; empty: none
  std::filesystem::path map = {};     // a JSON file {"map": [...]}: how columns become the schema's; empty: they are
  std::optional<double> holdout_fraction = {};  // none: the owner is asked
  std::uint64_t holdout_seed = 1;
  bool holdout_public = false;
  std::filesystem::path public_file = {};  // all of whose records are public; empty: none
  std::string public_column = {};          // or the column of the source that marks public records, and with what
  std::string public_value = {};
  std::string person_column = {};     // whose each record is, where persons are protected; empty: records are
  std::string without_id = "refuse";  // or "alone"
};
[[nodiscard]] int add_dataset(const OwnerOptions& options, const NewDataset& dataset);
/// Takes a data set out of the configuration. Its ledger, head and key stay where they are, and so does what its
/// records have spent: added again by its name, it goes on with them.
[[nodiscard]] int remove_dataset(const OwnerOptions& options);
/// Records that the owner changed the data set. @see Ledger::amend for `publish_holdout`
[[nodiscard]] int amend_dataset(const OwnerOptions& options, bool publish_holdout);
/// Says that a data set's ledger was moved with its head, and that no copy is left where they were.
[[nodiscard]] int move_dataset(const OwnerOptions& options);
/// What a filter is given.
struct FilterGrant {
  std::optional<double> epsilon;  // both, or neither with `everything`
  std::optional<double> delta;
  bool everything = false;  // all that the policy has left
  bool another = false;     // even though the present filter has spent nothing
};
/// Switches a data set to a filter.
[[nodiscard]] int filter_dataset(const OwnerOptions& options, const FilterGrant& wanted);

}  // namespace undertone::silo
