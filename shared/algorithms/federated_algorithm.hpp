#pragma once

#include <Eigen/Core>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "shared/base/byte_stream.hpp"
#include "shared/base/result.hpp"
#include "shared/folds/fold.hpp"
#include "shared/queries/query.hpp"
#include "shared/statistics/score_fit.hpp"

namespace undertone::algorithms {

/// One evaluation: after how many steps, and the metrics in the model's order and real units.
struct MetricsRow {
  std::uint64_t steps = 0;
  Eigen::Index replies = 0;
  std::vector<double> values;
  /// Of the noise on each metric, as a share of its scale: what a coordinator knows of the silos that answered. 0: the
  /// holdouts are public, or nobody has said
  double noise_stddev = 0.0;
};

/// One statistic of a job without a model, over the silos that answered.
struct Estimate {
  std::string name;          // "count of sex=female", "mean of age"
  double value = 0.0;        // of one number: in the unit of the column, or a number of records
  double per_unit = 1.0;     // value units for one real unit of the release: to scale its noise
  bool mean = false;         // over `records`; else a total
  Eigen::Index replies = 0;  // silos
  std::int64_t records = 0;  // of theirs, together
  std::uint64_t round = 0;   // that asked for it
  /// What each silo said, or its reports add up to, in units of the round's lattice; empty where nothing was kept.
  std::map<SiloId, std::vector<std::int64_t>> answers = {};

  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// The regression that a run of scores found.
struct FoundRegression {
  statistics::ScoreTerms terms;  // the constant comes last
  statistics::ScoreFit fit;
  std::uint64_t silos = 0;   // that answered the last round
  std::int64_t records = 0;  // of theirs
};

/// What a run produced.
struct Outcome {
  std::map<std::string, Eigen::VectorXd> vectors;  // such as "weights": [d]
  std::vector<MetricsRow> metrics;
  std::vector<Estimate> statistics;
  std::optional<FoundRegression> regression = {};
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
  /// Whether the next `advance` may take longer than others can wait: a service does it on a thread of its own. What is
  /// done in milliseconds stays where it is.
  [[nodiscard]] virtual bool advance_takes_long() const { return false; }
  /// From now on an `advance` that takes long looks at the token now and then and, where nobody waits any more, returns
  /// ErrorCode::Cancelled: what it leaves behind is thrown away. It changes no result.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps the token.
  virtual void heed(std::stop_token /*nobody_waits*/) {}
  /// The model that would be the outcome if the run ended here: [d]
  [[nodiscard]] virtual Eigen::VectorXd candidate() const = 0;

  /// Evaluations so far, oldest first.
  [[nodiscard]] virtual std::vector<MetricsRow> metrics() const { return {}; }

  virtual void save(ByteWriter& state) const = 0;
  /// Continues bit for bit where the saved one stood. The settings are not in the state: they come from the job.
  [[nodiscard]] virtual Status restore(ByteReader& state) = 0;
};

}  // namespace undertone::algorithms
