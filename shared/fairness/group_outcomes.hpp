#pragma once

#include <Eigen/Core>
#include <vector>

#include "shared/base/result.hpp"

namespace undertone::fairness {

/// How often each label, group and predicted class come together, of predictions that name one class.
/// Source of the measures: spec fair-learning 1; thesis Definitions 13 and 71, (6.2).
class GroupOutcomes {
 public:
  /// @param classes, groups >= 1
  GroupOutcomes(Eigen::Index classes, Eigen::Index groups);

  /// @param label, predicted in [0, classes) @param group in [0, groups)
  void add(Eigen::Index label, Eigen::Index group, Eigen::Index predicted, double records = 1.0);

  /// The share of records whose predicted class is not their label; NaN without a record.
  [[nodiscard]] double error() const;

  /// How far groups are apart. A group without a record in question is left out, and so is a label with fewer than two
  /// groups.
  struct Gaps {
    /// The largest difference of two groups' shares of one predicted class: what the source's figures plot.
    double between_groups = 0.0;
    /// The largest difference of a group's share from that of all records: the source's (6.2).
    double from_all = 0.0;
  };
  /// Demographic parity: of all records.
  [[nodiscard]] Gaps parity() const { return gaps(all_labels()); }
  /// Equalised odds: of the records of one label, the label with the largest gap.
  [[nodiscard]] Gaps odds() const;
  /// Equal opportunity: of the records of this label.
  [[nodiscard]] Gaps opportunity(Eigen::Index label) const;

 private:
  [[nodiscard]] static Gaps gaps(const Eigen::MatrixXd& counts);
  [[nodiscard]] Eigen::MatrixXd all_labels() const;
  std::vector<Eigen::MatrixXd> counts_;  // a label each: [predicted classes, groups]
};

}  // namespace undertone::fairness
