#pragma once

#include <Eigen/Core>
#include <optional>
#include <string_view>

#include "shared/geometry/domain.hpp"
#include "shared/geometry/power_potential.hpp"
#include "shared/geometry/prox_update.hpp"

namespace undertone::geometry {

/// h(X) = (4 sqrt(e) ln(2m) / (2^q (1+q))) sum_i s_i(X / radius)^(1+q), q = 1/(2 ln(2m)), over the nuclear ball of
/// matrices whose longer side is m (shorter sides padded with zeros): 1-strongly convex in its gauge. The state is
/// grad h. A step and a point take a singular value decomposition each. See MirrorMap for the members.
/// Source: Talwar, Thakurta, Zhang 2014, Section 3.2, after Juditsky and Nemirovski 2011; spec constraint-geometry 2.1
/// vii.
class NuclearMap {
 public:
  /// @param ball as a Domain has it @param dimension d that fits it, which is checked
  NuclearMap(const NuclearBall& ball, Eigen::Index dimension);

  [[nodiscard]] Eigen::Index dimension() const noexcept { return ball_.rows * columns_; }
  [[nodiscard]] Eigen::Index state_size() const noexcept { return dimension(); }
  /// 0.
  [[nodiscard]] Eigen::VectorXd start() const { return Eigen::VectorXd::Zero(dimension()); }
  [[nodiscard]] Status check_state(const Eigen::Ref<const Eigen::VectorXd>& state) const;
  void step(const Eigen::Ref<const Eigen::VectorXd>& gradient, const ProxUpdate& update,
            Eigen::Ref<Eigen::VectorXd> state) const;
  void point(const Eigen::Ref<const Eigen::VectorXd>& state, Eigen::Ref<Eigen::VectorXd> out) const;
  [[nodiscard]] Eigen::VectorXd gradient(const Eigen::Ref<const Eigen::VectorXd>& state) const { return state; }
  [[nodiscard]] double divergence(const Eigen::Ref<const Eigen::VectorXd>& to,
                                  const Eigen::Ref<const Eigen::VectorXd>& from) const;
  /// At a matrix of rank one.
  [[nodiscard]] std::optional<double> divergence_max() const noexcept { return potential_.coefficient; }
  [[nodiscard]] double strong_convexity() const noexcept { return 1.0; }
  [[nodiscard]] std::optional<double> norm_exponent() const noexcept { return std::nullopt; }
  [[nodiscard]] std::optional<double> diameter() const noexcept { return 2.0; }
  [[nodiscard]] std::string_view name() const noexcept { return "the nuclear potential"; }

  [[nodiscard]] const NuclearBall& ball() const noexcept { return ball_; }

 private:
  NuclearBall ball_;
  Eigen::Index columns_;
  PowerPotential potential_;  // of the singular values of X / radius
};

}  // namespace undertone::geometry
