#include "shared/models/linear_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "shared/base/column_products.hpp"

namespace undertone::models {
namespace {

constexpr double kLossMax = 4.0;              // public clip of an evaluated loss
constexpr std::size_t kRecordsTogether = 16;  // records

/// To [0, 1]; NaN counts as the worst value.
double unit(double value) { return value <= 1.0 ? std::max(value, 0.0) : 1.0; }

}  // namespace

void LinearModel::scores(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                         std::span<const std::int64_t> positions, std::span<double> out,
                         std::span<double> norms_squared) const {
  column_products(records.features, positions, weights.head(features_), out, norms_squared);
  if (!intercept_) return;
  for (double& score : out) score += weights[features_];
  for (double& norm_squared : norms_squared) norm_squared += 1.0;
}

double LinearModel::derivative(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                               Eigen::Index j) const {
  const std::int64_t position = j;
  double factor = 0.0;
  double norm_squared = 0.0;
  derivatives(weights, records, {&position, 1}, {&factor, 1}, {&norm_squared, 1});
  return factor;
}

void LinearModel::derivatives(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                              std::span<const std::int64_t> positions, std::span<double> factors,
                              std::span<double> norms_squared) const {
  scores(weights, records, positions, factors, norms_squared);
  std::array<double, kRecordsTogether> targets{};
  for (std::size_t from = 0; from < positions.size(); from += kRecordsTogether) {
    const std::size_t count = std::min(kRecordsTogether, positions.size() - from);
    for (std::size_t i = 0; i < count; ++i) targets[i] = records.targets[positions[from + i]];
    loss_.derivatives(factors.subspan(from, count), std::span(targets).first(count),
                      norms_squared.subspan(from, count));
  }
}

void LinearModel::gradient(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records, Eigen::Index j,
                           Eigen::Ref<Eigen::VectorXd> out) const {
  const double a = derivative(weights, records, j);
  out.head(features_) = a * records.features.col(j);
  if (intercept_) out[features_] = a;
}

LinearModel LinearModel::evaluated(MetricDetail detail) const {
  LinearModel out = *this;
  out.detail_ = detail;
  return out;
}

Eigen::Index LinearModel::bins() const noexcept {
  if (!loss_.classifies()) return 0;
  return detail_.detailed() ? 2 * kScoreBins : detail_.places(2);
}

bool LinearModel::has_bins() const noexcept { return bins() > 0; }

std::vector<std::string_view> LinearModel::metric_names() const {
  const bool detailed = detail_.detailed();
  if (loss_.classifies()) {
    if (detailed) return {"loss", "accuracy", "positive_share", "predicted_positive_share"};
    return {"loss", "accuracy", "positive_share"};
  }
  if (detailed) {
    return {"loss",       "zero_model_loss",   "squared_error",   "absolute_error",
            "label_mean", "label_square_mean", "prediction_mean", "prediction_square_mean"};
  }
  return {"loss", "zero_model_loss"};
}

std::vector<double> LinearModel::metric_scales() const {
  std::vector<double> out(metric_names().size() + static_cast<std::size_t>(bins()), 1.0);
  out[0] = kLossMax;
  if (!loss_.classifies()) out[1] = kLossMax;
  return out;
}

Eigen::Index LinearModel::score_bin(double score) {
  constexpr double kPerUnit = 2.0;
  constexpr Eigen::Index kMiddle = kScoreBins / 2;
  if (!(score > -1e9)) return 0;
  const double place = std::floor(kPerUnit * std::min(score, 1e9)) + static_cast<double>(kMiddle);
  return static_cast<Eigen::Index>(std::clamp(place, 0.0, static_cast<double>(kScoreBins - 1)));
}

void LinearModel::centred_metrics(const Eigen::Ref<const Eigen::VectorXd>& weights, const Records& records,
                                  Eigen::Index j, Eigen::Ref<Eigen::VectorXd> out) const {
  const std::int64_t position = j;
  double z = 0.0;
  double norm_squared = 0.0;
  scores(weights, records, {&position, 1}, {&z, 1}, {&norm_squared, 1});
  const double target = records.targets[j];
  out[0] = unit(loss_.value(z, target) / kLossMax);
  if (loss_.classifies()) {
    out[1] = (z >= 0.0) == (target > 0.0) ? 1.0 : 0.0;
    out[2] = target > 0.0 ? 1.0 : 0.0;
  } else {
    out[1] = unit(loss_.value(loss_.middle_score(), target) / kLossMax);
  }
  const auto named = static_cast<Eigen::Index>(metric_names().size());
  if (has_bins()) {
    out.tail(bins()).setZero();
    const std::int32_t group = records.group_of(j);
    if (detail_.detailed()) {
      out[3] = z >= 0.0 ? 1.0 : 0.0;
      out[named + (target > 0.0 ? kScoreBins : 0) + score_bin(z)] = 1.0;
    } else if (group >= 0 && group < detail_.groups) {
      out[named + 4 * static_cast<Eigen::Index>(group) + (target > 0.0 ? 2 : 0) + (z >= 0.0 ? 1 : 0)] = 1.0;
    }
  } else if (detail_.detailed()) {
    const double label = unit((target + 1.0) / 2.0);
    const double prediction = unit((loss_.prediction(z) + 1.0) / 2.0);
    out.segment(2, 6) << std::pow(prediction - label, 2), std::abs(prediction - label), label, label * label,
        prediction, prediction * prediction;
  }
  out.head(named).array() -= 0.5;
}

}  // namespace undertone::models
