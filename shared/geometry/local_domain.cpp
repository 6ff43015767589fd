#include "shared/geometry/local_domain.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/geometry/last_where.hpp"
#include "shared/geometry/parameter.hpp"

namespace undertone::geometry {

Result<LocalDomain> LocalDomain::create(const Domain& domain, const Eigen::Ref<const Eigen::VectorXd>& centre,
                                        double radius) {
  if (const Status fits = check_positive("the radius around a centre", radius); !fits) return fits.error();
  if (!(centre.size() > 0 && centre.allFinite() && centre.stableNorm() <= kParameterMax)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a centre must be finite and its norm <= {}, got dimension {} and norm {}", kParameterMax,
                             centre.size(), centre.stableNorm())};
  }
  Eigen::VectorXd nearest = centre;
  domain.project(nearest);
  const double distance = (nearest - centre).stableNorm();
  if (distance > radius) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is at distance {} of the centre, the radius is {}", domain.name(), distance, radius)};
  }
  return LocalDomain(domain, centre, radius, radius - distance);
}

// With a multiplier m >= 0 for the ball, the minimiser over W of 1/2 ||y - z||^2 + m/2 ||y - c||^2 is the projection
// onto W of a point between z and c:  y(p) = P_W(c + p u),  u = (z - c) / ||z - c||,  p = ||z - c|| / (1 + m).
// ||y(p) - c|| does not decrease in p (a larger multiplier does not weaken what it multiplies), and where it equals the
// radius, y(p) meets the conditions of Karush, Kuhn and Tucker: it is the projection. It is at most the radius for
// p = reach, since ||y(p) - P_W(c)|| <= p. One root in one variable: unlike alternating projections, it cannot stall.
void LocalDomain::project(Eigen::Ref<Eigen::VectorXd> point) const {
  UNDERTONE_CHECK(point.size() == centre_.size());
  Eigen::VectorXd nearest = point;
  domain_.project(nearest);
  if ((nearest - centre_).stableNorm() <= radius_) {  // nearest of all W, so nearest of a part of it
    point = nearest;
    return;
  }
  const double distance = (point - centre_).stableNorm();
  const Eigen::VectorXd direction = (point - centre_) / distance;
  if (distance > radius_) {
    const Eigen::VectorXd on_sphere = centre_ + radius_ * direction;
    nearest = on_sphere;
    domain_.project(nearest);
    if (nearest == on_sphere) {  // nearest of the whole ball, and in W
      point = nearest;
      return;
    }
  }
  const auto project_from = [&](double p) {
    nearest = centre_ + p * direction;
    domain_.project(nearest);
  };
  project_from(last_where(reach_, std::max(reach_, distance), [&](double p) {
    project_from(p);
    return (nearest - centre_).stableNorm() <= radius_;
  }));
  point = nearest;
}

}  // namespace undertone::geometry
