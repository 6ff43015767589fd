#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "shared/algorithms/algorithm_driver.hpp"
#include "shared/jobs/job.hpp"
#include "shared/jobs/public_records.hpp"
#include "silo/oracles/counts_oracle.hpp"
#include "silo/oracles/local_run.hpp"
#include "silo/oracles/record_places.hpp"
#include "silo/oracles/record_sums.hpp"
#include "simulation/simulated_federation.hpp"

namespace undertone::simulation {

/// The silos of a simulation that answer by function calls: the product's own clipping, draws and noise, without
/// messages, ledgers or processes. For sweeps, for experiments and for thousands of silos; a federation with all of
/// these is SimulatedFederation, which gives the same model for the same seed and run, bit for bit.
class DirectCohort {
 public:
  struct Setup {
    std::optional<models::Model> model;  // none of a job of statistics
    queries::WireLattice wire;
    RunId run;
    std::uint64_t seed = 0;
    SimulatedNoise noise = SimulatedNoise::Seeded;
    std::size_t answering = 0;  // silos that answer a round, drawn uniformly for each; 0: all
    std::size_t threads = 1;    // the result is the same for any number
    folds::Aggregation aggregation = {};
    std::function<bool()> stop = {};  // asked before every round whether the rest is not wanted; empty: never
  };
  struct Member {
    SiloId id;
    const data::Dataset* dataset = nullptr;         // outlives the cohort
    std::vector<planning::Plan::Segment> releases;  // in order: a plan's, or an experiment's own
    std::uint64_t weight = 1;
    std::uint64_t holdout_weight = 1;
    std::shared_ptr<const data::Dataset> projected = {};  // what `dataset` points to, where a job projects
  };
  /// @return an error where nobody or fewer than are to answer are there, or releases are of other data
  [[nodiscard]] static Result<DirectCohort> create(const Setup& setup, std::vector<Member> members);

  using Watch = algorithms::AlgorithmDriver::Watch;
  /// Drives the algorithm to its end. @param watch may be empty
  /// @return an error of code Cancelled where `stop` said so
  [[nodiscard]] Result<algorithms::Outcome> train(algorithms::FederatedAlgorithm& algorithm, const Watch& watch = {});
  /// Standard deviation of the noise on every metric over all members, as a share of its scale.
  [[nodiscard]] double metrics_noise() const;

 private:
  explicit DirectCohort(const Setup& setup) : setup_(setup) {}
  [[nodiscard]] Result<folds::Gathered> ask(const queries::Query& query);
  [[nodiscard]] std::vector<std::size_t> answering(RoundIndex round) const;
  /// What each worker computes with.
  struct Scratch {
    std::unique_ptr<silo::RecordSums> sums;
    silo::BinomialCoins coins;
  };
  /// Where a member's controlled run begins, with the variate that it keeps.
  [[nodiscard]] silo::LocalStart controlled_start(const queries::Query& query, std::size_t member) const;
  /// Wire steps of a mean, or a silo's counts where the release is a binomial sum.
  [[nodiscard]] std::vector<std::int64_t> answer(const queries::Query& query, std::size_t member,
                                                 Scratch& scratch) const;
  using Take = std::function<void(std::size_t member, const std::vector<std::int64_t>& answer)>;
  /// Has the members answer, on all threads, and hands on each answer in their order.
  void answer_all(const queries::Query& query, const std::vector<std::size_t>& asked, const Take& take);

  Setup setup_;
  std::vector<Member> members_;
  std::vector<silo::RecordPlaces> places_;  // of each member: empty unless it reads slices
  std::vector<std::uint64_t> passes_;       // whose bins these are
  std::vector<Eigen::VectorXd> variates_;   // of each member, of controlled runs: empty before its first
  std::vector<Scratch> scratch_;            // one a thread
};

/// The members of a job's cohort with the plans that its silos would make.
struct PlannedCohort {
  std::vector<DirectCohort::Member> members;
  double epsilon = 0.0;            // the largest that a plan costs
  jobs::GradientNoise noise = {};  // of each kind of silo
};
/// The job's algorithm, with its public records where it has some. @param folder that they are in
[[nodiscard]] Result<std::unique_ptr<algorithms::FederatedAlgorithm>> algorithm_of(const jobs::Job& job,
                                                                                   const PlannedCohort& planned,
                                                                                   const std::filesystem::path& folder);
/// Silos that are alike are planned once. @param silos of the job's cohort, any order; outlives the members
/// @return an error where a plan cannot be made, or a silo has other records than the job says
[[nodiscard]] Result<PlannedCohort> plan_cohort(const jobs::Job& job, const std::vector<SimulatedSilo>& silos);

}  // namespace undertone::simulation
