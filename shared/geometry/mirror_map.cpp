#include "shared/geometry/mirror_map.hpp"

#include <cmath>

namespace undertone::geometry {

Eigen::Index MirrorMap::dimension() const {
  return std::visit([](const auto& map) { return map.dimension(); }, kind_);
}

Eigen::Index MirrorMap::state_size() const {
  return std::visit([](const auto& map) { return map.state_size(); }, kind_);
}

Eigen::VectorXd MirrorMap::start() const {
  return std::visit([](const auto& map) { return map.start(); }, kind_);
}

Status MirrorMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  if (state.size() != state_size()) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a state of {} has {} numbers, expected {}", name(), state.size(), state_size())};
  }
  if (!state.allFinite()) {
    return Error{ErrorCode::InvalidArgument, fmt::format("a state of {} has a number that is not finite", name())};
  }
  return std::visit([&](const auto& map) { return map.check_state(state); }, kind_);
}

void MirrorMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                     Eigen::Ref<Eigen::VectorXd> state) const {
  UNDERTONE_CHECK(gradient.size() == dimension() && state.size() == state_size() && gradient.allFinite());
  UNDERTONE_CHECK(std::isfinite(update.step_size) && update.step_size > 0.0);
  UNDERTONE_CHECK(update.keep >= 0.0 && update.keep <= 1.0);
  std::visit([&](const auto& map) { map.step(gradient, update, state); }, kind_);
}

void MirrorMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  UNDERTONE_CHECK(state.size() == state_size() && out.size() == dimension());
  std::visit([&](const auto& map) { map.point(state, out); }, kind_);
}

Eigen::VectorXd MirrorMap::point(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  Eigen::VectorXd out(dimension());
  point(state, out);
  return out;
}

Eigen::VectorXd MirrorMap::gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  UNDERTONE_CHECK(state.size() == state_size());
  return std::visit([&](const auto& map) { return map.gradient(state); }, kind_);
}

double MirrorMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                             const Eigen::Ref<const Eigen::VectorXd>& from) const {
  UNDERTONE_CHECK(to.size() == state_size() && from.size() == state_size());
  return std::visit([&](const auto& map) { return map.divergence(to, from); }, kind_);
}

std::optional<double> MirrorMap::divergence_max() const {
  return std::visit([](const auto& map) { return map.divergence_max(); }, kind_);
}

double MirrorMap::strong_convexity() const {
  return std::visit([](const auto& map) { return map.strong_convexity(); }, kind_);
}

std::optional<double> MirrorMap::norm_exponent() const {
  return std::visit([](const auto& map) { return map.norm_exponent(); }, kind_);
}

std::optional<double> MirrorMap::diameter() const {
  return std::visit([](const auto& map) { return map.diameter(); }, kind_);
}

std::string_view MirrorMap::name() const {
  return std::visit([](const auto& map) { return map.name(); }, kind_);
}

}  // namespace undertone::geometry
