#include "shared/fairness/fair_objective.hpp"

#include <algorithm>
#include <cmath>

#include "shared/fairness/ermi.hpp"

namespace undertone::fairness {
namespace {

Status check_records(const GroupedRecords& records) {
  const std::size_t n = records.labels.size();
  if (n == 0 || records.groups.size() != n || records.features.cols() != static_cast<Eigen::Index>(n) ||
      records.features.rows() == 0)
    return Error{ErrorCode::InvalidData, "fair learning needs records, each with features, a label and a group"};
  if (records.classes < 2 || records.group_count < 1)
    return Error{ErrorCode::InvalidData, "fair learning needs two classes or more, and a group"};
  for (std::size_t i = 0; i < n; ++i) {
    if (records.labels[i] < 0 || records.labels[i] >= records.classes)
      return Error{ErrorCode::InvalidData, "a label is not one of the classes"};
    if (records.groups[i] != GroupedRecords::kUnknownGroup &&
        (records.groups[i] < 0 || records.groups[i] >= records.group_count))
      return Error{ErrorCode::InvalidData, "a record's group is not one of the groups"};
  }
  if (!records.features.allFinite()) return Error{ErrorCode::InvalidData, "a feature is not finite"};
  return {};
}

}  // namespace

Result<FairObjective> FairObjective::create(const GroupedRecords& records, Notion notion, double lambda,
                                            Eigen::Index advantaged) {
  if (Status good = check_records(records); !good) return good.error();
  if (!(std::isfinite(lambda) && lambda >= 0.0))
    return Error{ErrorCode::InvalidArgument, fmt::format("lambda must be finite and >= 0, got {}", lambda)};
  if (advantaged < 0 || advantaged >= records.classes)
    return Error{ErrorCode::InvalidArgument, "the advantaged label is not one of the classes"};
  FairObjective out(records, notion, lambda, advantaged);
  const auto buckets = notion == Notion::EqualisedOdds ? static_cast<std::size_t>(records.classes) : std::size_t{1};
  out.shares_.assign(buckets, Eigen::VectorXd::Zero(records.group_count));
  std::size_t known = 0;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < records.labels.size(); ++i) {
    if (records.groups[i] != GroupedRecords::kUnknownGroup) ++known;
    if (notion != Notion::EqualOpportunity || records.labels[i] == advantaged) ++asked;
    if (const std::optional<std::size_t> bucket = out.bucket_of(i)) out.shares_[*bucket][records.groups[i]] += 1.0;
  }
  for (Eigen::VectorXd& shares : out.shares_) {
    if (!(shares.minCoeff() > 0.0))
      return Error{ErrorCode::InvalidData, "a group has no record of a label that counts: merge groups"};
    shares /= shares.sum();
  }
  const auto n = static_cast<double>(records.labels.size());
  out.weight_ = n / static_cast<double>(known) * (n / static_cast<double>(asked));
  return out;
}

std::optional<std::size_t> FairObjective::bucket_of(std::size_t record) const {
  if (records_->groups[record] == GroupedRecords::kUnknownGroup) return std::nullopt;
  const Grouping grouping{notion_, records_->group_count, records_->classes, advantaged_};
  const std::optional<Eigen::Index> bucket = grouping.bucket_of(records_->labels[record]);
  return bucket ? std::optional(static_cast<std::size_t>(*bucket)) : std::nullopt;
}

FairObjective::Point FairObjective::origin() const {
  return {Eigen::MatrixXd::Zero(records_->classes, records_->features.rows()),
          std::vector<Eigen::MatrixXd>(buckets(), Eigen::MatrixXd::Zero(records_->group_count, records_->classes))};
}

Eigen::MatrixXd FairObjective::probabilities(const Eigen::MatrixXd& model, std::span<const std::size_t> drawn) const {
  Eigen::MatrixXd out;
  if (drawn.empty()) {
    out = model * records_->features;
  } else {
    out.resize(model.rows(), static_cast<Eigen::Index>(drawn.size()));
    for (std::size_t i = 0; i < drawn.size(); ++i)
      out.col(static_cast<Eigen::Index>(i)) = model * records_->features.col(static_cast<Eigen::Index>(drawn[i]));
  }
  for (Eigen::Index i = 0; i < out.cols(); ++i) {
    out.col(i) = (out.col(i).array() - out.col(i).maxCoeff()).exp().matrix();
    out.col(i) /= out.col(i).sum();
  }
  return out;
}

