#include "shared/geometry/vertex_map.hpp"

#include <algorithm>
#include <cmath>

namespace undertone::geometry {
namespace {

Eigen::MatrixXd columns_of(const Vertices& vertices) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(vertices.dimension(), vertices.count());
  for (Eigen::Index j = 0; j < vertices.count(); ++j) vertices.add_scaled(j, 1.0, out.col(j));
  return out;
}

}  // namespace

VertexMap::VertexMap(const Vertices& vertices)
    : columns_(std::make_shared<const Eigen::MatrixXd>(columns_of(vertices))) {}

Eigen::VectorXd VertexMap::start() const {
  return Eigen::VectorXd::Constant(state_size(), -std::log(static_cast<double>(state_size())));
}

Status VertexMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  const double sum = state.array().exp().sum();
  if (std::abs(sum - 1.0) <= 1e-9) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("a state of {} has weights that add up to {}, expected 1", name(), sum)};
}

void VertexMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                     Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * (columns_->transpose() * gradient);
  state.array() -= state.maxCoeff();
  state.array() -= std::log(state.array().exp().sum());
}

void VertexMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  const Eigen::VectorXd weights = state.array().exp();
  out.noalias() = *columns_ * weights;
}

double VertexMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                             const Eigen::Ref<const Eigen::VectorXd>& from) const {
  return std::max(0.0, (to.array().exp() * (to - from).array()).sum());
}

std::optional<double> VertexMap::divergence_max() const { return std::log(static_cast<double>(state_size())); }

double VertexMap::radius() const {
  const Eigen::VectorXd centre = columns_->rowwise().mean();
  return (columns_->colwise() - centre).colwise().stableNorm().maxCoeff();
}

}  // namespace undertone::geometry
