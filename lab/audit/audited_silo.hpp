#pragma once

#include <Eigen/Core>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/data/split.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::lab {

/// One round of a run, as the coordinator sees it.
struct SeenRound {
  Eigen::VectorXd point;   // that it asked about; of a statistic of no numbers
  Eigen::VectorXd values;  // of the reply, in real units: a mean, a statistic's total, the number of what was selected
  // How many rows of work a reply's length or time speaks of, but for a constant: eight bytes are taken for one.
  double rows = 0.0;
  // This is the exact block of an answer that has one. It is about public records, so that no attack looks at it.
  Eigen::VectorXd open = {};
};
using Transcript = std::vector<SeenRound>;
/// Where the next round asks. @param so_far all rounds before it
using NextPoint = std::function<Eigen::VectorXd(const Transcript& so_far)>;

/// What sends a job's replies: the product, or in tests something that is known to be broken.
class AuditedSilo {
 public:
  AuditedSilo() = default;
  AuditedSilo(const AuditedSilo&) = delete;
  AuditedSilo& operator=(const AuditedSilo&) = delete;
  virtual ~AuditedSilo() = default;
  /// A whole run on these records, everything fresh. @param next is not asked for statistics, which have no point
  /// @return what each round of the plan sent
  [[nodiscard]] virtual Result<Transcript> run(const data::Dataset& dataset, const NextPoint& next) = 0;
};

using MakeRandomness = std::function<std::unique_ptr<silo::ReleaseRandomness>()>;

/// The product's own silo machine with a ledger in memory, by the messages that a coordinator sends.
/// @param job of one silo at least @param member audited
[[nodiscard]] std::unique_ptr<AuditedSilo> product_silo(const jobs::Job& job, const std::string& job_bytes,
                                                        const jobs::CohortMember& member,
                                                        MakeRandomness make_randomness);

}  // namespace undertone::lab
