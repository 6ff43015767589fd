#pragma once

#include <Eigen/Core>
#include <string_view>
#include <variant>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/vertices.hpp"

namespace undertone::geometry {

/// Linear minimisation over a bounded convex set: what a Frank-Wolfe step asks. In closed form; over matrices by a
/// singular value decomposition, over the mixed ball after one root in one variable.
class LinearOracle {
 public:
  /// @param dimension d >= 1
  /// @return an error for the whole space, over which a linear function has no minimum, and for a set that is not of
  /// R^d
  [[nodiscard]] static Result<LinearOracle> create(const Domain& domain, Eigen::Index dimension);
  /// The hull of the vertices.
  [[nodiscard]] static LinearOracle over(Vertices vertices);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }

  /// argmin over x in C of <gradient, x>, an extreme point of C; of several the first. Deterministic.
  /// @param gradient [d], finite, which is checked @param out [d], overwritten
  void minimise(const Eigen::Ref<const Eigen::VectorXd>& gradient, Eigen::Ref<Eigen::VectorXd> out) const;

  /// At least the l2 distance of any two points of C.
  [[nodiscard]] double diameter() const;
  /// At least the Gaussian width. @see gaussian_width
  [[nodiscard]] double width() const;

 private:
  LinearOracle(std::variant<Domain, Vertices> set, Eigen::Index dimension)
      : set_(std::move(set)), dimension_(dimension) {}
  std::variant<Domain, Vertices> set_;
  Eigen::Index dimension_;
};

}  // namespace undertone::geometry
