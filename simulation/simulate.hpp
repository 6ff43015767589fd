#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/jobs/result.hpp"
#include "shared/base/result.hpp"
#include "shared/data/frame.hpp"
#include "simulation/simulated_federation.hpp"

namespace undertone::simulation {

struct SimulationSettings {
  std::uint64_t seed = 0;
  std::optional<Nonce> nonce;
  SimulatedNoise noise = SimulatedNoise::Seeded;
  bool direct = false;        // without messages and ledgers, as shuffled jobs and baselines always: @see DirectCohort
  std::size_t answering = 0;  // of direct simulations
  std::size_t threads = 1;    // of direct simulations
  /// Asked after every round, or more often, whether the rest is not wanted: the simulation then ends with an error of
  /// code Cancelled. Empty: never.
  std::function<bool()> stop = {};
};

struct SimulateOptions : SimulationSettings {
  std::filesystem::path job;
  std::vector<std::string> set;  // "/json/pointer=value", the value JSON or else a text
};

/// A job file with some of its values replaced, or a section added that it has left out, and its noise marked as a
/// test's.
/// @return the bytes that are run: those of the file where nothing had to change
[[nodiscard]] Result<std::string> job_for_simulation(const std::string& bytes, const std::string& file,
                                                     const std::vector<std::string>& set);

/// The silos of a job with their data, dealt from the job's simulation section as `undertone partition` deals them.
[[nodiscard]] Result<std::vector<SimulatedSilo>> silos_of(const jobs::Job& job, const std::filesystem::path& job_file);

/// A silo's table in memory, in place of what a simulation section says.
struct SiloTable {
  SiloId silo;
  data::Frame records;
  std::optional<data::Frame> holdout = {};         // where it is a table of its own, and none of `records`
  std::optional<data::Frame> public_records = {};  // where its owner declared some
  std::vector<std::string> persons = {};           // of each row whose it is, where persons are protected
};

/// The silos of a job with their data from memory. Each divides its records, or persons, into training and holdout as
/// one would that was dealt the same table by the job's simulation section; without that section by the seed 0.
/// @param tables one for each silo of the cohort, in any order
/// @return an error where a table is missing, cannot be read or has other numbers of records than the cohort says
[[nodiscard]] Result<std::vector<SimulatedSilo>> silos_with(const jobs::Job& job, const std::vector<SiloTable>& tables);

/// Whether a job's simulation section gives the same record to several silos, whose epsilons then bound nothing that
/// they say of it together: whoever shows a result has to say so (decision 14).
[[nodiscard]] bool shares_records(const std::filesystem::path& job_file);

/// Of a round that is over.
struct SimulatedRound {
  RoundIndex round;
  std::uint64_t rounds = 0;                       // of the whole run
  std::optional<algorithms::MetricsRow> metrics;  // where it was an evaluation
};
using SimulationWatch = std::function<void(const SimulatedRound& over, const jobs::Job& job)>;

/// Runs a job in this process.
/// @param bytes the job's text; @param name of its file, for errors; @param folder where its public records are
/// @param watch sees every round; may be empty
/// @return what a result is made of, which refers to the job; an error where nothing was run, or `stop` said so
[[nodiscard]] Result<coordinator::RunReport> run_job(const jobs::Job& job, const std::string& bytes,
                                                     const std::string& name, const std::filesystem::path& folder,
                                                     std::vector<SimulatedSilo> silos,
                                                     const SimulationSettings& settings, const SimulationWatch& watch);

/// Runs a job in this process and writes its results, with the job as it was run.
/// @param watch sees every round; may be empty
[[nodiscard]] Result<algorithms::Outcome> simulate(const SimulateOptions& options,
                                                   const std::optional<std::filesystem::path>& out,
                                                   const SimulationWatch& watch);

/// The same data with minibatch SGD that clips nothing and adds no noise, run to convergence: what privacy cost.
/// @return the last evaluation
[[nodiscard]] Result<algorithms::MetricsRow> simulate_without_privacy(const std::filesystem::path& job);

/// Writes NAME.csv for every silo of the job. @return the files
[[nodiscard]] Result<std::vector<std::filesystem::path>> partition(const std::filesystem::path& job_file,
                                                                   const std::filesystem::path& out);

}  // namespace undertone::simulation
