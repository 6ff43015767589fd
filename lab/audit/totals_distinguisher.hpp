#pragma once

#include <Eigen/Core>
#include <memory>
#include <vector>

#include "lab/audit/distinguisher.hpp"
#include "lab/audit/neighbours.hpp"
#include "shared/jobs/job.hpp"

namespace undertone::lab {

/// Of statistics' totals with Gaussian noise: the likelihood ratio of noised totals z under exact ones s and s',
/// sum (||z - s'||^2 - ||z - s||^2) / (2 sigma^2) over the rounds. The second look is for noise that serves two rounds
/// in a row: how nearly the same it would be if the records were the first.
class TotalsDistinguisher final : public Distinguisher {
 public:
  /// @pre every private release of the block is a feature map's, with Gaussian noise
  TotalsDistinguisher(const planning::Plan& plan, const Neighbours& neighbours);

  [[nodiscard]] NextPoint asker() const override { return always_at({}); }
  [[nodiscard]] Scores score(const Transcript& transcript) const override;
  [[nodiscard]] double reach() const override { return reach_; }

 private:
  /// One release, in standard deviations of its noise.
  struct Totals {
    Eigen::VectorXd first;
    Eigen::VectorXd second;
    double stddev = 1.0;  // real units
  };
  std::vector<std::shared_ptr<const Totals>> rounds_;
  double reach_ = 0.0;
};

}  // namespace undertone::lab
