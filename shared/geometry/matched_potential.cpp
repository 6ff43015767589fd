#include "shared/geometry/matched_potential.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "shared/base/overloaded.hpp"
#include "shared/geometry/gaussian_width.hpp"

namespace undertone::geometry {
namespace {

/// q of the l1 ball's potential: 2 up to d = 7.
double potential_exponent(Eigen::Index dimension) {
  const double logarithm = std::log(static_cast<double>(dimension));
  return logarithm > 2.0 ? logarithm / (logarithm - 1.0) : 2.0;
}

/// E||g||_s of a standard normal g in R^d, at most: (d E|g_1|^s)^(1/s), E|g_1|^s = 2^(s/2) Gamma((s+1)/2)/sqrt(pi).
double mean_norm_bound(double dimension, double exponent) {
  const double moment = 0.5 * exponent * std::numbers::ln2 + boost::math::lgamma(0.5 * (exponent + 1.0)) -
                        0.5 * std::log(std::numbers::pi);
  return std::exp((std::log(dimension) + moment) / exponent);
}

MatchedPotential finished(MirrorMap map, double gauge_radius, double gauge_width) {
  const double range = map.divergence_max().value();
  const double modulus = map.strong_convexity();
  return {std::move(map), range, modulus, gauge_radius, gauge_width};
}

}  // namespace

double MatchedPotential::dual_second_moment(double lipschitz, double noise_variance) const {
  const double squared = gauge_radius * gauge_radius;
  return lipschitz * lipschitz * squared + noise_variance * (gauge_width * gauge_width + squared);
}

Result<MatchedPotential> euclidean_potential(const Domain& domain, Eigen::Index dimension,
                                             const Eigen::Ref<const Eigen::VectorXd>& start) {
  if (Status fits = domain.fits(dimension); !fits) return fits.error();
  const std::optional<double> across = domain.diameter(dimension);
  if (!across) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a potential is matched to a bounded set, got {}: expected the l2 ball, the box, the l1 "
                             "ball, the simplex, the group ball, the mixed ball, the nuclear ball or listed vertices",
                             domain.name())};
  }
  const double farthest = std::min(*across, start.stableNorm() + domain.radius(dimension).value());
  return MatchedPotential{MirrorMap(EuclideanMap(domain, dimension)), 0.5 * farthest * farthest, 1.0, 1.0,
                          mean_gaussian_norm(dimension)};
}

Result<MatchedPotential> matched_potential(const Domain& domain, Eigen::Index dimension,
                                           const Eigen::Ref<const Eigen::VectorXd>& start) {
  if (Status fits = domain.fits(dimension); !fits) return fits.error();
  const auto d = static_cast<double>(dimension);
  using Matched = Result<MatchedPotential>;
  return std::visit(
      Overloaded{
          [&](const Simplex& simplex) -> Matched {
            UNDERTONE_TRY(const EntropyMap map, EntropyMap::create(simplex.scale, dimension));
            return finished(MirrorMap(map), 1.0, mean_maximum_bound(2.0 * d));
          },
          [&](const L1Ball& ball) -> Matched {
            const double q = potential_exponent(dimension);
            UNDERTONE_TRY(const PNormMap map, PNormMap::create(q, ball, dimension));
            const double width = q < 2.0 ? mean_norm_bound(d, q / (q - 1.0)) : mean_gaussian_norm(dimension);
            return finished(MirrorMap(map), 1.0, width);
          },
          [&](const GroupBall& ball) -> Matched {
            return finished(MirrorMap(GroupMap(ball, dimension)), ball.radius, gaussian_width(domain, dimension));
          },
          [&](const NuclearBall& ball) -> Matched {
            return finished(MirrorMap(NuclearMap(ball, dimension)), ball.radius, gaussian_width(domain, dimension));
          },
          [&](const auto& /*other*/) -> Matched { return euclidean_potential(domain, dimension, start); }},
      domain.set());
}

MatchedPotential vertex_potential(const Vertices& vertices) {
  const VertexMap map(vertices);
  const double radius = map.radius();
  // Of conv(V - c and c - V): the largest of 2k normal variables.
  const double width = radius * mean_maximum_bound(2.0 * static_cast<double>(vertices.count()));
  return finished(MirrorMap(map), radius, width);
}

}  // namespace undertone::geometry
