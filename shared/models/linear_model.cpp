#include "shared/models/linear_model.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::models {
namespace {

constexpr double kLossMax = 4.0;  // public clip of an evaluated loss

/// ln(1 + e^t) without overflow.
double softplus(double t) { return t > 0.0 ? t + std::log1p(std::exp(-t)) : std::log1p(std::exp(t)); }

double loss_value(Loss loss, double score, double target) {
  switch (loss) {
    case Loss::Logistic:
      return softplus(-target * score);
    case Loss::LeastSquares:
      return 0.5 * (score - target) * (score - target);
  }
  UNDERTONE_CHECK(false);
}

double loss_derivative(Loss loss, double score, double target) {
  switch (loss) {
    case Loss::Logistic:
      return -target / (1.0 + std::exp(target * score));
    case Loss::LeastSquares:
      return score - target;
  }
  UNDERTONE_CHECK(false);
}

/// To [0, 1]; NaN counts as the worst value.
double unit(double value) { return value <= 1.0 ? std::max(value, 0.0) : 1.0; }

}  // namespace

std::string_view to_string(Loss loss) noexcept {
  switch (loss) {
    case Loss::Logistic:
      return "logistic";
    case Loss::LeastSquares:
      return "least_squares";
  }
  return "";
}

double LinearModel::score(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                          Eigen::Index j) const {
  const double linear = weights.head(features_).dot(records.features.col(j));
  return intercept_ ? linear + weights[features_] : linear;
}

double LinearModel::derivative(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                               Eigen::Index j) const {
  return loss_derivative(loss_, score(weights, records, j), records.targets[j]);
}

void LinearModel::gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                           Eigen::Ref<Eigen::VectorXd> out) const {
  const double a = derivative(weights, records, j);
  out.head(features_) = a * records.features.col(j);
  if (intercept_) out[features_] = a;
}

std::vector<std::string_view> LinearModel::metric_names() const {
  switch (loss_) {
    case Loss::Logistic:
      return {"loss", "accuracy", "positive_share"};
    case Loss::LeastSquares:
      return {"loss", "zero_model_loss"};
  }
  UNDERTONE_CHECK(false);
}

std::vector<double> LinearModel::metric_scales() const {
  switch (loss_) {
    case Loss::Logistic:
      return {kLossMax, 1.0, 1.0};
    case Loss::LeastSquares:
      return {kLossMax, kLossMax};
  }
  UNDERTONE_CHECK(false);
}

void LinearModel::centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                  Eigen::Index j, Eigen::Ref<Eigen::VectorXd> out) const {
  const double z = score(weights, records, j);
  const double target = records.targets[j];
  out[0] = unit(loss_value(loss_, z, target) / kLossMax);
  switch (loss_) {
    case Loss::Logistic:
      out[1] = (z >= 0.0) == (target > 0.0) ? 1.0 : 0.0;
      out[2] = target > 0.0 ? 1.0 : 0.0;
      break;
    case Loss::LeastSquares:
      out[1] = unit(loss_value(loss_, 0.0, target) / kLossMax);
      break;
  }
  out.array() -= 0.5;
}

}  // namespace undertone::models
