#include "shared/models/model.hpp"

#include <cmath>
#include <numbers>

namespace undertone::models {

std::string_view Model::name() const noexcept {
  if (const LinearModel* one = linear()) return to_string(one->loss());
  if (moments() != nullptr) return "moments";
  return network()->is_linear() ? "softmax" : "network";
}

Eigen::Index Model::features() const noexcept {
  return std::visit([](const auto& kind) { return kind.features(); }, kind_);
}

Eigen::Index Model::dimension() const noexcept {
  return std::visit([](const auto& kind) { return kind.dimension(); }, kind_);
}

Eigen::Index Model::regularised() const noexcept { return linear() != nullptr ? features() : dimension(); }

bool Model::classifies() const noexcept {
  return network() != nullptr || (linear() != nullptr && linear()->linear_loss().classifies());
}

bool Model::is_smooth() const noexcept {
  if (const LinearModel* one = linear()) return one->linear_loss().is_smooth();
  return network() == nullptr || network()->is_smooth();
}

Model::Constants Model::constants(double record_norm) const {
  if (const LinearModel* one = linear())
    return {one->linear_loss().lipschitz(record_norm), one->linear_loss().smoothness(record_norm)};
  if (network() != nullptr && network()->is_linear())
    return {std::numbers::sqrt2 * record_norm, 0.5 * record_norm * record_norm};
  return {};
}

double Model::products() const noexcept {
  return network() != nullptr ? network()->products() : static_cast<double>(dimension());
}

Eigen::VectorXd Model::start(std::uint64_t seed) const {
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(dimension());
  if (is_convex()) return weights;
  RandomSource random(seed);
  network()->initialise(random, weights);
  return weights;
}

Model Model::evaluated(MetricDetail detail) const {
  if (const LinearModel* one = linear()) return one->evaluated(detail);
  if (const Network* one = network()) return one->evaluated(detail);
  return *this;
}

MetricDetail Model::detail() const noexcept {
  if (const LinearModel* one = linear()) return one->detail();
  if (const Network* one = network()) return one->detail();
  return {};
}

double Model::metric_norm() const {
  const auto named = static_cast<double>(metric_names().size());
  const bool bins = std::visit([](const auto& kind) { return kind.has_bins(); }, kind_);
  return std::sqrt(named / 4.0 + (bins ? 1.0 : 0.0));
}

std::vector<std::string_view> Model::metric_names() const {
  return std::visit([](const auto& kind) { return kind.metric_names(); }, kind_);
}

std::vector<double> Model::metric_scales() const {
  return std::visit([](const auto& kind) { return kind.metric_scales(); }, kind_);
}

}  // namespace undertone::models
