#pragma once

#include <functional>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/base/result.hpp"
#include "shared/folds/fold.hpp"
#include "shared/queries/query.hpp"

namespace undertone::algorithms {

/// Drives an algorithm for whoever has the answers to its queries at hand: a direct simulation, an audit of stored
/// rounds, a test. The coordinator's service, which waits for answers and can die meanwhile, has a driver of its own.
class AlgorithmDriver {
 public:
  /// What the answers to a query fold into.
  using Answers = std::function<Result<folds::Gathered>(const queries::Query& query)>;
  /// Called after each round, when the algorithm has made of it what it does.
  using Watch = std::function<void(RoundIndex round, const FederatedAlgorithm& algorithm)>;

  /// @param algorithm outlives this, and is advanced by nobody else
  explicit AlgorithmDriver(FederatedAlgorithm& algorithm) : algorithm_(&algorithm), step_(algorithm.start()) {}

  /// What is asked now; null once the algorithm has finished.
  [[nodiscard]] const queries::Query* query() const noexcept { return std::get_if<queries::Query>(&step_); }
  /// @pre the algorithm has finished
  [[nodiscard]] const Outcome& outcome() const;

  /// One round. @return an error, and the query stays, where the answers or the algorithm have one
  /// @pre the algorithm has not finished
  [[nodiscard]] Status advance(const Answers& answers);
  /// Round after round to the end. @param watch may be empty
  [[nodiscard]] Result<Outcome> finish(const Answers& answers, const Watch& watch = {});

 private:
  FederatedAlgorithm* algorithm_;
  Step step_;
};

}  // namespace undertone::algorithms
