#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.hpp"
#include "simulation/simulated_federation.hpp"

namespace undertone::simulation {

struct SimulateOptions {
  std::filesystem::path job;
  std::uint64_t seed = 0;
  std::vector<std::string> set;  // "/json/pointer=value", the value JSON or else a text
  std::optional<Nonce> nonce;
  SimulatedNoise noise = SimulatedNoise::Seeded;
  bool direct = false;        // without messages and ledgers, as shuffled jobs and baselines always: @see DirectCohort
  std::size_t answering = 0;  // of direct simulations
  std::size_t threads = 1;    // of direct simulations
};

/// A job file with some of its values replaced, or a section added that it has left out, and its noise marked as a
/// test's.
/// @return the bytes that are run: those of the file where nothing had to change
[[nodiscard]] Result<std::string> job_for_simulation(const std::string& bytes, const std::string& file,
                                                     const std::vector<std::string>& set);

/// The silos of a job with their data, dealt from the job's simulation section as `undertone partition` deals them.
[[nodiscard]] Result<std::vector<SimulatedSilo>> silos_of(const jobs::Job& job, const std::filesystem::path& job_file);

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
