#include "shared/algorithms/problem.hpp"

#include <algorithm>
#include <limits>

#include "shared/geometry/parameter.hpp"

namespace undertone::algorithms {

Eigen::VectorXd Problem::start() const {
  const bool given = initial.size() != 0;
  Eigen::VectorXd point = given ? initial : domain.a_point(dimension);
  if (given) domain.project(point);
  queries::round_to(point_type, point);
  return point;
}

void Problem::settle(Eigen::VectorXd& point) const {
  domain.project(point);
  queries::round_to(point_type, point);
}

bool Problem::representable(const Eigen::VectorXd& point) const {
  if (!geometry::has_finite_norm(point)) return false;
  constexpr double kNarrowMax = std::numeric_limits<float>::max();
  return point_type == queries::PointType::F64 || point.cwiseAbs().maxCoeff() <= kNarrowMax;
}

releases::ReleaseShape GradientShape::gradient(Eigen::Index dimension, std::optional<releases::Slice> slice,
                                               std::size_t phase) const {
  releases::ReleaseShape shape{releases::QuestionKind::Gradient, releases::Block::Training, draw_fraction, dimension,
                               clip};
  shape.slice = slice;
  shape.with_replacement = with_replacement;
  if (!gradient_shifts.empty()) shape.shift = gradient_shifts[std::min(phase, gradient_shifts.size() - 1)];
  return shape;
}

releases::ReleaseShape GradientShape::local_run(Eigen::Index dimension, const releases::LocalSteps& steps) const {
  releases::ReleaseShape shape{releases::QuestionKind::LocalRun, releases::Block::Training, 1.0, dimension, clip};
  shape.local = steps;
  if (!gradient_shifts.empty()) shape.shift = gradient_shifts.front();
  return shape;
}

releases::ReleaseShape GradientShape::difference(Eigen::Index dimension, std::optional<double> smoothness) const {
  releases::ReleaseShape shape{releases::QuestionKind::GradientDifference, releases::Block::Training, draw_fraction,
                               dimension, *releases::ClipNorm::create(2.0 * clip.value())};
  shape.smoothness = smoothness;
  shape.with_replacement = with_replacement;
  shape.shift = difference_shift;
  return shape;
}

}  // namespace undertone::algorithms
