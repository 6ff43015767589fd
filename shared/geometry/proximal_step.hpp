#pragma once

#include "shared/geometry/domain.hpp"
#include "shared/geometry/regulariser.hpp"

namespace undertone::geometry {

/// The non-smooth part of a composite objective, f1 = g + (0 on W, infinite outside), for a regulariser g and a domain
/// W, through its exact proximal map. There is one, whether all coordinates are regularised or only the first, for
///
///   | regulariser                  | whole space, l2 ball | box, l1 ball, simplex | group, mixed, nuclear ball |
///   | none                         | yes                  | yes                   | yes                        |
///   | l1, squared l2, elastic net  | yes                  | yes                   | refused                    |
///   | group lasso                  | yes                  | refused               | refused                    |
///
/// In closed form, but for one: the l2 part of some coordinates, over the l2 ball, leaves the root of one increasing
/// function of one variable, which is found to the last bit.
class ProximalStep {
 public:
  /// An error for a pair without an exact map, and where fewer coordinates exist than are regularised.
  /// @param dimension d >= 1
  [[nodiscard]] static Result<ProximalStep> create(const Domain& domain, const Regulariser& regulariser,
                                                   Eigen::Index dimension);

  /// In place, argmin over y in W of step_size g(y) + 1/2 ||y - point||^2; exact up to rounding. Deterministic.
  /// @param step_size in (0, kParameterMax] @param point [d], its norm finite; both are checked
  void apply(double step_size, Eigen::Ref<Eigen::VectorXd> point) const;

  /// The gradient mapping (w - apply(w - step_size gradient)) / step_size; 0 at the minimisers of the composite
  /// objective, and the gradient where f1 is 0.
  /// @param gradient [d], of the smooth part at w @param mapping [d], overwritten
  /// Source: Nesterov 2013, Gradient methods for minimizing composite functions, Section 2.
  void proximal_gradient_mapping(const Eigen::Ref<const Eigen::VectorXd>& w,
                                 const Eigen::Ref<const Eigen::VectorXd>& gradient, double step_size,
                                 Eigen::Ref<Eigen::VectorXd> mapping) const;

  [[nodiscard]] const Domain& domain() const noexcept { return domain_; }
  [[nodiscard]] const Regulariser& regulariser() const noexcept { return regulariser_; }

 private:
  ProximalStep(const Domain& domain, const Regulariser& regulariser, Eigen::Index dimension)
      : domain_(domain), regulariser_(regulariser), dimension_(dimension) {}
  Domain domain_;
  Regulariser regulariser_;
  Eigen::Index dimension_;
};

}  // namespace undertone::geometry
