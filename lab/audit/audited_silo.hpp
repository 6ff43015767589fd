#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "shared/data/split.hpp"
#include "shared/jobs/job.hpp"
#include "shared/planning/plan.hpp"
#include "silo/oracles/release_randomness.hpp"

namespace undertone::lab {

/// What sends a job's replies: the product, or in tests something that is known to be broken.
class AuditedSilo {
 public:
  AuditedSilo() = default;
  AuditedSilo(const AuditedSilo&) = delete;
  AuditedSilo& operator=(const AuditedSilo&) = delete;
  virtual ~AuditedSilo() = default;
  /// A whole run on these records at these points, everything fresh. @return the mean that each round of the plan sent
  [[nodiscard]] virtual Result<std::vector<Eigen::VectorXd>> run(const data::Dataset& dataset,
                                                                 const Eigen::VectorXd& point) = 0;
};

using MakeRandomness = std::function<std::unique_ptr<silo::ReleaseRandomness>()>;

/// The product's own silo machine with a ledger in memory, by the messages that a coordinator sends.
/// @param job of one silo at least @param member audited
[[nodiscard]] std::unique_ptr<AuditedSilo> product_silo(const jobs::Job& job, const std::string& job_bytes,
                                                        const jobs::CohortMember& member,
                                                        MakeRandomness make_randomness);

}  // namespace undertone::lab
