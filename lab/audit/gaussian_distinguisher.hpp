#pragma once

#include <Eigen/Core>

#include "lab/audit/distinguisher.hpp"

namespace undertone::lab {

/// What a Gaussian release is looked at along.
struct Projection {
  Eigen::VectorXd point;      // that every round asks about
  Eigen::VectorXd direction;  // unit: what a reply is projected on
  double others_lean = 0.0;   // 1 where every other record leans the second data set's way, 0 where none leans
  double reach = 0.0;         // of the changed record's contribution, over its largest allowed (the clip norm)
};

/// Of Gaussian sums: the likelihood ratio of the replies' projections under the plan's own noise. Of bins the looks are
/// at one record in one of them, with either of its values among records that add nothing, and with one of them against
/// nothing, which shows where the sizes of bins are no secret: fixed, or told by the length of replies.
class GaussianDistinguisher final : public Distinguisher {
 public:
  /// @pre every private release of the block is Gaussian
  GaussianDistinguisher(const planning::Plan& plan, releases::Block block, Projection projection);

  [[nodiscard]] const Projection& projection() const noexcept { return projection_; }
  [[nodiscard]] NextPoint asker() const override { return always_at(projection_.point); }
  [[nodiscard]] Scores score(const Transcript& transcript) const override;
  [[nodiscard]] double reach() const override { return projection_.reach; }

 private:
  [[nodiscard]] Scores score_secret_parts(const Transcript& transcript) const;
  PlannedRounds rounds_;
  Projection projection_;
};

}  // namespace undertone::lab
