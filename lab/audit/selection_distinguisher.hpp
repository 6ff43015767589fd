#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <vector>

#include "lab/audit/distinguisher.hpp"
#include "lab/audit/neighbours.hpp"
#include "shared/jobs/job.hpp"
#include "silo/oracles/record_sums.hpp"

namespace undertone::lab {

/// Of selections: the likelihood ratio of what was selected under the exact laws of both data sets, added up over
/// rounds that ask where the job's algorithm goes from there, this silo alone answering. The second look is for
/// randomness that serves two rounds in a row, which changes its choice only where the law has changed: what the round
/// before a change says.
class SelectionDistinguisher final : public Distinguisher {
 public:
  /// @pre every private release of the block is a selection
  SelectionDistinguisher(const jobs::Job& job, const planning::Plan& plan, Neighbours neighbours);

  [[nodiscard]] NextPoint asker() const override;
  [[nodiscard]] Scores score(const Transcript& transcript) const override;
  /// How far the changed record moves the difference of two candidates' scores in the first round, over the range that
  /// the selection is made for.
  [[nodiscard]] double reach() const override;
  /// The probability that the first round selects, of the first data set, what is likelier of it than of the second.
  [[nodiscard]] double first_choice() const;

 private:
  struct Laws {
    std::vector<long double> first;
    std::vector<long double> second;
  };
  [[nodiscard]] std::vector<std::int64_t> scores_of(const planning::Release& release, const data::Dataset& dataset,
                                                    const Eigen::VectorXd& point) const;
  [[nodiscard]] Laws laws_at(const planning::Release& release, const Eigen::VectorXd& point) const;
  jobs::Job job_;
  PlannedRounds rounds_;
  Neighbours neighbours_;
  std::unique_ptr<silo::RecordSums> sums_;  // scratch
  Eigen::VectorXd start_;                   // where the first round asks
  const planning::Release* opening_ = nullptr;
};

}  // namespace undertone::lab
