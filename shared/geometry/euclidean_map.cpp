#include "shared/geometry/euclidean_map.hpp"

namespace undertone::geometry {

Status EuclideanMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  const double tolerance = 1e-9 * (1.0 + state.stableNorm());
  if (!domain_.contains(state, tolerance)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a state of {} is a point outside {}", name(), domain_.name())};
  }
  return {};
}

void EuclideanMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                        Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * gradient;
  domain_.project(state);
}

std::optional<double> EuclideanMap::divergence_max() const {
  const std::optional<double> across = diameter();
  if (!across) return std::nullopt;
  return 0.5 * *across * *across;
}

}  // namespace undertone::geometry
