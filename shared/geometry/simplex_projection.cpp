#include "shared/geometry/simplex_projection.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace undertone::geometry {

// y_i = max(0, x_i - tau) / a_i with the one tau that makes the sum `scale`: the optimality condition of the simplex.
void project_onto_simplex(double scale, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature) {
  // Everything is relative to the largest coordinate, so that sums stay of the size of `scale` and cannot overflow.
  point.array() -= point.maxCoeff();
  // No y_i exceeds `scale`: tau >= x_i - a_i scale for every i, and what lies below that bound is not in the support.
  double tau_min = -std::numeric_limits<double>::infinity();
  const auto slope = [&](Eigen::Index i) { return i < curvature.head ? curvature.weight : 1.0; };
  for (Eigen::Index i = 0; i < point.size(); ++i) tau_min = std::max(tau_min, point[i] - slope(i) * scale);

  std::vector<std::pair<double, double>> candidates;  // x_i, 1/a_i: ties by the second, since rounding knows the order
  for (Eigen::Index i = 0; i < point.size(); ++i) {
    if (point[i] >= tau_min) candidates.emplace_back(point[i], 1.0 / slope(i));
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  double tau = -std::numeric_limits<double>::infinity();
  double mass = 0.0;   // sum of x_i / a_i over the support so far
  double width = 0.0;  // sum of 1 / a_i
  for (const auto& [x, inverse] : candidates) {
    if (x <= tau) break;
    mass += x * inverse;
    width += inverse;
    tau = (mass - scale) / width;
  }
  // Where x is far larger than y, tau has lost the last digits of y. The differences to it have not: one more step of
  // Newton's method, from there.
  point.array() -= tau;
  mass = 0.0;
  for (Eigen::Index i = 0; i < point.size(); ++i) mass += std::max(point[i], 0.0) / slope(i);
  point = (point.array() - (mass - scale) / width).cwiseMax(0.0);
  point.head(curvature.head) /= curvature.weight;
}

void project_onto_l1_ball(double radius, Eigen::Ref<Eigen::VectorXd> point, HeadWeight curvature) {
  Eigen::VectorXd inside = point;
  inside.head(curvature.head) /= curvature.weight;
  if (inside.lpNorm<1>() <= radius) {
    point = inside;
    return;
  }
  // The objective falls when a coordinate takes the sign of x_i, and the minimum lies on the sphere: |y| solves the
  // problem of the simplex for |x|.
  inside = point.cwiseAbs();
  project_onto_simplex(radius, inside, curvature);
  for (Eigen::Index i = 0; i < point.size(); ++i) point[i] = std::copysign(inside[i], point[i]);
}

}  // namespace undertone::geometry
