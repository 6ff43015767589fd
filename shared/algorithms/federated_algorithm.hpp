#pragma once

#include <Eigen/Core>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/base/result.hpp"
#include "shared/folds/fold.hpp"
#include "shared/queries/query.hpp"

namespace undertone::algorithms {

/// One evaluation: after how many steps, and the metrics in the model's order and real units.
struct MetricsRow {
  std::uint64_t steps = 0;
  Eigen::Index replies = 0;
  std::vector<double> values;
};

/// What a run produced.
struct Outcome {
  std::map<std::string, Eigen::VectorXd> vectors;  // such as "weights": [d]
  std::vector<MetricsRow> metrics;
};

struct Finished {
  Outcome outcome;
};
using Step = std::variant<queries::Query, Finished>;

/// An algorithm asks and is told. It does no IO, reads no clock, starts no thread and does not choose how many silos
/// answer. The same object runs over TCP, in the simulator and in unit tests.
class FederatedAlgorithm {
 public:
  FederatedAlgorithm() = default;
  FederatedAlgorithm(const FederatedAlgorithm&) = delete;
  FederatedAlgorithm& operator=(const FederatedAlgorithm&) = delete;
  virtual ~FederatedAlgorithm() = default;

  /// The first step, or after `restore` the step at which the saved one stood.
  [[nodiscard]] virtual Step start() = 0;
  /// @param gathered what the replies to the current query folded into
  [[nodiscard]] virtual Result<Step> advance(const folds::Gathered& gathered) = 0;
  /// The model that would be the outcome if the run ended here: [d]
  [[nodiscard]] virtual Eigen::VectorXd candidate() const = 0;

  /// Evaluations so far, oldest first.
  [[nodiscard]] virtual std::vector<MetricsRow> metrics() const { return {}; }

  virtual void save(ByteWriter& state) const = 0;
  /// Continues bit for bit where the saved one stood. The settings are not in the state: they come from the job.
  [[nodiscard]] virtual Status restore(ByteReader& state) = 0;
};

}  // namespace undertone::algorithms
