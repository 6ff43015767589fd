#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "shared/algorithms/federated_algorithm.hpp"
#include "shared/base/ids.hpp"
#include "shared/folds/fold.hpp"

namespace undertone::coordinator {

/// What a closed round led to, as the store is to have it. The algorithm comes back with it.
struct Advanced {
  struct Next {
    std::string algorithm_state;
    Digest query{};  // of the query that follows; zeros where the algorithm has finished
    bool finished = false;
    std::optional<algorithms::MetricsRow> metrics;  // if the round was an evaluation
  };
  RunId run;
  RoundIndex round;
  Eigen::Index replies = 0;
  std::unique_ptr<algorithms::FederatedAlgorithm> algorithm;
  Result<Next> next;  // an error is this run's end: it diverged, say
};

/// The work that a closed round leaves: its algorithm is to absorb what the answers folded into. It owns all that it
/// needs, so that any thread may do it.
class Advance {
 public:
  /// @param nobody_waits any more: an algorithm that takes long may give up
  Advance(const RunId& run, std::unique_ptr<algorithms::FederatedAlgorithm> algorithm, folds::Gathered gathered,
          std::stop_token nobody_waits);

  [[nodiscard]] const RunId& run() const noexcept { return run_; }
  [[nodiscard]] RoundIndex round() const noexcept { return gathered_.round; }
  [[nodiscard]] Eigen::Index replies() const noexcept { return gathered_.replies; }
  [[nodiscard]] bool takes_long() const { return algorithm_->advance_takes_long(); }
  /// A function of what it was made of, but for an Advance that nobody waits for.
  [[nodiscard]] Advanced perform() &&;

 private:
  [[nodiscard]] Result<Advanced::Next> next();
  RunId run_;
  std::unique_ptr<algorithms::FederatedAlgorithm> algorithm_;
  folds::Gathered gathered_;
};

}  // namespace undertone::coordinator
