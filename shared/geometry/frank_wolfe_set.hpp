#pragma once

#include <Eigen/Core>
#include <string_view>
#include <variant>

#include "shared/geometry/domain.hpp"

namespace undertone::geometry {

/// {x : ||x||_p <= radius}, 1 < p <= 2.
struct LpBall {
  double exponent;
  double radius;
};

/// A bounded set in the setup of l_p with an exact linear minimisation: what Frank-Wolfe steps over.
class FrankWolfeSet {
 public:
  using Set = std::variant<L1Ball, Simplex, LpBall>;
  /// @param norm_exponent p in [1, 2] of the norm that distances are measured in; of a ball of l_p its own
  /// @return an error where a radius, a scale or p is out of range, or the two exponents differ
  [[nodiscard]] static Result<FrankWolfeSet> create(const Set& set, double norm_exponent, Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] double norm_exponent() const noexcept { return norm_exponent_; }
  /// argmin over the set of <gradient, x>, of several vertices the first: radius e_j, -radius e_j or scale e_j, and
  /// over the ball -radius J_q(gradient)/||gradient||_q, 0 of a gradient that is 0.
  /// @param gradient [d], finite
  [[nodiscard]] Eigen::VectorXd minimiser(const Eigen::Ref<const Eigen::VectorXd>& gradient) const;
  /// Of the set in l_p.
  [[nodiscard]] double diameter() const;
  /// Whether the point is finite and in the set but for so much of its size.
  [[nodiscard]] bool contains(const Eigen::Ref<const Eigen::VectorXd>& point, double relative) const;
  /// For a message: "the l1 ball".
  [[nodiscard]] std::string_view name() const;

 private:
  FrankWolfeSet(const Set& set, double norm_exponent, Eigen::Index dimension)
      : set_(set), norm_exponent_(norm_exponent), dimension_(dimension) {}
  Set set_;
  double norm_exponent_;
  Eigen::Index dimension_;
};

}  // namespace undertone::geometry
