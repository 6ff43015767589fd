#include "shared/fairness/fair_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"
#include "shared/fairness/ermi.hpp"

namespace undertone::fairness {

double FairTerms::radius() const { return weights_radius(grouping.classes, share_floor); }

void project_weights(const FairTerms& terms, Eigen::Ref<Eigen::VectorXd> weights) {
  const Grouping& grouping = terms.grouping;
  UNDERTONE_CHECK(weights.size() == grouping.weights());
  const Eigen::Index size = grouping.groups * grouping.classes;
  for (Eigen::Index bucket = 0; bucket < grouping.buckets(); ++bucket) {
    auto own = weights.segment(bucket * size, size);
    if (const double length = own.stableNorm(); length > terms.radius()) own *= terms.radius() / length;
    // A number so large that its length is no number leaves nothing to scale.
    if (!own.allFinite()) own.setZero();
  }
}

FairBlocks::FairBlocks(const FairTerms& terms, const Eigen::Ref<const Eigen::VectorXd>& numbers) : terms_(terms) {
  const Grouping& grouping = terms.grouping;
  UNDERTONE_CHECK(numbers.size() == grouping.weights() + grouping.cells() && grouping.groups >= 2);
  UNDERTONE_CHECK(terms.share_floor > 0.0 && terms.share_floor * static_cast<double>(grouping.groups) <= 1.0 + 1e-9);
  UNDERTONE_CHECK(terms.model_share > 0.0 && terms.model_share < 1.0 && terms.clip > 0.0 && terms.lambda > 0.0);
  Eigen::VectorXd sound = numbers;
  for (double& number : sound)
    if (!std::isfinite(number)) number = 0.0;
  project_weights(terms, sound.head(grouping.weights()));
  const auto told = sound.tail(grouping.cells()).cwiseMax(0.0).cwiseMin(1.0).eval();
  // Shares of all records that count: what is missing counts for nobody, and the others for it.
  weight_ = 1.0 / std::clamp(told.sum(), terms.share_floor, 1.0);
  for (Eigen::Index bucket = 0; bucket < grouping.buckets(); ++bucket) {
    const Eigen::Index size = grouping.groups * grouping.classes;
    const Eigen::VectorXd own = sound.segment(bucket * size, size);
    weights_.emplace_back(Eigen::Map<const Eigen::MatrixXd>(own.data(), grouping.groups, grouping.classes));
    const auto cells = told.segment(bucket * grouping.groups, grouping.groups);
    const double sum = cells.sum();
    shares_.push_back(
        sum > 0.0 ? (cells / sum).cwiseMax(terms.share_floor).eval()
                  : Eigen::VectorXd::Constant(grouping.groups, 1.0 / static_cast<double>(grouping.groups)).eval());
    roots_.push_back(2.0 * weight_ * shares_.back().cwiseSqrt().cwiseInverse());
    Eigen::MatrixXd coefficients(grouping.classes, grouping.groups);
    for (Eigen::Index group = 0; group < grouping.groups; ++group)
      coefficients.col(group) = terms.lambda * weight_ * class_coefficients(weights_.back(), shares_.back(), group);
    coefficients_.push_back(std::move(coefficients));
  }
  set_centre();
  model_scale_ = terms.clip / std::sqrt(terms.model_share);
  adversary_scale_ = reach_ / std::sqrt(1.0 - terms.model_share);
}

void FairBlocks::set_centre() {
  // A record's x is a mixture, with weights F, of l vectors that lie in a column each of its bucket's matrix. In column
  // j they are 2 w (e_s / sqrt(p_s) - W_:j), s any group. So x is in the hull of all of these and 0, and the distance
  // to the farthest of them bounds it. The centre is, in each column, the mean of that column's vectors over the number
  // of columns.
  const Grouping& grouping = terms_.grouping;
  const auto columns = static_cast<double>(grouping.buckets() * grouping.classes);
  const auto groups = static_cast<double>(grouping.groups);
  centre_.resize(grouping.weights());
  for (Eigen::Index bucket = 0; bucket < grouping.buckets(); ++bucket) {
    for (Eigen::Index j = 0; j < grouping.classes; ++j) {
      auto own = centre_.segment((bucket * grouping.classes + j) * grouping.groups, grouping.groups);
      own = (roots_[static_cast<std::size_t>(bucket)] / groups - 2.0 * weight_ * weights(bucket).col(j)) / columns;
    }
  }
  const double whole = centre_.squaredNorm();
  double farthest = whole;  // of 0
  for (Eigen::Index bucket = 0; bucket < grouping.buckets(); ++bucket) {
    const Eigen::VectorXd& roots = roots_[static_cast<std::size_t>(bucket)];
    for (Eigen::Index j = 0; j < grouping.classes; ++j) {
      const auto own = centre_.segment((bucket * grouping.classes + j) * grouping.groups, grouping.groups);
      const Eigen::VectorXd rest = -2.0 * weight_ * weights(bucket).col(j) - own;
      const double others = std::max(whole - own.squaredNorm(), 0.0);
      const double base = rest.squaredNorm();
      for (Eigen::Index s = 0; s < grouping.groups; ++s) {
        const double there = base + 2.0 * rest[s] * roots[s] + roots[s] * roots[s];
        farthest = std::max(farthest, there + others);
      }
    }
  }
  // Rounding is far below this, and a record that it would cut is cut by nothing that shows.
  reach_ = std::sqrt(farthest) * (1.0 + 0x1p-40);
}

void FairBlocks::adversary_part(std::optional<Eigen::Index> bucket, Eigen::Index group,
                                const Eigen::Ref<const Eigen::VectorXd>& probabilities,
                                Eigen::Ref<Eigen::VectorXd> out) const {
  const Grouping& grouping = terms_.grouping;
  out = -centre_ / reach_;
  if (!bucket) return;
  const Eigen::MatrixXd& own = weights(*bucket);
  const double root = roots_[static_cast<std::size_t>(*bucket)][group] / reach_;
  const double twice = 2.0 * weight_ / reach_;
  for (Eigen::Index j = 0; j < grouping.classes; ++j) {
    auto column = out.segment((*bucket * grouping.classes + j) * grouping.groups, grouping.groups);
    column -= twice * probabilities[j] * own.col(j);
    column[group] += probabilities[j] * root;
  }
}

}  // namespace undertone::fairness
