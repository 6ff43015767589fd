#include "shared/geometry/group_map.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace undertone::geometry {
namespace {

PowerPotential potential_of_groups(Eigen::Index groups) {
  if (groups == 1) return {0.5, 2.0};
  if (groups == 2) return {1.0, 2.0};
  const double logarithm = std::log(static_cast<double>(groups));
  const double exponent = 1.0 + 1.0 / logarithm;
  return {std::numbers::e * logarithm / exponent, exponent};
}

}  // namespace

GroupMap::GroupMap(const GroupBall& ball, Eigen::Index dimension)
    : ball_(ball),
      dimension_(dimension),
      groups_((dimension + ball.group_size - 1) / ball.group_size),
      potential_(potential_of_groups(groups_)) {
  UNDERTONE_CHECK(dimension >= 1);
}

Eigen::VectorXd GroupMap::norms(const Eigen::Ref<const Eigen::VectorXd>& x) const {
  Eigen::VectorXd out(groups_);
  for (Eigen::Index g = 0; g < groups_; ++g) {
    const Eigen::Index from = g * ball_.group_size;
    out[g] = x.segment(from, std::min(ball_.group_size, dimension_ - from)).stableNorm();
  }
  return out;
}

void GroupMap::scale(const Eigen::Ref<const Eigen::VectorXd>& factors, Eigen::Ref<Eigen::VectorXd> x) const {
  for (Eigen::Index g = 0; g < groups_; ++g) {
    const Eigen::Index from = g * ball_.group_size;
    x.segment(from, std::min(ball_.group_size, dimension_ - from)) *= factors[g];
  }
}

Status GroupMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  double sum = 0.0;
  for (const double slope : norms(state)) sum += potential_.magnitude(ball_.radius * slope);
  if (sum <= 1.0 + 1e-9) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("a state of {} is of a point whose groups' norms add up to {} radii", name(), sum)};
}

void GroupMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                    Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * gradient;
  const Eigen::VectorXd before = norms(state);
  Eigen::VectorXd factors = ball_.radius * before;  // the slope in x / radius
  potential_.project(factors);
  for (Eigen::Index g = 0; g < groups_; ++g)
    factors[g] = before[g] > 0.0 ? factors[g] / (ball_.radius * before[g]) : 0.0;
  scale(factors, state);
}

void GroupMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  out = state;
  Eigen::VectorXd factors = norms(state);
  for (double& factor : factors)
    factor = factor > 0.0 ? ball_.radius * potential_.magnitude(ball_.radius * factor) / factor : 0.0;
  scale(factors, out);
}

double GroupMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                            const Eigen::Ref<const Eigen::VectorXd>& from) const {
  Eigen::VectorXd x(dimension_);
  Eigen::VectorXd y(dimension_);
  point(to, x);
  point(from, y);
  return std::max(
      0.0, potential_.value(norms(x) / ball_.radius) - potential_.value(norms(y) / ball_.radius) - from.dot(x - y));
}

}  // namespace undertone::geometry
