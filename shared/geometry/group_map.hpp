#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/power_potential.hpp"
#include "shared/geometry/prox_update.hpp"

namespace undertone::geometry {

/// h(x) = (1/(M xi)) sum_G ||x_G / radius||_2^M over the group ball of N groups, 1-strongly convex in its gauge:
/// M = 2 and xi = 1, 1/2 of one group and of two, M = 1 + 1/ln N and xi = 1/(e ln N) of more. The state is grad h. See
/// MirrorMap for the members.
/// Source: Talwar, Thakurta, Zhang 2014, Section 3.2, after Juditsky and Nemirovski 2011; spec constraint-geometry 2.1
/// v.
class GroupMap {
 public:
  /// @param ball as a Domain has it @param dimension d >= 1
  GroupMap(const GroupBall& ball, Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return dimension_; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return dimension_; }
  /// 0.
  [[nodiscard]] Eigen::VectorXd start() const { return Eigen::VectorXd::Zero(dimension_); }
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// 1/(M xi), at a point with one group.
  [[nodiscard]] std::optional<double> divergence_max() const noexcept { return potential_.coefficient; }
  [[nodiscard]] double strong_convexity() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return std::nullopt; }
  [[nodiscard]] std::optional<double> diameter() const noexcept { return 2.0; }
  [[nodiscard]] std::string_view name() const noexcept { return "the group potential"; }

  [[nodiscard]] const GroupBall& ball() const noexcept { return ball_; }
  /// N.
  [[nodiscard]] Eigen::Index groups() const noexcept { return groups_; }

 private:
  /// ||x_G|| of every group, [N].
  [[nodiscard]] Eigen::VectorXd norms(const Eigen::Ref<const Eigen::VectorXd>& x) const;
  /// Every group times its factor. @param factors [N]
  void scale(const Eigen::Ref<const Eigen::VectorXd>& factors, Eigen::Ref<Eigen::VectorXd> x) const;
  GroupBall ball_;
  Eigen::Index dimension_;
  Eigen::Index groups_;
  PowerPotential potential_;  // of the groups' norms, of x / radius
};

}  // namespace undertone::geometry
