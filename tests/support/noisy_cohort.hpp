#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/base/random_source.hpp"
#include "tests/support/problems.hpp"

namespace undertone::tests {

/// Independent standard normals, a function of the seed: the product's sampler at its finest lattice, on words of
/// SplitMix64.
class NormalSource {
 public:
  explicit NormalSource(std::uint64_t seed) : words_{RandomSource(seed)} {}
  /// Adds noise of this standard deviation to every coordinate.
  void add(double stddev, Eigen::Ref<Eigen::VectorXd> vector);
  [[nodiscard]] double next();

 private:
  struct Words {
    using ScriptedForTests = void;
    RandomSource random;
    [[nodiscard]] std::uint64_t word() { return random.word(); }
  };
  Words words_;
};

/// Silos that answer with the exact mean of their gradients plus Gaussian noise: what an algorithm's theorem supposes,
/// and nothing else.
class NoisyCohort {
 public:
  struct Noise {
    double gradient = 0.0;    // standard deviation of a coordinate of one silo's answer about a gradient
    double difference = 0.0;  // of its answer about a difference; the most it can be where
    std::optional<double> per_distance = {};  // this, times the distance of the two points, is less
  };
  struct Setup {
    Noise noise;
    std::uint64_t seed = 0;
    std::size_t answering = 0;                   // silos that answer a round, drawn uniformly for each; 0: all
    std::vector<double> gradient_of_round = {};  // of a gradient in each round, where it is not always the same
  };
  /// @param problem outlives the cohort
  NoisyCohort(const KnownProblem& problem, const Setup& setup)
      : problem_(&problem), setup_(setup), normals_(2 * setup.seed), choice_(2 * setup.seed + 1) {}

  /// Called with the algorithm after each round. May be empty.
  using Watch = std::function<void(const algorithms::FederatedAlgorithm&)>;
  /// Drives the algorithm to its end. @return its weights
  [[nodiscard]] Eigen::VectorXd train(algorithms::FederatedAlgorithm& algorithm, const Watch& watch = {});

 private:
  [[nodiscard]] folds::Gathered ask(const queries::Query& query);
  [[nodiscard]] Eigen::VectorXd answer(const queries::Query& query, const SiloObjective& silo);

  const KnownProblem* problem_;
  Setup setup_;
  NormalSource normals_;
  RandomSource choice_;
};

}  // namespace undertone::tests
