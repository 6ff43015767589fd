#include "shared/fairness/fair_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "shared/base/result.hpp"
#include "shared/fairness/ermi.hpp"

namespace undertone::fairness {

namespace {

constexpr double kScaleMost = 64.0;  // C is at most so many h
constexpr double kScaleLeast = 0.5;  // and at least so many: else integers would not tell short bases from none

}  // namespace

double FairTerms::radius() const { return weights_radius(grouping.classes, share_floor); }

double FairTerms::base_reach() const { return std::hypot(model_base_reach(), adversary_base_reach()); }

double FairTerms::model_base_reach() const { return attribute_alone ? kScaleMost * std::sqrt(model_share) : 0.0; }

double FairTerms::adversary_base_reach() const {
  // r is at least half of the least distance of two e_s / sqrt(p_s), sqrt 2, times 2 w, and the base at most 2 w (R +
  // 1 / sqrt(rho)).
  return attribute_alone ? std::sqrt(2.0 * (1.0 - model_share)) * (radius() + 1.0 / std::sqrt(share_floor)) : 0.0;
}

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
    base_coefficients_.push_back(Eigen::VectorXd::Zero(grouping.classes));
  }
  model_scale_ = terms.clip / std::sqrt(terms.model_share);
  if (terms.attribute_alone) {
    set_bases();
  } else {
    set_centre();
  }
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
  // Rounding is far below 2^-40. A record that it puts outside is clipped by as little.
  reach_ = std::sqrt(farthest) * (1.0 + 0x1p-40);
}

void FairBlocks::set_bases() {
  const Grouping& grouping = terms_.grouping;
  centre_ = Eigen::VectorXd::Zero(grouping.weights());
  // sup ||J|| / X of softmax regression, of the one score of two classes and of a score for each of more. Records that
  // are longer than X, and models whose scores are no such functions, are clipped.
  const double curvature = grouping.classes == 2 ? std::sqrt(2.0) / 4.0 : 0.5;
  double longest = 0.0;
  double farthest = 0.0;
  for (Eigen::Index bucket = 0; bucket < grouping.buckets(); ++bucket) {
    const auto place = static_cast<std::size_t>(bucket);
    base_coefficients_[place] = coefficients_[place].rowwise().mean();
    coefficients_[place].colwise() -= base_coefficients_[place];
    for (Eigen::Index s = 0; s < grouping.groups; ++s) {
      // A number that all classes have in common moves no probability, and is taken off.
      const Eigen::VectorXd own = coefficients_[place].col(s).array() - coefficients_[place].col(s).mean();
      longest = std::max(longest, own.norm());
      // This is the squared length of e_s root_s less the mean over r of e_r root_r.
      const double others = (roots_[place].squaredNorm() - roots_[place][s] * roots_[place][s]) /
                            static_cast<double>(grouping.groups * grouping.groups);
      const double self = roots_[place][s] * (1.0 - 1.0 / static_cast<double>(grouping.groups));
      farthest = std::max(farthest, self * self + others);
    }
  }
  const double bound =
      std::clamp(curvature * terms_.record_norm * longest, terms_.clip / kScaleMost, terms_.clip / kScaleLeast);
  model_scale_ = bound * (1.0 + 0x1p-40) / std::sqrt(terms_.model_share);
  reach_ = std::sqrt(farthest) * (1.0 + 0x1p-40);
}

void FairBlocks::adversary_base(std::optional<Eigen::Index> bucket,
                                const Eigen::Ref<const Eigen::VectorXd>& probabilities,
                                Eigen::Ref<Eigen::VectorXd> out) const {
  const Grouping& grouping = terms_.grouping;
  UNDERTONE_CHECK(terms_.attribute_alone);
  out.setZero();
  if (!bucket) return;
  const Eigen::VectorXd mean =
      roots_[static_cast<std::size_t>(*bucket)] / (static_cast<double>(grouping.groups) * reach_);
  const double twice = 2.0 * weight_ / reach_;
  for (Eigen::Index j = 0; j < grouping.classes; ++j)
    out.segment((*bucket * grouping.classes + j) * grouping.groups, grouping.groups) =
        probabilities[j] * (mean - twice * weights(*bucket).col(j));
}

void FairBlocks::adversary_part(std::optional<Eigen::Index> bucket, Eigen::Index group,
                                const Eigen::Ref<const Eigen::VectorXd>& probabilities,
                                Eigen::Ref<Eigen::VectorXd> out) const {
  const Grouping& grouping = terms_.grouping;
  out = -centre_ / reach_;
  // What does not count is worked on like the rest: how long it takes tells no count.
  const Eigen::Index place = bucket.value_or(0);
  const double counts = bucket ? 1.0 : 0.0;
  if (!bucket) group = 0;
  const Eigen::MatrixXd& own = weights(place);
  const double root = roots_[static_cast<std::size_t>(place)][group] / reach_;
  const double twice = 2.0 * weight_ / reach_;
  for (Eigen::Index j = 0; j < grouping.classes; ++j) {
    auto column = out.segment((place * grouping.classes + j) * grouping.groups, grouping.groups);
    if (terms_.attribute_alone) {
      column -= counts * probabilities[j] / (static_cast<double>(grouping.groups) * reach_) *
                roots_[static_cast<std::size_t>(place)];
    } else {
      column -= twice * counts * probabilities[j] * own.col(j);
    }
    column[group] += counts * probabilities[j] * root;
  }
}

}  // namespace undertone::fairness
