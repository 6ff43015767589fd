#pragma once

#include <Eigen/Core>
#include <optional>

#include "shared/base/result.hpp"

namespace undertone::geometry {

/// Steps of the potential h(x) = ||x - centre||_p^2 / (2 (p - 1)), 1 < p <= 2, over the part of an l1 ball around 0, or
/// of all of space, within a radius of the centre in l_p. The centre is any point of the l1 ball: what localised mirror
/// descent needs, whose phases each stay near to where they began.
/// Source: spec non-euclidean 1.3, "l1 ball and p-ball, general feasible x0"; Asi, Feldman, Koren and Talwar 2021,
/// Algorithms 2 and 6.
class LocalPNorm {
 public:
  /// @param power p in (1, 2] @param radius of the ball around the centre, in (0, kParameterMax]
  /// @param l1_radius in (0, kParameterMax]; nothing: all of space
  [[nodiscard]] static Result<LocalPNorm> create(double power, double radius, std::optional<double> l1_radius);

  /// grad h(x), [d]. @param point x, [d], finite @param centre [d]
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& point,
                                         const Eigen::Ref<const Eigen::VectorXd>& centre) const;

  /// argmin of h(x) - <dual, x> over the set, [d]: in it up to a relative 1e-12, and within some 1e-10 of the set's
  /// size of the exact one. Two searches in one variable, one in the other.
  /// @param dual [d], finite @param centre [d], of l1 norm at most l1_radius up to rounding
  [[nodiscard]] Eigen::VectorXd minimiser(const Eigen::Ref<const Eigen::VectorXd>& dual,
                                          const Eigen::Ref<const Eigen::VectorXd>& centre) const;

  [[nodiscard]] double power() const noexcept { return power_; }
  [[nodiscard]] double radius() const noexcept { return radius_; }

 private:
  LocalPNorm(double power, double radius, std::optional<double> l1_radius)
      : power_(power), radius_(radius), l1_radius_(l1_radius) {}
  /// The move u = x - centre for a multiplier of the l1 norm.
  [[nodiscard]] Eigen::VectorXd move_at(const Eigen::Ref<const Eigen::VectorXd>& dual,
                                        const Eigen::Ref<const Eigen::VectorXd>& centre, double shrink) const;
  double power_;
  double radius_;
  std::optional<double> l1_radius_;
};

}  // namespace undertone::geometry
