#pragma once

#include <utility>

#include "shared/geometry/domain.hpp"

namespace undertone::geometry {

/// {w in W : ||w - centre||_2 <= radius}, the part of a domain W around a point.
class LocalDomain {
 public:
  /// An error where the centre is not finite, the radius not in (0, kParameterMax], or nothing of the domain lies
  /// within the radius of the centre. The centre itself need not be in the domain.
  /// @param centre [d], d >= 1, its norm at most kParameterMax
  [[nodiscard]] static Result<LocalDomain> create(const Domain& domain, const Eigen::Ref<const Eigen::VectorXd>& centre,
                                                  double radius);

  /// The nearest point of the set, in place: at most 66 projections onto W, or two where one of W and the ball contains
  /// the projection onto the other. In W and in the ball up to rounding; it is, up to rounding, the exact projection
  /// for a radius that differs by a relative 1e-14 at most. Where W barely reaches into the ball this displaces it by
  /// as much as 1e-7 radius (the square root: two nearly tangent spheres), else by some 1e-14 radius.
  /// @param point [d], its norm finite, which is checked
  void project(Eigen::Ref<Eigen::VectorXd> point) const;

 private:
  LocalDomain(const Domain& domain, Eigen::VectorXd centre, double radius, double reach)
      : domain_(domain), centre_(std::move(centre)), radius_(radius), reach_(reach) {}
  Domain domain_;
  Eigen::VectorXd centre_;
  double radius_;
  double reach_;  // radius - distance of the centre to W, >= 0
};

}  // namespace undertone::geometry
