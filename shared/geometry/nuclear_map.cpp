#include "shared/geometry/nuclear_map.hpp"

#include <algorithm>
#include <cmath>

#include "shared/geometry/singular_values.hpp"

namespace undertone::geometry {
namespace {

PowerPotential potential_of_singular_values(Eigen::Index longer_side) {
  const double logarithm = std::log(2.0 * static_cast<double>(longer_side));
  const double q = 1.0 / (2.0 * logarithm);
  return {4.0 * std::exp(0.5) * logarithm / (std::exp2(q) * (1.0 + q)), 1.0 + q};
}

}  // namespace

NuclearMap::NuclearMap(const NuclearBall& ball, Eigen::Index dimension)
    : ball_(ball),
      columns_(dimension / ball.rows),
      potential_(potential_of_singular_values(std::max(ball.rows, columns_))) {
  UNDERTONE_CHECK(dimension >= 1 && columns_ * ball.rows == dimension);
}

Status NuclearMap::check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const {
  double sum = 0.0;
  const Eigen::VectorXd slopes = singular_values(ball_.rows, state).values;
  for (const double slope : slopes) sum += potential_.magnitude(ball_.radius * slope);
  if (sum <= 1.0 + 1e-9) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("a state of {} is of a matrix whose singular values add up to {} radii", name(), sum)};
}

void NuclearMap::step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
                      Eigen::Ref<Eigen::VectorXd> state) const {
  state = update.keep * state - update.step_size * gradient;
  SingularValues matrix = singular_values(ball_.rows, state);
  matrix.values *= ball_.radius;  // slopes in X / radius
  potential_.project(matrix.values);
  matrix.values /= ball_.radius;
  state = matrix.columns();
}

void NuclearMap::point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const {
  SingularValues matrix = singular_values(ball_.rows, state);
  for (double& value : matrix.values) value = ball_.radius * potential_.magnitude(ball_.radius * value);
  out = matrix.columns();
}

double NuclearMap::divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                              const Eigen::Ref<const Eigen::VectorXd>& from) const {
  Eigen::VectorXd x(dimension());
  Eigen::VectorXd y(dimension());
  point(to, x);
  point(from, y);
  return std::max(0.0, potential_.value(singular_values(ball_.rows, x).values / ball_.radius) -
                           potential_.value(singular_values(ball_.rows, y).values / ball_.radius) - from.dot(x - y));
}

}  // namespace undertone::geometry
