#include "shared/models/linear_model.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::models {
namespace {

constexpr double kLossMax = 4.0;  // public clip of an evaluated loss

/// To [0, 1]; NaN counts as the worst value.
double unit(double value) { return value <= 1.0 ? std::max(value, 0.0) : 1.0; }

}  // namespace

double LinearModel::score(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                          Eigen::Index j) const {
  const double linear = weights.head(features_).dot(records.features.col(j));
  return intercept_ ? linear + weights[features_] : linear;
}

double LinearModel::derivative(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                               Eigen::Index j) const {
  const double norm_squared =
      loss_.needs_norm() ? records.features.col(j).squaredNorm() + (intercept_ ? 1.0 : 0.0) : 0.0;
  return loss_.derivative(score(weights, records, j), records.targets[j], norm_squared);
}

void LinearModel::gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                           Eigen::Ref<Eigen::VectorXd> out) const {
  const double a = derivative(weights, records, j);
  out.head(features_) = a * records.features.col(j);
  if (intercept_) out[features_] = a;
}

std::vector<std::string_view> LinearModel::metric_names() const {
  if (loss_.classifies()) return {"loss", "accuracy", "positive_share"};
  return {"loss", "zero_model_loss"};
}

std::vector<double> LinearModel::metric_scales() const {
  if (loss_.classifies()) return {kLossMax, 1.0, 1.0};
  return {kLossMax, kLossMax};
}

void LinearModel::centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                  Eigen::Index j, Eigen::Ref<Eigen::VectorXd> out) const {
  const double z = score(weights, records, j);
  const double target = records.targets[j];
  out[0] = unit(loss_.value(z, target) / kLossMax);
  if (loss_.classifies()) {
    out[1] = (z >= 0.0) == (target > 0.0) ? 1.0 : 0.0;
    out[2] = target > 0.0 ? 1.0 : 0.0;
  } else {
    out[1] = unit(loss_.value(0.0, target) / kLossMax);
  }
  out.array() -= 0.5;
}

}  // namespace undertone::models
