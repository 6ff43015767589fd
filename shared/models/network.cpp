#include "shared/models/network.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::models {

Result<Network> Network::create(const NetworkShape& shape) {
  UNDERTONE_TRY(std::vector<Layer> layers, lay_out(shape));
  return Network(shape, std::move(layers));
}

bool Network::is_smooth() const noexcept {
  return std::none_of(layers_.begin(), layers_.end(),
                      [](const Layer& layer) { return layer.pooled || layer.activation == Activation::Relu; });
}

Eigen::Index Network::values() const noexcept {
  Eigen::Index sum = 0;
  for (const Layer& layer : layers_) sum += layer.input.values() + layer.sums() + layer.output.values();
  return sum;
}

double Network::products() const noexcept {
  double sum = 0.0;
  for (const Layer& layer : layers_)
    sum += static_cast<double>(layer.positions()) * static_cast<double>(layer.weights());
  return sum;
}

void Network::initialise(RandomSource& random, Eigen::Ref<Eigen::VectorXd> weights) const {
  UNDERTONE_CHECK(weights.size() == dimension());
  for (const Layer& layer : layers_) {
    const double power = layer.activation == Activation::Relu ? 6.0 : 3.0;
    const double radius = std::sqrt(power / static_cast<double>(layer.patch));
    const Eigen::Index biases = layer.outputs;
    for (double& weight : weights.segment(layer.offset, layer.weights() - biases)) {
      weight = radius * (2.0 * random.unit() - 1.0);
    }
    weights.segment(layer.offset + layer.weights() - biases, biases).setZero();
  }
}

Network Network::evaluated(MetricDetail detail) const {
  Network out = *this;
  out.detail_ = detail;
  return out;
}

std::vector<double> Network::metric_scales() const {
  std::vector<double> out(metric_names().size() + static_cast<std::size_t>(bins()), 1.0);
  out[0] = loss_max();
  return out;
}

Eigen::Index Network::bins() const noexcept {
  return detail_.detailed() ? classes() * classes() : detail_.places(classes());
}

double Network::loss_max() const noexcept {
  constexpr double kLeast = 4.0;
  return std::max(kLeast, 2.0 * std::log(static_cast<double>(classes())));
}

}  // namespace undertone::models
