#include "shared/fairness/group_outcomes.hpp"

#include <algorithm>
#include <limits>

namespace undertone::fairness {

GroupOutcomes::GroupOutcomes(Eigen::Index classes, Eigen::Index groups)
    : counts_(static_cast<std::size_t>(classes), Eigen::MatrixXd::Zero(classes, groups)) {
  UNDERTONE_CHECK(classes >= 1 && groups >= 1);
}

void GroupOutcomes::add(Eigen::Index label, Eigen::Index group, Eigen::Index predicted, double records) {
  const auto classes = static_cast<Eigen::Index>(counts_.size());
  UNDERTONE_CHECK(label >= 0 && label < classes && predicted >= 0 && predicted < classes);
  UNDERTONE_CHECK(group >= 0 && group < counts_.front().cols());
  counts_[static_cast<std::size_t>(label)](predicted, group) += records;
}

double GroupOutcomes::error() const {
  double all = 0.0;
  double right = 0.0;
  for (std::size_t y = 0; y < counts_.size(); ++y) {
    all += counts_[y].sum();
    right += counts_[y].row(static_cast<Eigen::Index>(y)).sum();
  }
  return all > 0.0 ? 1.0 - right / all : std::numeric_limits<double>::quiet_NaN();
}

GroupOutcomes::Gaps GroupOutcomes::odds() const {
  Gaps out;
  for (const Eigen::MatrixXd& counts : counts_) {
    const Gaps one = gaps(counts);
    out.between_groups = std::max(out.between_groups, one.between_groups);
    out.from_all = std::max(out.from_all, one.from_all);
  }
  return out;
}

GroupOutcomes::Gaps GroupOutcomes::opportunity(Eigen::Index label) const {
  UNDERTONE_CHECK(label >= 0 && label < static_cast<Eigen::Index>(counts_.size()));
  return gaps(counts_[static_cast<std::size_t>(label)]);
}

GroupOutcomes::Gaps GroupOutcomes::gaps(const Eigen::MatrixXd& counts) {
  const Eigen::RowVectorXd records = counts.colwise().sum();
  const double all = records.sum();
  Gaps out;
  if ((records.array() > 0.0).count() < 2) return out;
  for (Eigen::Index j = 0; j < counts.rows(); ++j) {
    const double of_all = counts.row(j).sum() / all;
    double least = 1.0;
    double most = 0.0;
    for (Eigen::Index r = 0; r < counts.cols(); ++r) {
      if (!(records[r] > 0.0)) continue;
      const double share = counts(j, r) / records[r];
      least = std::min(least, share);
      most = std::max(most, share);
    }
    out.between_groups = std::max(out.between_groups, most - least);
    out.from_all = std::max({out.from_all, most - of_all, of_all - least});
  }
  return out;
}

Eigen::MatrixXd GroupOutcomes::all_labels() const {
  Eigen::MatrixXd out = counts_.front();
  for (std::size_t y = 1; y < counts_.size(); ++y) out += counts_[y];
  return out;
}

}  // namespace undertone::fairness
