#include "shared/geometry/l2_ball.hpp"

#include <cmath>
#include <limits>

namespace undertone::geometry {

Result<L2Ball> L2Ball::create(double radius) {
  if (!(std::isfinite(radius) && radius > 0.0)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("the radius of a ball must be finite and > 0, got {}", radius)};
  }
  return L2Ball(radius);
}

void L2Ball::project(Eigen::Ref<Eigen::VectorXd> point) const {
  const double norm = point.stableNorm();
  if (!(norm > radius_)) return;
  const double scale = radius_ / norm;
  if (scale >= std::numeric_limits<double>::min()) {
    point *= scale;
  } else {  // a subnormal factor has lost its digits
    point /= norm;
    point *= radius_;
  }
}

}  // namespace undertone::geometry