FairObjective::Gradient FairObjective::gradient(const Point& at, std::span<const std::size_t> drawn) const {
  const Eigen::MatrixXd shares_of_classes = probabilities(at.model, drawn);
  const Eigen::Index count = shares_of_classes.cols();
  // The coefficients of a group are computed once, so that the work for a record grows with the classes alone.
  std::vector<Eigen::MatrixXd> coefficients;  // of each bucket: [classes, groups]
  for (std::size_t b = 0; b < buckets(); ++b) {
    Eigen::MatrixXd own(records_->classes, records_->group_count);
    for (Eigen::Index r = 0; r < own.cols(); ++r) own.col(r) = class_coefficients(at.weights[b], shares_[b], r);
    coefficients.push_back(std::move(own));
  }
  Gradient out{Eigen::MatrixXd::Zero(at.model.rows(), at.model.cols()), {}};
  std::vector<Eigen::MatrixXd> together(buckets(), Eigen::MatrixXd::Zero(records_->classes, records_->group_count));
  Eigen::MatrixXd of_scores = shares_of_classes;
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::size_t record = drawn.empty() ? static_cast<std::size_t>(i) : drawn[static_cast<std::size_t>(i)];
    of_scores(records_->labels[record], i) -= 1.0;
    const std::optional<std::size_t> bucket = bucket_of(record);
    if (!bucket) continue;
    const auto f = shares_of_classes.col(i);
    const auto c = coefficients[*bucket].col(records_->groups[record]);
    of_scores.col(i) += lambda_ * weight_ * f.cwiseProduct((c.array() - f.dot(c)).matrix());
    together[*bucket].col(records_->groups[record]) += f;
  }
  const auto n = static_cast<double>(count);
  if (drawn.empty()) {
    out.model.noalias() = of_scores * records_->features.transpose() / n;
  } else {
    for (Eigen::Index i = 0; i < count; ++i)
      out.model.noalias() +=
          of_scores.col(i) *
          (records_->features.col(static_cast<Eigen::Index>(drawn[static_cast<std::size_t>(i)])).transpose() / n);
  }
  for (std::size_t b = 0; b < buckets(); ++b) {
    const Eigen::VectorXd classes = together[b].rowwise().sum();
    const Eigen::VectorXd roots = shares_[b].cwiseSqrt().cwiseInverse();
    out.weights.push_back(2.0 * weight_ / n *
                          (roots.asDiagonal() * together[b].transpose() - at.weights[b] * classes.asDiagonal()));
  }
  return out;
}

double FairObjective::value(const Point& at) const {
  const Eigen::MatrixXd shares_of_classes = probabilities(at.model, {});
  double loss = 0.0;
  double psi = 0.0;
  for (std::size_t i = 0; i < record_count(); ++i) {
    const auto f = shares_of_classes.col(static_cast<Eigen::Index>(i));
    loss -= std::log(f[records_->labels[i]]);
    if (const std::optional<std::size_t> bucket = bucket_of(i))
      psi += f.dot(class_coefficients(at.weights[*bucket], shares_[*bucket], records_->groups[i])) - 1.0;
  }
  return (loss + lambda_ * weight_ * psi) / static_cast<double>(record_count());
}

Eigen::MatrixXd FairObjective::joint(const Eigen::MatrixXd& model, std::size_t bucket) const {
  const Eigen::MatrixXd shares_of_classes = probabilities(model, {});
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(records_->classes, records_->group_count);
  for (std::size_t i = 0; i < record_count(); ++i)
    if (bucket_of(i) == std::optional(bucket))
      out.col(records_->groups[i]) += shares_of_classes.col(static_cast<Eigen::Index>(i));
  return out / out.sum();
}

void FairObjective::project(Point& point) const {
  for (std::size_t b = 0; b < buckets(); ++b) {
    const double radius = weights_radius(records_->classes, shares_[b].minCoeff());
    const double length = point.weights[b].norm();
    if (length > radius) point.weights[b] *= radius / length;
  }
}

}  // namespace undertone::fairness
