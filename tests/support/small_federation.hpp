#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "shared/jobs/job.hpp"
#include "simulation/simulated_federation.hpp"

namespace undertone::tests {

/// A federation small enough to run hundreds of times: three to five silos of unequal size, epsilon, delta and weight,
/// some with private holdouts, four features or as many as are asked for.
struct SmallFederation {
  std::string name = "small";
  models::Loss loss = models::Loss::Logistic;
  std::string
      model;  // JSON of one that needs or takes classes, of which there are three; without it `loss` with an intercept
  int silos = 5;
  int rounds = 6;
  int evaluation_every = 3;
  int features = 4;
  int groups = 0;  // of a sensitive column, by which the job's models are evaluated
  double draw_fraction = 1.0;
  double step_size = 0.5;
  double clip_norm = 1.0;
  double coordinate_bound = 0.0;  // in its place where it is positive
  std::string moments = {};       // in its place where there are some: a job's "moments"
  double noise_multiplier = 0.0;  // chosen by hand where it is positive
  std::string noise_law;          // named where it is not empty
  std::string averaging = "uniform";
  std::string points = "f64";
  std::string noise = "test";
  std::string unit = "record";
  int quorum = 2;
  int round_deadline_ms = 4000;
  int join_deadline_ms = 8000;
  std::string algorithm;     // JSON; without it minibatch SGD as the members above say
  std::string statistics;    // JSON of a job's section, if it is one without a model: nothing of training then counts
  std::string projection;    // JSON of a job's section, if there is one
  std::string shuffle;       // JSON of a shuffled job's section, if it is one
  std::string aggregation;   // JSON of a job's section, if there is one
  std::string initial;       // JSON of a job's section, if there is one
  std::string open_records;  // JSON of a job's section "public", if there is one
  std::int64_t public_records = 0;  // of every silo's, beside the others
  bool equal = false;               // silos are all alike, as shuffled jobs need them
  std::string domain = R"({"kind":"l2_ball","radius":5})";
  std::string regulariser = R"({"kind":"l2","strength":0.01})";

  [[nodiscard]] std::string job() const;
  /// Silos as the job counts on them, with synthetic records that are a function of `data_seed`.
  [[nodiscard]] std::vector<simulation::SimulatedSilo> cohort(std::uint64_t data_seed = 1) const;
};

/// One small federation for each algorithm that a job may name, and for models that are not linear, by the name.
[[nodiscard]] std::vector<std::pair<std::string, SmallFederation>> federations_of_every_algorithm();

/// One that asks for totals, and for a report of every record by itself.
[[nodiscard]] SmallFederation federation_of_reports();
/// One that releases functions: as totals, and from every kind of report.
[[nodiscard]] SmallFederation federation_of_functions();
/// Those that ask about records as vectors: totals beside public records, directions, vectors with noise.
[[nodiscard]] std::vector<SmallFederation> federations_of_vectors();
/// One whose silos answer with numbers of candidates.
[[nodiscard]] SmallFederation federation_of_choices();

/// A file of public records of the same law as those of a federation's silos, and the section of a job that brings it.
/// @param more keys of the section, each with a comma before it
[[nodiscard]] std::string open_records_in(const std::filesystem::path& folder, const SmallFederation& of, int records,
                                          const std::string& more = {}, const std::string& name = "open.csv");

/// What a test's federation may spend: more than it will.
[[nodiscard]] silo::Policy generous_policy();

}  // namespace undertone::tests
