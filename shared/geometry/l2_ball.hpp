#pragma once

#include <Eigen/Core>

#include "shared/base/result.hpp"

namespace undertone::geometry {

/// {w : ||w||_2 <= radius}.
class L2Ball {
 public:
  [[nodiscard]] static Result<L2Ball> create(double radius);
  [[nodiscard]] double radius() const noexcept { return radius_; }
  /// The nearest point of the ball, in place. @param point [d], finite
  void project(Eigen::Ref<Eigen::VectorXd> point) const;

 private:
  explicit L2Ball(double radius) noexcept : radius_(radius) {}
  double radius_;
};

}  // namespace undertone::geometry
