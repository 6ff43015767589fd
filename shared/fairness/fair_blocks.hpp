#pragma once

#include <Eigen/Core>
#include <vector>

#include "shared/fairness/notion.hpp"

namespace undertone::fairness {

/// What everybody knows of a fair gradient before anything is asked. A plan holds it.
struct FairTerms {
  Grouping grouping;
  double lambda = 1.0;           // > 0: of ERMI beside the loss
  double clip = 1.0;             // C > 0: of the model's part of a record's vector
  double model_share = 0.5;      // alpha, in (0, 1): of the squared bound, the model's part; the rest is W's
  double share_floor = 0.05;     // rho, in (0, 1 / groups]: no group is taken for smaller
  bool attribute_alone = false;  // which group a record is in is protected, and nothing else of it
  double record_norm = 1.0;      // X: of the attribute alone, what no (x, 1) is expected to be longer than
  friend bool operator==(const FairTerms&, const FairTerms&) = default;

  /// sqrt(classes / rho), which no best W of a bucket is longer than.
  [[nodiscard]] double radius() const;
  /// Of the attribute alone: how long the part of a record's vector is at most that does not depend on its group, in
  /// units of the bound. Else 0, as there is none.
  [[nodiscard]] double base_reach() const;
  [[nodiscard]] double model_base_reach() const;
  [[nodiscard]] double adversary_base_reach() const;
};

/// What a question for a fair gradient says of the adversary, made sound, and the scales that follow from it. A
/// record's two parts are divided by these scales, so that both together are no longer than 1 whatever was asked. A
/// silo divides, and whoever asked multiplies: both know the question.
///   model part      v = grad loss + lambda w grad psi, clipped to C, times sqrt(alpha) / C
///   adversary part  (x - centre) sqrt(1 - alpha) / r, clipped likewise, x = grad_W psi times w
/// with w = 1 over the share of records that count, psi as in `FairObjective`, and r the distance from the centre that
/// no x exceeds: it is of the question's W and shares alone. Source: spec fair-learning 3.2, corrections 0.2, 0.3; the
/// ball around a centre in place of the pairwise distance is somewhat wider and holds by clipping alone.
/// Where the attribute alone is protected, each part is the sum of a base, which does not depend on the group, and of
/// what the group adds to it. Only the latter is bounded, by as little as the question's W and shares allow:
///   model base      grad loss + lambda w J^T mean_s c(s), clipped to C for the range of integers alone
///   model rest      lambda w J^T (c(s) - mean_s c(s)) over h, h the longest that it is for records of norm X
///   adversary base  w (2 mean_s(e_s / sqrt(p_s)) F^T - 2 W diag F)
///   adversary rest  2 w (e_s / sqrt(p_s) - mean_s(e_s / sqrt(p_s))) F^T over r
/// with C / sqrt(alpha) replaced by h / sqrt(alpha). h is at least C / 64 and at most 2 C. Source: spec
/// fair-learning 3.2, 0.4, whose floor is a hundredth of the bound for the worst W: larger than C itself where a group
/// is small.
class FairBlocks {
 public:
  /// Every W is projected on its ball. A share below the floor counts as the floor, and what is not finite as 0.
  /// @param numbers [weights + cells of the grouping]: W of each bucket, column by column, then each group's share of
  /// all records, bucket by bucket
  FairBlocks(const FairTerms& terms, const Eigen::Ref<const Eigen::VectorXd>& numbers);

  [[nodiscard]] const Eigen::MatrixXd& weights(Eigen::Index bucket) const { return at(weights_, bucket); }
  /// [groups] of a bucket's records, each at least the floor.
  [[nodiscard]] const Eigen::VectorXd& shares(Eigen::Index bucket) const { return at(shares_, bucket); }
  /// w >= 1: what a record that counts counts.
  [[nodiscard]] double weight() const noexcept { return weight_; }
  /// [classes, groups]: lambda w c_j(s) of a bucket's records; of the attribute alone less its mean over the groups.
  /// @see class_coefficients
  [[nodiscard]] const Eigen::MatrixXd& coefficients(Eigen::Index bucket) const { return at(coefficients_, bucket); }

  /// [classes]: that mean, where the attribute alone is protected; else zeros.
  [[nodiscard]] const Eigen::VectorXd& base_coefficients(Eigen::Index bucket) const {
    return at(base_coefficients_, bucket);
  }

  /// What 1 of the model part stands for: C / sqrt(alpha), or h / sqrt(alpha).
  [[nodiscard]] double model_scale() const noexcept { return model_scale_; }
  /// What 1 of the adversary part stands for: r / sqrt(1 - alpha).
  [[nodiscard]] double adversary_scale() const noexcept { return adversary_scale_; }
  /// [weights of the grouping], as W is told: what x is taken relative to. Zeros where the attribute alone is
  /// protected.
  [[nodiscard]] const Eigen::VectorXd& centre() const noexcept { return centre_; }
  /// r
  [[nodiscard]] double reach() const noexcept { return reach_; }

  /// Of a record: (x - centre) / r, or the rest over r. @param bucket nothing: the record does not count, and x = 0
  /// @param probabilities [classes] @param out [weights of the grouping]
  void adversary_part(std::optional<Eigen::Index> bucket, Eigen::Index group,
                      const Eigen::Ref<const Eigen::VectorXd>& probabilities, Eigen::Ref<Eigen::VectorXd> out) const;
  /// The adversary's base over r. @pre the attribute alone is protected @param out [weights of the grouping]
  void adversary_base(std::optional<Eigen::Index> bucket, const Eigen::Ref<const Eigen::VectorXd>& probabilities,
                      Eigen::Ref<Eigen::VectorXd> out) const;

 private:
  template <class T>
  static const T& at(const std::vector<T>& of, Eigen::Index bucket) {
    return of.at(static_cast<std::size_t>(bucket));
  }
  /// Of whole records: the centre and the reach around it.
  void set_centre();
  /// Of the attribute alone: what is the same for every group, and how far groups are from it.
  void set_bases();
  FairTerms terms_;
  std::vector<Eigen::MatrixXd> weights_;            // [groups, classes]
  std::vector<Eigen::VectorXd> shares_;             // [groups]
  std::vector<Eigen::MatrixXd> coefficients_;       // [classes, groups]
  std::vector<Eigen::VectorXd> base_coefficients_;  // [classes]
  std::vector<Eigen::VectorXd> roots_;              // [groups]: 2 w / sqrt(share)
  double weight_ = 1.0;
  double model_scale_ = 1.0;
  double adversary_scale_ = 1.0;
  double reach_ = 1.0;
  Eigen::VectorXd centre_;
};

/// Brings each bucket's W, column by column, into the ball of the radius.
void project_weights(const FairTerms& terms, Eigen::Ref<Eigen::VectorXd> weights);

}  // namespace undertone::fairness
