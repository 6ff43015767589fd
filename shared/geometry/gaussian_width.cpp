#include "shared/geometry/gaussian_width.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/vertex_map.hpp"

namespace undertone::geometry {

double mean_gaussian_norm(Eigen::Index d) {
  return std::numbers::sqrt2 / boost::math::tgamma_delta_ratio(0.5 * static_cast<double>(d), 0.5);
}

double mean_maximum_bound(double count) { return count > 1.0 ? std::sqrt(2.0 * std::log(count)) : 0.0; }

double gaussian_width(const Domain& domain, Eigen::Index d) {
  UNDERTONE_CHECK(domain.fits(d).has_value());
  const auto dimension = static_cast<double>(d);
  const double of_coordinates = mean_maximum_bound(2.0 * dimension);
  return std::visit(
      Overloaded{
          [](const WholeSpace&) { return std::numeric_limits<double>::infinity(); },
          [&](const L2Ball& ball) { return ball.radius() * mean_gaussian_norm(d); },
          [&](const Box& box) { return 0.5 * (box.upper - box.lower) * dimension * std::sqrt(2.0 / std::numbers::pi); },
          [&](const L1Ball& ball) { return ball.radius * of_coordinates; },
          [&](const Simplex& simplex) { return simplex.scale * mean_maximum_bound(dimension); },
          [&](const GroupBall& ball) {
            const auto size = static_cast<double>(std::min(ball.group_size, d));
            return ball.radius * (std::sqrt(size) + mean_maximum_bound(std::ceil(dimension / size)));
          },
          [&](const MixedBall& ball) {
            const double infinite = std::numeric_limits<double>::infinity();
            const double flat = ball.share < 1.0 ? of_coordinates / (1.0 - ball.share) : infinite;
            const double round = ball.share > 0.0 ? mean_gaussian_norm(d) / ball.share : infinite;
            return ball.radius * std::min(flat, round);
          },
          [&](const NuclearBall& ball) {
            const auto rows = static_cast<double>(ball.rows);
            return ball.radius * (std::sqrt(rows) + std::sqrt(dimension / rows));
          }},
      domain.set());
}

double gaussian_width(const Vertices& vertices) {
  if (const auto radius = vertices.l1_radius())
    return *radius * mean_maximum_bound(static_cast<double>(vertices.count()));
  if (const auto scale = vertices.simplex_scale())
    return *scale * mean_maximum_bound(static_cast<double>(vertices.count()));
  return VertexMap(vertices).radius() * mean_maximum_bound(static_cast<double>(vertices.count()));
}

}  // namespace undertone::geometry
